"""What the stages that start an ingestion have in common: its receipt in the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contracts.ingestion import IngestionRequest, Ticket
    from ..contracts.state import IngestionReceipt


def receipt_of(
    request: IngestionRequest, ticket: Ticket, *, threshold: float | None = None
) -> IngestionReceipt:
    """Return the receipt of a started ingestion."""
    return {
        "ticket": ticket.ticket_id,
        "count": ticket.count,
        "collection": ticket.collection,
        "threshold": threshold,
        "urls": [item.url for item in request.items],
        "error": None,
    }


def refusal_of(collection: str, kind: str, message: str) -> IngestionReceipt:
    """Return the receipt of one that could not be started, with the cause."""
    return {
        "ticket": None,
        "count": 0,
        "collection": collection,
        "threshold": None,
        "urls": [],
        "error": {"kind": kind, "message": message},
    }
