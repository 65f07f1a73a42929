"""Waiting for an ingestion, with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .worker_progress import Progress

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.ingestion import Ticket, TicketStatus
    from .terminal import Screen


def wait_with_bar(
    ticket: Ticket | str, context: SearchContext, screen: Screen, *, timeout_s: float
) -> TicketStatus:
    """Return the ticket's status once its pages are ingested.

    The timeout is the longest time without a finished page. With a timeout of 0 nothing is ingested
    by this process. Raises InputError, StoreError.
    """
    from ...runtime.concurrency import run_blocking
    from ...tools.ingest import engine_for
    from ...tools.tickets import wait

    tenant = context.tenant()
    if not timeout_s:
        return wait(ticket, 0.0, tenant=tenant, context=context, work=False)
    engine = run_blocking(engine_for(context))
    engine.equip(on_pause=Progress(screen, at_once=True).on_pause)
    with screen.bar("Ingesting") as advance:

        def show(status: TicketStatus) -> None:
            advance(status.count - status.left(fetch=True), status.count)

        return wait(
            ticket,
            timeout_s,
            tenant=tenant,
            context=context,
            on_progress=show,
            while_pages_finish=True,
        )
