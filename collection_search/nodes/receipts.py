"""Requests, records and receipts for the stages that start an ingestion."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ..contracts.collection import QuestionRecord, TenantScope
from ..contracts.ingestion import IngestionItem, IngestionRequest
from ..text.loose_keys import current_key
from ..text.redaction import error_message, redact_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..contracts.ingestion import Ticket
    from ..contracts.state import (
        Candidate,
        CollectionSearchState,
        IngestionReceipt,
        Outcome,
        RankedResult,
    )
    from ..contracts.updates import IngestUpdate
    from .stage import StageRun

logger = logging.getLogger(__name__)


def run_provenance(run: StageRun, *, approved_by: str) -> dict[str, Any]:
    """Return the facts of the run that go into each page's provenance."""
    case = {"case_id": run.context.case_id} if run.context.case_id else {}
    return {"approved_by": approved_by, "workflow_id": run.context.workflow_id, **run.ids, **case}


def ranked_items(
    results: Iterable[RankedResult], candidates: Iterable[Candidate], shared: Mapping[str, Any]
) -> list[IngestionItem]:
    """Return ranked results as pages to ingest, with their ranks, scores and the `shared` facts."""
    by_url = {candidate["url"]: candidate for candidate in candidates}
    return [
        _ranked_item(by_url[result["url"]], result, {**shared, "rank": rank})
        for rank, result in enumerate(results, start=1)
    ]


def _ranked_item(
    candidate: Candidate, result: RankedResult, provenance: dict[str, Any]
) -> IngestionItem:
    kind = {"is_pdf": True} if candidate["is_pdf"] else {}
    return IngestionItem(
        url=candidate["url"],
        url_key=current_key(candidate["url"], candidate["url_key"]),
        title=candidate["title"],
        content_ref=candidate["content_ref"],
        provenance={
            **provenance,
            **kind,
            "query": candidate["query"],
            "provider": candidate["provider"],
            "source": candidate["source"],
            "published_date": candidate["published_date"],
            "embedding_rank_score": result["embedding_rank_score"],
            "embedding_similarity": result["embedding_similarity"],
            "heuristic_score": result["heuristic_score"],
        },
    )


def build_ingestion_request(
    state: CollectionSearchState, run: StageRun, items: Sequence[IngestionItem]
) -> IngestionRequest:
    """Return the request to ingest these pages for the state's question."""
    return IngestionRequest(
        scope=TenantScope(run.context.tenant(), state["collection_scope"]),
        items=items,
        question=state["question"],
        run_id=run.ids["run_id"],
        trace_id=run.ids["trace_id"],
    )


def build_record(state: CollectionSearchState, request: IngestionRequest) -> QuestionRecord:
    """Return what is needed to ask the question again."""
    return QuestionRecord(
        question=state["question"],
        purpose=state["purpose"],
        quality_mode=state["quality_mode"],
        max_candidates=state["max_candidates"],
        auto_ingest_top_k=state["auto_ingest_top_k"],
        auto_ingest_min_score=state["auto_ingest_min_score"],
        queries=state["strategy"]["queries"],
        is_pdf=state.get("is_pdf"),
        url_keys=[item.url_key for item in request.items],
    )


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


def end_without_ingestion(
    state: CollectionSearchState, run: StageRun, outcome: Outcome, error: Exception
) -> IngestUpdate:
    """Return the update of a stage whose ingestion did not start; log the cause."""
    message = error_message(error)
    logger.error(
        "%s ended with %s",
        run.name,
        outcome,
        extra={**run.ids, "cause": message},
        exc_info=redact_error(error),
    )
    return {
        "ingestion": build_failed_receipt(state["collection_scope"], error, run),
        "outcome": outcome,
        "flags": [],
        "telemetry": {"count": 0, "error": message, "cost_usd": 0.0},
    }
