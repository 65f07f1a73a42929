"""Ingest the best results by their score, without asking a person."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ..contracts.collection import QuestionRecord, TenantScope
from ..contracts.ingestion import IngestionItem, IngestionRequest
from ..errors import QualityThresholdError
from ..ranking.threshold import select_for_ingestion
from ..text.redaction import error_message, redact_error
from ..tools.ingestion.questions import record_question
from .receipts import build_failed_receipt, build_receipt, run_provenance
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.state import (
        Candidate,
        CollectionSearchState,
        IngestUpdate,
        Outcome,
        RankedResult,
    )

logger = logging.getLogger(__name__)


@stage("k_auto_ingest")
async def auto_ingest(state: CollectionSearchState, run: StageRun) -> IngestUpdate:
    """Return the ticket of the started ingestion, or why none was started."""
    results = state["results"]
    try:
        chosen, threshold = select_for_ingestion(
            [result["embedding_rank_score"] for result in results],
            min_score=state["auto_ingest_min_score"],
            top_k=state["auto_ingest_top_k"],
        )
    except QualityThresholdError as error:
        return _failed(state, run, "auto_ingest_failed_quality_threshold", error)
    request = _request(state, run, [results[index] for index in chosen], threshold)
    try:
        trigger = await run.context.ingestion_trigger()
        ticket = await trigger.trigger(request)
    except Exception as error:  # noqa: BLE001 - a host's trigger may raise anything
        return _failed(state, run, "auto_ingest_trigger_failed", error)
    await record_question(run.context, request.scope, _record(state, request))
    return {
        "ingestion": build_receipt(request, ticket, threshold=threshold),
        "outcome": "auto_ingest_triggered",
        "flags": [],
        "telemetry": {
            "count": ticket.count,
            "threshold": threshold,
            "ticket": ticket.ticket_id,
            "cost_usd": 0.0,
        },
    }


def _record(state: CollectionSearchState, request: IngestionRequest) -> QuestionRecord:
    """Return what is needed to ask the question again."""
    return QuestionRecord(
        question=state["question"],
        purpose=state["purpose"],
        quality_mode=state["quality_mode"],
        max_candidates=state["max_candidates"],
        auto_ingest_top_k=state["auto_ingest_top_k"],
        auto_ingest_min_score=state["auto_ingest_min_score"],
        url_keys=[item.url_key for item in request.items],
    )


def _request(
    state: CollectionSearchState, run: StageRun, results: Sequence[RankedResult], threshold: float
) -> IngestionRequest:
    by_url = {candidate["url"]: candidate for candidate in state["candidates"]}
    shared = run_provenance(run, approved_by="auto_ingest")
    shared |= {"question": state["question"], "threshold": threshold}
    return IngestionRequest(
        scope=TenantScope(run.context.tenant(), state["collection_scope"]),
        items=[
            _item(by_url[result["url"]], result, shared | {"rank": rank})
            for rank, result in enumerate(results, start=1)
        ],
        question=state["question"],
        run_id=run.ids["run_id"],
        trace_id=run.ids["trace_id"],
    )


def _item(candidate: Candidate, result: RankedResult, provenance: dict[str, Any]) -> IngestionItem:
    return IngestionItem(
        url=candidate["url"],
        url_key=candidate["url_key"],
        title=candidate["title"],
        content_ref=candidate["content_ref"],
        provenance={
            **provenance,
            "query": candidate["query"],
            "provider": candidate["provider"],
            "source": candidate["source"],
            "published_date": candidate["published_date"],
            "embedding_rank_score": result["embedding_rank_score"],
            "embedding_similarity": result["embedding_similarity"],
            "heuristic_score": result["heuristic_score"],
        },
    )


def _failed(
    state: CollectionSearchState, run: StageRun, outcome: Outcome, error: Exception
) -> IngestUpdate:
    message = error_message(error)
    logger.error(
        "auto ingest ended with %s",
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
