"""Ingest the pages that a person approved or added, or that the threshold takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..contracts.ingestion import IngestionItem
from ..errors import InputError
from ..runtime.concurrency import offload
from ..text.urls import url_key
from ..tools.decisions.run_threshold import find_run_threshold
from ..tools.ingestion.questions import record_question, record_review
from ..tools.reviews import decide_by_threshold, is_decision_of
from .receipts import (
    build_ingestion_request,
    build_receipt,
    build_record,
    end_without_ingestion,
    ranked_items,
    threshold_facts,
)
from .review_candidates import asks_for, review_candidates, review_round
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.review import Review
    from ..contracts.state import CollectionSearchState
    from ..contracts.updates import TriggerUpdate
    from ..ports import GateStore
    from ..ranking.adaptive import Threshold

_NOT_MADE: Final = (
    "The decision in this run's state was not made in its review: it was changed there. Nothing was"
    " ingested. Go back before it to have the pages reviewed."
)


@stage("k_trigger_ingestion")
async def trigger_ingestion(state: CollectionSearchState, run: StageRun) -> TriggerUpdate:
    """Return the ticket of the started ingestion, or why none was started.

    Without a decision in this round the candidates at or above the run's threshold are taken.
    """
    review, threshold = await _decision(state, run)
    if not review["approved_urls"] and not review["added_urls"]:
        return {
            "ingestion": None,
            "review": review,
            "outcome": "review_rejected",
            "flags": [],
            "telemetry": {"count": 0, **threshold_facts(threshold), "cost_usd": 0.0},
        }
    is_reviewed = review["gate_id"] is not None
    request = build_ingestion_request(state, run, _items(state, run, review))
    try:
        trigger = await run.context.ingestion_trigger()
        ticket = await trigger.trigger(request)
    except Exception as error:  # noqa: BLE001 - a host's trigger may raise anything
        if is_reviewed:
            await record_review(run.context, request.scope, state["question"])
        ended = end_without_ingestion(state, run, "auto_ingest_trigger_failed", error)
        return {**ended, "review": review}
    keys = [item.url_key for item in request.items]
    record = build_record(state, keys, is_reviewed=is_reviewed)
    await record_question(run.context, request.scope, record)
    return {
        "ingestion": build_receipt(
            request, ticket, threshold_reason=threshold.reason if threshold else None
        ),
        "review": review,
        "outcome": "ingestion_triggered",
        "flags": [],
        "telemetry": {
            "count": ticket.count,
            "added_count": len(review["added_urls"]),
            "ticket": ticket.ticket_id,
            "decided_by": review["decided_by"],
            **threshold_facts(threshold),
            "cost_usd": 0.0,
        },
    }


async def _decision(state: CollectionSearchState, run: StageRun) -> tuple[Review, Threshold | None]:
    """Return the decision of this round, and the threshold where that decides."""
    store = await run.context.storage()
    review = state.get("review")
    if review is not None and review["round"] == review_round(state):
        await offload(_refuse_other_review, store.gates, run, review, state)
        return review, None
    wanted = await find_run_threshold(run.context, state)
    decided = decide_by_threshold(
        await review_candidates(state, run),
        threshold=wanted.min_score,
        now=await offload(store.gates.now),
        round_number=review_round(state),
    )
    return decided, wanted


def _refuse_other_review(
    gates: GateStore, run: StageRun, review: Review, state: CollectionSearchState
) -> None:
    """Raise InputError where this decision was not made about what the state has. Blocks.

    The gate of one that was made is closed: nobody can carry it out. A program of the host may have
    a gate of its own; on a server the state is its user's, who cannot decide in another's name.
    """
    gate_id = review["gate_id"]
    gate = None if gate_id is None else gates.get(run.context.tenant(), gate_id)
    if gate is None:
        if run.server is not None:
            raise InputError(_NOT_MADE)
        return
    if not asks_for(gate, state):
        wrong = (
            f"The review {gate_id} was about something else: the run's question, collection or"
            " pages were changed after its decision. Go back before it to have them reviewed."
        )
    elif is_decision_of(gate, review):
        return
    else:
        wrong = _NOT_MADE
    gates.close(gate.tenant_id, gate.gate_id)
    raise InputError(wrong)


def _items(state: CollectionSearchState, run: StageRun, review: Review) -> list[IngestionItem]:
    """Return the approved pages by rank, then the added ones."""
    shared = run.context.provenance(run.ids, approved_by=review["approver"] or review["decided_by"])
    shared |= {"question": state["question"], "review": _facts(review)}
    approved = set(review["approved_urls"])
    results = [result for result in state["results"] if result["url"] in approved]
    added = [
        IngestionItem(url, url_key(url), "", None, {**shared, "added_by_hand": True})
        for url in review["added_urls"]
    ]
    return ranked_items(results, state["candidates"], shared) + added


def _facts(review: Review) -> dict[str, Any]:
    facts = {name: review[name] for name in ("gate_id", "decided_by", "decided_at", "comment")}
    return {name: fact for name, fact in facts.items() if fact is not None}
