"""Waiting for an ingestion, with a progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.ingestion import Ticket, TicketStatus
    from .terminal import Screen


def wait_with_bar(
    ticket: Ticket | str, context: SearchContext, screen: Screen, *, timeout_s: float
) -> TicketStatus:
    """Return the ticket's status once its pages are ingested, or after the timeout.

    With a timeout of 0 nothing is ingested by this process. Raises InputError, StoreError.
    """
    from ...tools.tickets import wait

    tenant = context.tenant()
    if not timeout_s:
        return wait(ticket, 0.0, tenant=tenant, context=context, work=False)
    with screen.bar("Ingesting") as advance:

        def show(status: TicketStatus) -> None:
            advance(status.count - status.left(fetch=True), status.count)

        return wait(ticket, timeout_s, tenant=tenant, context=context, on_progress=show)
