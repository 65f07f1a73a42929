"""Ingest the best results by their score, without asking a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import QualityThresholdError
from ..ranking.explanation import score_by_relevance
from ..ranking.threshold import Selection, select_for_ingestion
from ..text.urls import url_key
from ..tools.criteria.refused_pages import eligible_positions
from ..tools.decisions.run_threshold import find_run_threshold
from ..tools.ingestion.questions import record_question
from ..tools.ingestion.refreshed_request import fit_request
from .receipts import (
    blame_outage,
    build_ingestion_request,
    build_receipt,
    build_record,
    end_without_ingestion,
    ranked_items,
    threshold_facts,
)
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.ingestion import IngestionRequest
    from ..contracts.page_choice import PageChoice
    from ..contracts.state import CollectionSearchState, Outcome
    from ..contracts.updates import IngestUpdate
    from ..ranking.adaptive import Threshold


@stage("k_auto_ingest")
async def auto_ingest(state: CollectionSearchState, run: StageRun) -> IngestUpdate:
    """Return the ticket of the started ingestion, or why none was started."""
    wanted = await find_run_threshold(run.context, state)
    try:
        selection = _select(state, wanted, run.context.page_choice)
        request = await _request(state, run, selection)
    except QualityThresholdError as error:
        outcome: Outcome = "auto_ingest_failed_quality_threshold"
        return end_without_ingestion(state, run, outcome, error, threshold=wanted)
    try:
        trigger = await run.context.ingestion_trigger()
        ticket = await trigger.trigger(request)
    except Exception as error:  # noqa: BLE001 - a host's trigger may raise anything
        return end_without_ingestion(state, run, "auto_ingest_trigger_failed", error)
    keys = [item.url_key for item in request.items]
    record = build_record(state, keys, is_reviewed=run.context.page_choice.is_reviewed)
    await record_question(run.context, request.scope, record)
    return {
        "ingestion": build_receipt(
            request,
            ticket,
            threshold=selection.threshold,
            threshold_reason=wanted.reason,
            fallback_used=selection.fallback_used,
        ),
        "outcome": "auto_ingest_triggered",
        "flags": [],
        "telemetry": {
            "count": ticket.count,
            "threshold": selection.threshold,
            "fallback_used": selection.fallback_used,
            **threshold_facts(wanted),
            "ticket": ticket.ticket_id,
            "cost_usd": 0.0,
        },
    }


async def _request(
    state: CollectionSearchState, run: StageRun, selection: Selection
) -> IngestionRequest:
    """Return the request. Raises QualityThresholdError where no page is left, StoreError."""
    is_reviewed = run.context.page_choice.is_reviewed
    shared = run.context.provenance(run.ids, approved_by="review" if is_reviewed else "auto_ingest")
    shared |= {"question": state["question"], "threshold": selection.threshold}
    results = [state["results"][index] for index in selection.positions]
    items = ranked_items(results, state["candidates"], shared)
    request = build_ingestion_request(state, run, items)
    if run.context.page_choice.is_refresh:
        request = await fit_request(run.context, request, state["question"])
    return request


def _select(state: CollectionSearchState, wanted: Threshold, choice: PageChoice) -> Selection:
    """Return the results to ingest. Raises QualityThresholdError where there are none."""
    results = state["results"]
    allowed = [n for n, result in enumerate(results) if choice.allows(url_key(result["url"]))]
    if choice.is_reviewed:  # whatever their scores
        if not allowed:
            raise QualityThresholdError("no page that was approved for this question was found")
        return Selection(allowed, threshold=0.0, fallback_used=False)
    chosen = _select_by_score(state, wanted, eligible_positions(results))
    # Deleted pages count until the threshold is found: without them it could fall.
    kept = [n for n in chosen.positions if n in allowed]
    if not kept:
        raise QualityThresholdError("all pages that reach the score were deleted by hand before")
    return chosen._replace(positions=kept)


def _select_by_score(
    state: CollectionSearchState, wanted: Threshold, eligible: list[int]
) -> Selection:
    """Return the eligible results that score high enough. Raises QualityThresholdError."""
    results = state["results"]
    try:
        return select_for_ingestion(
            [result["embedding_rank_score"] for result in results],
            min_score=wanted.min_score,
            fallback_score=wanted.fallback_score,
            top_k=state["auto_ingest_top_k"],
            scale=results[0]["explanation"]["scale"] if results else None,
            pool_size=len(state["candidates"]),
            pool_scores=[score_by_relevance(result) for result in results],
            eligible=eligible,
        )
    except QualityThresholdError as error:
        raise blame_outage(error, state, min_score=wanted.min_score) from error
