"""What became of the pages of a ticket: stored, failed and pending ones, with reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ...errors import InputError
from ..tickets import follow_ticket

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.collection import TenantScope
    from ...contracts.coverage import IngestionCoverage, UnstoredPage
    from ...contracts.ingestion import RowState, Ticket, TicketStatus
    from ..tickets import OnStatus

_STATES: Final[dict[RowState, Literal["pending", "failed", "retired"]]] = {
    "waiting": "pending",
    "to_fetch": "pending",
    "working": "pending",
    "dead": "failed",
    "retired": "retired",
}


async def await_ingestion(
    ticket: Ticket | str,
    scope: TenantScope,
    context: SearchContext,
    *,
    on_progress: OnStatus | None = None,
) -> IngestionCoverage:
    """Return what became of the ticket's pages, when all are done or the settings' time is up.

    Raises InputError for a ticket that is unknown or fills another collection, ConfigError,
    StoreError, and the error that ended the work of this process.
    """
    settings = context.using()

    def check(status: TicketStatus) -> None:
        if status.collection != scope.collection:
            raise InputError(
                f"Ticket {status.ticket_id} fills the collection {status.collection!r}, not"
                f" {scope.collection!r}."
            )
        if on_progress is not None:
            on_progress(status)

    status = await follow_ticket(
        ticket,
        timeout_s=settings.coverage_timeout_s,
        interval_s=settings.coverage_interval_s,
        context=context,
        on_progress=check,
    )
    return ingestion_coverage(status, is_done=status.left(fetch=context.fetches()) == 0)


def ingestion_coverage(status: TicketStatus, *, is_done: bool) -> IngestionCoverage:
    """Return the status as coverage; `is_done` says that nothing more was to be waited for."""
    unstored: list[UnstoredPage] = [
        {"url": row.url, "title": row.title, "state": _STATES[row.state], "reason": row.error}
        for row in status.rows
        if row.state != "stored"
    ]
    return {
        "ticket": status.ticket_id,
        "count": status.count,
        "stored": status.stored,
        "failed": status.failed + status.retired,
        "pending": status.left(fetch=True),
        "success_ratio": round(status.stored / status.count, 4) if status.count else 1.0,
        "timed_out": not is_done,
        "unstored": unstored,
    }
