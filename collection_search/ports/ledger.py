"""Ports of staged texts, of the ledger of pages, and of the start of an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..contracts.collection import Chunk, Document, TenantScope
    from ..contracts.ingestion import (
        Claim,
        DeadLetter,
        Fetched,
        IngestionRequest,
        StagedSession,
        Ticket,
        TicketStatus,
    )

PER_HOST: Final = 2
"""Most pages of one host that all processes together fetch at once."""
FAILED_BEFORE: Final = "failed_before"
"""Key of a claim's provenance with the error of the last fetch: see `Ledger.claim`."""
LOOK_AGAIN_S: Final = 7 * 86_400.0
"""Shortest time before a refresh asks for a retired page again."""
LOOK_AGAIN_MAX_S: Final = 180 * 86_400.0
"""Longest time before that."""


def revisit_delay_s(gone_for_s: float, *, is_final: bool = False) -> float:
    """Return the seconds until a refresh may ask for a retired page again.

    The wait doubles with every visit, from 7 days to 180. It is 180 days at once for a page that
    its site calls permanently gone (`is_final`).

    >>> day = 86_400.0
    >>> [revisit_delay_s(gone * day) / day for gone in (0, 7, 14, 28, 224)]
    [7.0, 7.0, 14.0, 28.0, 180.0]
    >>> revisit_delay_s(0, is_final=True) / day
    180.0
    """
    if is_final:
        return LOOK_AGAIN_MAX_S
    return min(max(gone_for_s, LOOK_AGAIN_S), LOOK_AGAIN_MAX_S)


def is_revisit(claim: Claim) -> bool:
    """Return whether the page was retired and a refresh checks whether it is back."""
    return claim.is_refresh and claim.text_hash is None and FAILED_BEFORE in claim.provenance


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


class Ledger(Protocol):
    """The durable state of every page to ingest: one row per (tenant, collection, url_key)."""

    def enqueue(self, request: IngestionRequest) -> Ticket:
        """Accept the pages in one transaction.

        A page that is stored with the same text stays as it is, and so does a fetched page,
        whatever text comes; such pages are `unchanged`. Retired pages start again, dead ones and
        those that a refresh asks for do unless `known` is `keep`. With `renew` a fetched page
        that comes without a text is fetched again, as by `refetch`.

        The time at which a page vanished is stored until the page is stored again.
        """
        ...

    def claim(
        self,
        owner: str,
        *,
        lease_s: float,
        fetch: bool = False,
        busy_hosts: Collection[str] = (),
    ) -> Claim | None:
        """Take one waiting row (or one whose lease ran out) for `lease_s` seconds, or None.

        With `fetch` the row may need a fetch, unless its host (the URL's netloc) is busy. A claim
        without `content_ref` is to be fetched. All processes together have at most `PER_HOST` such
        claims of one host; expired leases do not count.

        `failed_before` in the claim's provenance is the error of the fetch before this one, if
        that gave up a stored page, or why a page was retired that `refetch` asks for again. Only
        the store sets it, for this claim only: it is no part of a document.
        """
        ...

    def renew(self, claim: Claim, *, lease_s: float) -> bool:
        """Extend the lease; False when another worker has taken the row over."""
        ...

    def finish(
        self,
        claim: Claim,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        fetched: Fetched | None = None,
    ) -> bool:
        """Replace the document's chunks and mark the row stored, in one transaction.

        The document has the claim's `url_key`. `fetched` is stored for the next conditional request
        and adds `fetched_at` (ISO, UTC), `final_url`, `canonical_url` and `page_kind` to the
        provenance. False, and nothing written, when another worker has taken the row over.
        """
        ...

    def unchanged(self, claim: Claim, fetched: Fetched) -> bool:
        """Mark the row stored again, with its document and chunks as they are.

        Stores new validators and `checked_at` in the provenance. False when another worker has
        taken the row over, or when nothing is stored for the page: it then waits for a full fetch,
        and the attempt counts.
        """
        ...

    def retire(self, claim: Claim, reason: str, *, is_final: bool = False) -> bool:
        """Mark the page as vanished and delete its document; False when the row was taken over.

        The row keeps its provenance and the first time of retirement. `revisit_delay_s` says when a
        refresh may ask for the page again.
        """
        ...

    def retired(self, scope: TenantScope, *, due: bool = False) -> list[str]:
        """Return the keys of the collection's pages that are gone, oldest row first.

        Pages that were queued again but are not stored yet are included. `due` excludes retired
        pages that a refresh may not ask for yet.
        """
        ...

    def postpone(self, claim: Claim, in_s: float, reason: str) -> bool:
        """Return the row to the queue after `in_s` seconds; the attempt does not count.

        False when it was postponed too often in a row and so given up as by `fail`, or when another
        worker has taken it over.
        """
        ...

    def fail(self, claim: Claim, error: str, *, retry_in_s: float | None) -> bool:
        """Return the row to the queue after `retry_in_s`, or give it up; True for a dead letter.

        It is given up when `retry_in_s` is None and after the last attempt. A page that was retired
        before is then retired again, and due in `LOOK_AGAIN_S`.
        """
        ...

    def release(self, claim: Claim) -> None:
        """Return the row unchanged to the queue, so that no worker waits for the lease."""
        ...

    def sweep(self, *, is_gone: Callable[[str], bool] = ...) -> int:
        """Return rows whose lease ran out, or whose owner `is_gone`, to the queue; count them.

        Those that used up their attempts are given up, as by `fail`.
        """
        ...

    def refetch(self, scope: TenantScope, *, url_keys: Sequence[str] | None = None) -> Ticket:
        """Queue stored and retired pages, all or these, for a fetch; their documents stay.

        The ticket includes pages that are claimed or queued already. Retired pages need not be due.
        """
        ...

    def retry_failed(self, whose: TenantScope | str) -> int:
        """Queue the dead rows of a collection or a tenant with all attempts; return how many."""
        ...

    def dead_letters(
        self, tenant_id: str, *, collection: str | None = None, limit: int = 1000
    ) -> list[DeadLetter]:
        """Return the tenant's pages that were given up, by collection, the latest first."""
        ...

    def pending_in_s(self, *, fetch: bool = False) -> float | None:
        """Return the seconds until some row may be taken (0: now), or None when all are done.

        Rows to fetch count with `fetch` only; claimed rows always count.
        """
        ...

    def status(self, tenant_id: str, ticket_id: str) -> TicketStatus | None:
        """Return where a ticket of this tenant stands, or None when there is none."""
        ...


@runtime_checkable
class IngestionTrigger(Protocol):
    """A start of the ingestion of chosen pages."""

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        ...
