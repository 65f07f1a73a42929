"""Port of texts and candidates that wait to be ingested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..contracts.collection import TenantScope
    from ..contracts.ingestion import StagedSession


def require_session(staging: StagingStore, tenant_id: str, session_id: str) -> StagedSession:
    """Return the staged session. Blocks. Raises InputError when the tenant has none of that id."""
    staged = staging.session(tenant_id, session_id)
    if staged is None:
        raise InputError(f"Tenant {tenant_id!r} has no staged session {session_id!r}.")
    return staged


class StagingStore(Protocol):
    """Texts of a provider, so that the state of a run needs only their references.

    References are content hashes, private to their tenant.
    """

    def put(self, tenant_id: str, texts: Sequence[str]) -> list[str]:
        """Store the texts in one transaction and return their references, in order."""
        ...

    def get(self, tenant_id: str, content_ref: str) -> str | None:
        """Return the text, or None when it is not (or no longer) staged for this tenant."""
        ...

    def prune(self, older_than_s: float) -> int:
        """Delete texts of that age that no row, session or gate needs; return how many."""
        ...

    def open_session(
        self,
        scope: TenantScope,
        candidates: Sequence[Mapping[str, Any]],
        facts: Mapping[str, Any],
    ) -> str:
        """Store candidates and facts, both JSON-plain, and return the session's id.

        Their texts stay staged as long as the session does.
        """
        ...

    def session(self, tenant_id: str, session_id: str) -> StagedSession | None:
        """Return a session of this tenant with its candidates, or None."""
        ...

    def sessions(self, tenant_id: str, collection: str | None = None) -> list[StagedSession]:
        """Return the tenant's sessions without their candidates, the youngest first."""
        ...

    def close_session(self, tenant_id: str, session_id: str) -> bool:
        """Delete a session; the next `prune` deletes its texts. False when it does not exist."""
        ...
