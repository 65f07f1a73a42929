"""What the stages that start an ingestion have in common: provenance, receipt and refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..text.redaction import error_message

if TYPE_CHECKING:
    from ..contracts.ingestion import IngestionRequest, Ticket
    from ..contracts.state import IngestionReceipt
    from .stage import StageRun


def run_provenance(run: StageRun, *, approved_by: str) -> dict[str, Any]:
    """Return what the run itself says of each page that it hands over."""
    case = {"case_id": run.context.case_id} if run.context.case_id else {}
    return {"approved_by": approved_by, "workflow_id": run.context.workflow_id, **run.ids, **case}


def build_receipt(
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


def build_failed_receipt(collection: str, error: Exception, run: StageRun) -> IngestionReceipt:
    """Return the receipt of one that could not be started; the stage's observation fails."""
    kind, message = type(error).__name__, error_message(error)
    run.span.fail(kind, message)
    return {
        "ticket": None,
        "count": 0,
        "collection": collection,
        "threshold": None,
        "urls": [],
        "error": {"kind": kind, "message": message},
    }
