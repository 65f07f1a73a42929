"""An ingestion trigger that only writes down what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.ingestion import Ticket

if TYPE_CHECKING:
    from ..contracts.ingestion import IngestionRequest


class RecordingTrigger:
    """Accepts every request, or raises `error` each time; `requests` holds them in order."""

    def __init__(self, *, error: Exception | None = None) -> None:
        self.error = error
        self.requests: list[IngestionRequest] = []

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return a ticket for all of the request's pages."""
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        return Ticket(
            ticket_id=f"ticket-{len(self.requests)}",
            tenant_id=request.scope.tenant_id,
            collection=request.scope.collection,
            count=len(request.items),
        )
