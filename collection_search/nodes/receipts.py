"""Provenance and receipts for the stages that start an ingestion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..text.redaction import error_message

if TYPE_CHECKING:
    from ..contracts.ingestion import IngestionRequest, Ticket
    from ..contracts.state import IngestionReceipt
    from .stage import StageRun


def run_provenance(run: StageRun, *, approved_by: str) -> dict[str, Any]:
    """Return the facts of the run that go into each page's provenance."""
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
    """Return the receipt of an ingestion that did not start; mark the observation as failed."""
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
