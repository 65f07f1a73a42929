"""The port of the server's runs: what was asked, how it went, and every event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..contracts.server_run import RunChange, RunEvent, RunStatus, ServerRun, StoredEvent


class RunStore(Protocol):
    """The durable runs of every tenant; only what servers do with one another needs no tenant.

    Methods block and may be called from several threads. All raise StoreError.
    """

    def add(self, run: ServerRun) -> ServerRun:
        """Store a new run and return it with its time."""
        ...

    def get(self, tenant_id: str, run_id: str) -> ServerRun | None:
        """Return a run of this tenant, or None."""
        ...

    def runs(self, tenant_id: str, *, limit: int) -> list[ServerRun]:
        """Return the tenant's last runs, the newest first, without `output` and `pages`."""
        ...

    def change(
        self,
        tenant_id: str,
        run_id: str,
        change: RunChange,
        *,
        expected: Collection[RunStatus],
        owner: str | None = None,
    ) -> bool:
        """Change a run that has one of these status, in one compare-and-set; False otherwise.

        With an `owner` the run must be that one's. A new status is an event too, and one that is
        not active ends the run; its owner stays until it is changed.
        """
        ...

    def append(
        self, tenant_id: str, run_id: str, events: Sequence[RunEvent], *, owner: str
    ) -> bool:
        """Store events of a run; False, and nothing stored, unless it is running by this owner."""
        ...

    def events(
        self, tenant_id: str, run_id: str, *, after: int = 0, limit: int = 500
    ) -> list[StoredEvent]:
        """Return the events with a number above `after`, in order."""
        ...

    def unfinished(self) -> list[ServerRun]:
        """Return the runs of all tenants that run, and the ended ones that still have an owner.

        The oldest come first, without `output` and `pages`.
        """
        ...

    def renew(self, owner: str, *, lease_s: float) -> None:
        """Extend the lease that an owner has on all of its runs; with 0 it ends."""
        ...

    def lease_holders(self) -> set[str]:
        """Return the owners whose lease has not run out."""
        ...

    def take_over(self, run: ServerRun, owner: str) -> bool:
        """Make this the owner of a running run; False where it changed since it was read."""
        ...

    def forget_oldest(self, tenant_id: str, *, keep: int) -> int:
        """Delete the tenant's oldest ended runs but for the last `keep`; return how many.

        Those that still have an owner are not deleted.
        """
        ...

    def delete(self, tenant_id: str, *, collection: str | None = None) -> list[str]:
        """Delete the tenant's runs, all or those of a collection, and return their ids."""
        ...

    def compact(self) -> None:
        """Give the space of deleted runs to the system, with what may be left of them in it."""
        ...
