"""Pause the run until a person has decided which pages are ingested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from pydantic import ValidationError

from ..contracts.collection import TenantScope
from ..contracts.review import Gate
from ..runtime.concurrency import offload
from ..settings.remote_caller import approver_of
from ..text.question_mask import QuestionMask
from ..text.timestamps import iso_time
from ..tools.decisions.run_threshold import find_run_threshold
from ..tools.ingestion.questions import record_review
from ..tools.reviews import (
    build_review_request,
    decision_model,
    refuse_decision,
    settle_review,
)
from .review_candidates import asks_for, gate_id, review_candidates, review_round, round_id
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.review import Review, ReviewDecision
    from ..contracts.state import CollectionSearchState, Flag, ReviewOutcome
    from ..contracts.updates import GateUpdate
    from ..ports import GateStore


@stage("k_hitl_gate")
async def hitl_gate(state: CollectionSearchState, run: StageRun) -> GateUpdate:
    """Return the decision of a person, or of the gate's deadline.

    The run is interrupted until then; it may be resumed after days and in another process. The gate
    is stored with the first interrupt, once for what is asked however often the node runs;
    everything else happens after it. Raises StoreError, and InputError for an answer that does not
    fit, or was given before the gate was asked: the gate stays open then.
    """
    gates = (await run.context.storage()).gates
    gate = await offload(_find, gates, run.context.tenant(), state)
    flags: list[Flag] = []
    if gate is None:
        gate, is_used = await _decide(await _gate(state, run, gates), run, gates, is_asked=False)
    elif gate.state == "open":
        gate, is_used = await _decide(gate, run, gates, is_asked=True)
        flags = [] if is_used else ["answer_not_used"]
    review = cast("Review", gate.decision)
    has_pages = bool(review["approved_urls"] or review["added_urls"])
    if not has_pages:
        scope = TenantScope(gate.tenant_id, gate.collection)
        await record_review(run.context, scope, state["question"])
    return {
        "review": review,
        "outcome": "search_completed" if has_pages else _rejected(gate),
        "flags": flags,
        "telemetry": {
            "gate_id": gate.gate_id,
            "status": review["status"],
            "decided_by": review["decided_by"],
            "candidate_count": len(gate.candidates),
            "approved_count": len(review["approved_urls"]),
            "added_count": len(review["added_urls"]),
            **({"threshold_reason": gate.threshold_reason} if gate.threshold_reason else {}),
            "cost_usd": 0.0,
        },
    }


def _rejected(gate: Gate) -> ReviewOutcome:
    """Return the outcome where nothing was approved: what earlier rounds ingested stays."""
    return "review_rejected" if gate.round == 1 else "coverage_incomplete"


def _find(gates: GateStore, tenant_id: str, state: CollectionSearchState) -> Gate | None:
    """Return the gate at which the run has asked; None before. Blocks."""
    for name in (gate_id(tenant_id, state), round_id(tenant_id, state)):
        gate = gates.get(tenant_id, name)
        if gate is not None and asks_for(gate, state):
            return gate
    return None


async def _gate(state: CollectionSearchState, run: StageRun, gates: GateStore) -> Gate:
    """Return the gate of this round of the run, not yet stored."""
    number, settings, tenant_id = review_round(state), run.context.using(), run.context.tenant()
    wanted = await find_run_threshold(run.context, state)
    texts = [one["content_ref"] for one in state["candidates"] if one["content_ref"]]
    return Gate(
        gate_id=gate_id(tenant_id, state),
        tenant_id=tenant_id,
        collection=state["collection_scope"],
        question=QuestionMask.of(state).mask(state["question"]),
        round=number,
        host="process" if run.server is None else "server",
        thread_id=run.thread_id,
        run_id=run.ids["run_id"],
        trace_id=run.ids["trace_id"],
        candidates=await review_candidates(state, run),
        threshold=wanted.min_score,
        threshold_reason=wanted.reason,
        deadline=await offload(gates.now) + settings.gate_deadline_h * 3600,
        policy=settings.gate_policy,
        content_refs=texts,
        may_search_again=number <= state["max_rounds"],
    )


async def _decide(
    gate: Gate, run: StageRun, gates: GateStore, *, is_asked: bool
) -> tuple[Gate, bool]:
    """Return the decided gate, and whether the answer that resumed the run is what decided it.

    An answer that is there before the gate was asked is one to another gate, and is refused.
    """
    request = build_review_request(gate)
    model = decision_model(gate.candidates, is_asked=is_asked)
    user = approver_of(run.server)
    while True:
        try:
            answer: ReviewDecision = interrupt(request, response_schema=model)
        except ValidationError as error:
            raise refuse_decision(error, is_asked=is_asked) from error
        except GraphInterrupt:
            if not is_asked:
                await offload(gates.open, gate)
            run.emit(_request_event(gate, run.name))
            raise
        now = await offload(gates.now)
        review = settle_review(gate, answer, approver=user, now=now)
        if review is not None:
            decided = await offload(gates.decide, gate.tenant_id, gate.gate_id, review)
            is_used = review["decided_by"] == "person" or answer.status == "pending"
            return decided, is_used and decided.decision == review


def _request_event(gate: Gate, node: str) -> dict[str, Any]:
    """Return the event by which a host learns that the run waits at the gate."""
    return {
        "type": "review_requested",
        "node": node,
        "gate_id": gate.gate_id,
        "candidate_count": len(gate.candidates),
        "deadline": iso_time(gate.deadline),
    }
