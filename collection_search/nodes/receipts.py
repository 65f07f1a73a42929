"""Requests, records and receipts for the stages that start an ingestion."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..contracts.collection import QuestionRecord, TenantScope
from ..contracts.ingestion import IngestionItem, IngestionRequest
from ..errors import InputError, QualityThresholdError
from ..runtime.failure_log import log_failure
from ..text.loose_keys import current_key
from ..text.question_mask import QuestionMask
from ..text.redaction import error_message
from ..tools.criteria.refused_pages import refusal_provenance
from ..tools.similarity.embedder_outage import find_outage

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
    from ..ranking.adaptive import Threshold
    from .stage import StageRun

_ASKED: Final = frozenset({"query", "question"})
"""Facts of a page that hold what a caller wrote."""

logger = logging.getLogger(__name__)


def candidates_of(
    results: Sequence[RankedResult], candidates: Iterable[Candidate]
) -> dict[str, Candidate]:
    """Return the candidates by their URLs.

    Raises InputError where one of a result is not there: somebody has changed the state.
    """
    by_url = {candidate["url"]: candidate for candidate in candidates}
    for n, result in enumerate(results):
        if result["url"] not in by_url:
            raise InputError(
                f"The state of this run is not valid. results.{n}: {result['url']} is not among the"
                " candidates. Add it to these too; or ingest it as a page of your own."
            )
    return by_url


def ranked_items(
    results: Sequence[RankedResult], candidates: Iterable[Candidate], shared: Mapping[str, Any]
) -> list[IngestionItem]:
    """Return ranked results as pages to ingest, with their ranks, scores and the `shared` facts."""
    by_url = candidates_of(results, candidates)
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
            **refusal_provenance(result, approved_by=provenance["approved_by"]),
        },
    )


def build_ingestion_request(
    state: CollectionSearchState, run: StageRun, items: Sequence[IngestionItem]
) -> IngestionRequest:
    """Return the request to ingest these pages; the secrets of the question are masked."""
    masks = QuestionMask.of(state)
    return IngestionRequest(
        scope=TenantScope(run.context.tenant(), state["collection_scope"]),
        items=[mask_asked(item, masks) for item in items],
        question=masks.mask(state["question"]),
        run_id=run.ids["run_id"],
        trace_id=run.ids["trace_id"],
    )


def mask_asked(item: IngestionItem, masks: QuestionMask) -> IngestionItem:
    """Return the page without the secrets of what was asked: its provenance is for people."""
    facts = {name: masks.mask(item.provenance[name]) for name in _ASKED & item.provenance.keys()}
    return replace(item, provenance={**item.provenance, **facts})


def build_record(
    state: Mapping[str, Any], url_keys: Iterable[str], *, is_reviewed: bool
) -> QuestionRecord:
    """Return what is needed to ask a run's question again; `url_keys`: of the pages chosen."""
    return QuestionRecord(
        question=state["question"],
        purpose=state["purpose"],
        quality_mode=state["quality_mode"],
        max_candidates=state["max_candidates"],
        auto_ingest_top_k=state["auto_ingest_top_k"],
        auto_ingest_min_score=state["auto_ingest_min_score"],
        queries=state["strategy"]["queries"],
        is_pdf=state.get("is_pdf"),
        criteria=state.get("criteria") or [],
        url_keys=list(url_keys),
        is_reviewed=is_reviewed,
    )


def build_receipt(
    request: IngestionRequest,
    ticket: Ticket,
    *,
    threshold: float | None = None,
    threshold_reason: str | None = None,
    fallback_used: bool = False,
) -> IngestionReceipt:
    """Return the receipt of a started ingestion."""
    return {
        "ticket": ticket.ticket_id,
        "count": ticket.count,
        "collection": ticket.collection,
        "threshold": threshold,
        "threshold_reason": threshold_reason,
        "fallback_used": fallback_used,
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
        "threshold_reason": None,
        "fallback_used": False,
        "urls": [],
        "error": {"kind": kind, "message": message},
    }


def blame_outage(
    error: QualityThresholdError, state: CollectionSearchState, *, min_score: float
) -> QualityThresholdError:
    """Return the refusal of low scores, with the failed embedder as the cause where it is that."""
    if (outage := find_outage(state)) is None:
        return error
    return QualityThresholdError(
        outage.advise(),
        threshold=min_score if error.threshold is None else error.threshold,
        fallback_used=error.fallback_used,
    )


def end_without_ingestion(
    state: CollectionSearchState,
    run: StageRun,
    outcome: Outcome,
    error: Exception,
    *,
    threshold: Threshold | None = None,
) -> IngestUpdate:
    """Return the update of a stage whose ingestion did not start; log the cause.

    `threshold` is what pages had to reach, where that is the cause.
    """
    message = error_message(error)
    extra, ended = {**run.ids, "cause": message}, f"{run.name} ended with {outcome}"
    log_failure(logger, ended, error, level=logging.ERROR, extra=extra)
    receipt = build_failed_receipt(state["collection_scope"], error, run)
    facts: dict[str, Any] = {}
    if isinstance(error, QualityThresholdError) and error.threshold is not None:
        facts = {"threshold": error.threshold, "fallback_used": error.fallback_used}
        receipt["threshold"], receipt["fallback_used"] = error.threshold, error.fallback_used
    if threshold is not None:
        receipt["threshold_reason"] = threshold.reason
    return {
        "ingestion": receipt,
        "outcome": outcome,
        "flags": [],
        "telemetry": {
            "count": 0,
            "error": message,
            **facts,
            **threshold_facts(threshold),
            "cost_usd": 0.0,
        },
    }


def threshold_facts(threshold: Threshold | None) -> dict[str, Any]:
    """Return the telemetry of the score that pages need, where the setting asks for a reason."""
    if threshold is None or threshold.reason is None:
        return {}
    return {"min_score": threshold.min_score, "threshold_reason": threshold.reason}
