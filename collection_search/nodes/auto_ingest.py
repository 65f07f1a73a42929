"""Ingest the best results by their score, without asking a person."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import QualityThresholdError
from ..ranking.explanation import score_by_relevance
from ..ranking.threshold import Selection, select_for_ingestion
from ..runtime.concurrency import offload
from ..text.urls import url_key
from ..tools.criteria.refused_pages import eligible_positions
from ..tools.decisions.run_threshold import find_run_threshold
from ..tools.ingestion.questions import find_record, record_question
from .receipts import (
    build_ingestion_request,
    build_receipt,
    build_record,
    end_without_ingestion,
    ranked_items,
    run_provenance,
    threshold_facts,
)
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contracts.ingestion import IngestionItem, IngestionRequest
    from ..contracts.page_choice import PageChoice
    from ..contracts.state import CollectionSearchState, Outcome
    from ..contracts.updates import IngestUpdate
    from ..ranking.adaptive import Threshold


_KEPT: Final = frozenset(("approved_by", "review", "added_by_hand"))


@stage("k_auto_ingest")
async def auto_ingest(state: CollectionSearchState, run: StageRun) -> IngestUpdate:
    """Return the ticket of the started ingestion, or why none was started."""
    wanted = await find_run_threshold(run.context, state)
    is_reviewed = run.context.page_choice.approved is not None
    approved: list[str] = []
    try:
        selection = _select(state, wanted, run.context.page_choice)
        request = _request(state, run, selection, is_reviewed=is_reviewed)
        if run.context.asks_anew:
            request, approved = await _asked_anew(request, run, state["question"])
    except QualityThresholdError as error:
        outcome: Outcome = "auto_ingest_failed_quality_threshold"
        return end_without_ingestion(state, run, outcome, error, threshold=wanted)
    try:
        trigger = await run.context.ingestion_trigger()
        ticket = await trigger.trigger(request)
    except Exception as error:  # noqa: BLE001 - a host's trigger may raise anything
        return end_without_ingestion(state, run, "auto_ingest_trigger_failed", error)
    keys = [*(item.url_key for item in request.items), *(approved if is_reviewed else ())]
    record = build_record(state, dict.fromkeys(keys), is_reviewed=is_reviewed)
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


def _request(
    state: CollectionSearchState, run: StageRun, selection: Selection, *, is_reviewed: bool
) -> IngestionRequest:
    shared = run_provenance(run, approved_by="review" if is_reviewed else "auto_ingest")
    shared |= {"question": state["question"], "threshold": selection.threshold}
    results = [state["results"][index] for index in selection.positions]
    items = ranked_items(results, state["candidates"], shared)
    return build_ingestion_request(state, run, items)


async def _asked_anew(
    request: IngestionRequest, run: StageRun, question: str
) -> tuple[IngestionRequest, list[str]]:
    """Return the request as the collection is now, and the pages that the question had before.

    A page that was deleted since the search began is left out, and so is a stored one that is
    refused now and that nobody took in spite of that. A new text of a page changes nothing of who
    has approved it. Raises QualityThresholdError where no page is left, StoreError.
    """
    before = await find_record(run.context, request.scope, question)
    removed = frozenset(before.removed if before else ())
    store = await run.context.storage()
    keys = [item.url_key for item in request.items]
    stored = await offload(store.collections.get, request.scope, keys)
    known = {
        key: page.provenance
        for page in (one.document for one in stored)
        for key in (page.url_key, *map(url_key, page.also_at))
    }
    judged = [
        _as_approved(item, known.get(item.url_key, item.provenance))
        for item in request.items
        if item.url_key not in removed
    ]
    items = [item for item in judged if item is not None]
    if not items:
        raise QualityThresholdError("all pages that were found are deleted or refused by now")
    approved = [key for key in before.url_keys if key not in removed] if before else []
    return replace(request, items=items), approved


def _as_approved(item: IngestionItem, known: Mapping[str, Any]) -> IngestionItem | None:
    """Return the page with the approval that it is stored with; None where it is refused."""
    refused, approvers = _overruling(item.provenance), _overruling(known)
    if refused and not approvers:
        return None
    facts = {name: known[name] for name in _KEPT & known.keys()}
    for name in refused.keys() & approvers.keys():
        facts[name] = {**item.provenance[name], "overruled_by": approvers[name]}
    return replace(item, provenance={**item.provenance, **facts})


def _overruling(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return who took a page in spite of the criteria or the rules, by these."""
    refusals = {name: provenance.get(name) or {} for name in ("criteria", "rules")}
    return {
        name: refusal["overruled_by"]
        for name, refusal in refusals.items()
        if "overruled_by" in refusal
    }


def _select(state: CollectionSearchState, wanted: Threshold, choice: PageChoice) -> Selection:
    """Return the results to ingest. Raises QualityThresholdError where there are none."""
    results = state["results"]
    allowed = [n for n, result in enumerate(results) if choice.allows(url_key(result["url"]))]
    if choice.approved is not None:  # whatever their scores
        if not allowed:
            raise QualityThresholdError("no page that was approved for this question was found")
        return Selection(allowed, threshold=0.0, fallback_used=False)
    # Deleted pages count until the threshold is found: without them it could fall.
    chosen = select_for_ingestion(
        [result["embedding_rank_score"] for result in results],
        min_score=wanted.min_score,
        fallback_score=wanted.fallback_score,
        top_k=state["auto_ingest_top_k"],
        scale=results[0]["explanation"]["scale"] if results else None,
        pool_size=len(state["candidates"]),
        pool_scores=[score_by_relevance(result) for result in results],
        eligible=eligible_positions(results),
    )
    kept = [n for n in chosen.positions if n in allowed]
    if not kept:
        raise QualityThresholdError("all pages that reach the score were deleted by hand before")
    return chosen._replace(positions=kept)
