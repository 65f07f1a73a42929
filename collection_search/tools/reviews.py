"""Reviews of candidates: what a person is asked, and what an answer or a deadline decides."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from ..contracts.review import Review, ReviewDecision, ReviewRequest
from ..errors import AlreadyDecidedError, InputError, InvalidUrlError
from ..text.loose_keys import find_similar
from ..text.problems import describe_problems
from ..text.timestamps import iso_time
from ..text.urls import url_key
from .criteria.refused_pages import reason_against

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..contracts.review import DecidedBy, Gate, ReviewCandidate, ReviewStatus
    from ..ports import GateStore

_UNASKED: Final = (
    "The answer was given before this review was asked: the run's question, collection or pages"
    " have changed. Nothing was decided. Drop the answer with graph.update_state(config, None), and"
    " call the graph with None as input: it asks. As a subgraph it begins anew then."
)

_SAID: Final = ("status", "approved_urls", "added_urls", "approver", "decided_by", "comment")
"""Fields of a `Review` that come from the person's decision."""


def build_review_request(gate: Gate) -> ReviewRequest:
    """Return what is asked at the gate, JSON-plain."""
    return {
        "type": "collection_review",
        "instructions": _instructions(gate),
        "gate_id": gate.gate_id,
        "question": gate.question,
        "collection": gate.collection,
        "round": gate.round,
        "candidates": gate.candidates,
        "threshold": gate.threshold,
        "threshold_reason": gate.threshold_reason,
        "deadline": iso_time(gate.deadline),
        "deadline_policy": gate.policy,
        "response_schema": decision_model(gate.candidates).model_json_schema(),
    }


def _instructions(gate: Gate) -> str:
    at_deadline = {
        "approve": f"the candidates from the score {gate.threshold:g} on are ingested",
        "reject": "nothing is ingested",
        "keep_pending": "the review waits on",
    }
    return (
        "Decide which candidates are ingested into the collection: answer with the fields of"
        ' response_schema, in short {"status": "approved"} or {"status": "rejected"}. At the'
        f" deadline {at_deadline[gate.policy]}."
    )


def decision_model(
    candidates: Iterable[ReviewCandidate], *, is_asked: bool = True
) -> type[ReviewDecision]:
    """Return the model of a decision that may approve these candidates only.

    Their addresses are the choices in its JSON schema. Before the review is asked none is valid.
    """
    urls = [candidate["url"] for candidate in candidates]
    by_key = {url_key(url): url for url in urls}

    def known(url: str) -> str:
        found = None
        with suppress(InvalidUrlError):
            found = find_similar(url, by_key)
        if found is None:
            raise ValueError(
                f"{url!r} is no candidate of this review; put further pages into added_urls"
            )
        return found

    choice = {"type": "string", "enum": urls} if urls else {"type": "string"}
    field = ReviewDecision.model_fields["approved_urls"]
    approved = list[Annotated[str, AfterValidator(known), WithJsonSchema(choice)]]
    return create_model(
        "ReviewDecision",
        __base__=ReviewDecision if is_asked else _UnaskedDecision,
        approved_urls=(
            approved,
            Field(
                default_factory=list,
                description=field.description,
                examples=[urls[:2]],
                json_schema_extra=field.json_schema_extra,
            ),
        ),
    )


class _UnaskedDecision(ReviewDecision):
    """An answer to another review."""

    @model_validator(mode="before")
    @classmethod
    def _is_to_another_review(cls, _given: Any) -> Any:
        raise ValueError("nobody was asked")


def validate_decision(gate: Gate, given: Mapping[str, Any]) -> ReviewDecision:
    """Return a decision about the gate. Raises InputError naming what is wrong with it."""
    try:
        return decision_model(gate.candidates).model_validate(given)
    except ValidationError as error:
        raise refuse_decision(error) from error


def refuse_decision(error: ValidationError, *, is_asked: bool = True) -> InputError:
    """Return the error of a decision that is not valid, or was given before the review was asked.

    What LangGraph has marked stays marked: the interrupt can be answered again.
    """
    said = describe_problems(error, ReviewDecision.model_fields)
    refusal = InputError(f"The decision is not valid. {said}" if is_asked else _UNASKED)
    vars(refusal).update(vars(error))
    return refusal


def settle_review(
    gate: Gate, decision: ReviewDecision | None, *, approver: str | None, now: float
) -> Review | None:
    """Return what an answer at `now` decides, or None while the gate stays open.

    Once the deadline has passed, its policy has decided and no answer changes that, as if a process
    had waited for that moment. With the policy `keep_pending` an answer counts at any time.
    `approver` is the authenticated user, whose name counts more than the decision's own.
    """
    if now >= gate.deadline and gate.policy != "keep_pending":
        return _decide_by_policy(gate)
    if decision is None or decision.status == "pending":
        return None
    return _decide_by_person(gate, decision, approver or decision.approver, now)


def is_repeated(gate: Gate, decision: ReviewDecision, *, approver: str | None) -> bool:
    """Return whether this person has decided the gate already, and has said the same."""
    if not gate.decision or decision.status == "pending":
        return False
    again = _decide_by_person(gate, decision, approver or decision.approver, 0.0)
    return all(again[name] == gate.decision[name] for name in _SAID)


def is_decision_of(gate: Gate, review: Review) -> bool:
    """Return whether the gate was decided, and so."""
    told = (*_SAID, "decided_at")
    return bool(gate.decision) and all(review.get(name) == gate.decision[name] for name in told)


def decide_by_threshold(
    candidates: Iterable[ReviewCandidate], *, threshold: float, now: float, round_number: int
) -> Review:
    """Return the decision of a run in which no person is asked."""
    return _review(
        _at_or_above(candidates, threshold),
        decided_by="threshold",
        decided_at=now,
        round_number=round_number,
    )


def _decide_by_policy(gate: Gate) -> Review:
    is_approved = gate.policy == "approve"
    return _review(
        _at_or_above(gate.candidates, gate.threshold) if is_approved else [],
        gate=gate,
        decided_by="deadline",
        decided_at=gate.deadline,
        round_number=gate.round,
    )


def _decide_by_person(
    gate: Gate, decision: ReviewDecision, approver: str | None, now: float
) -> Review:
    urls = [candidate["url"] for candidate in gate.candidates]
    candidates = {url_key(url): url for url in urls}
    added = {url_key(url): url for url in decision.added_urls}
    wanted = {url_key(url) for url in decision.approved_urls}
    if decision.status == "approved" and not wanted:
        wanted = {url_key(one["url"]) for one in gate.candidates if not reason_against(one)}
    chosen = [url for key, url in candidates.items() if key in wanted | added.keys()]
    status: ReviewStatus = decision.status
    if status != "rejected":
        status = "approved" if len(chosen) == len(urls) else "partial"
    return _review(
        chosen,
        gate=gate,
        status=status,
        added=[url for key, url in added.items() if key not in candidates],
        approver=approver,
        comment=decision.comment,
        decided_by="person",
        decided_at=now,
        round_number=gate.round,
    )


def _review(
    approved: list[str],
    *,
    decided_by: DecidedBy,
    decided_at: float,
    round_number: int,
    gate: Gate | None = None,
    status: ReviewStatus | None = None,
    added: Iterable[str] = (),
    approver: str | None = None,
    comment: str | None = None,
) -> Review:
    total = len(gate.candidates) if gate else len(approved)
    by_count: ReviewStatus = "rejected"
    if approved:
        by_count = "approved" if len(approved) == total else "partial"
    return {
        "gate_id": gate.gate_id if gate else None,
        "status": status or by_count,
        "approved_urls": approved,
        "added_urls": list(added),
        "approver": approver,
        "decided_by": decided_by,
        "comment": comment,
        "decided_at": iso_time(decided_at),
        "deadline": iso_time(gate.deadline) if gate else None,
        "round": round_number,
    }


def _at_or_above(candidates: Iterable[ReviewCandidate], threshold: float) -> list[str]:
    """Return the candidates from the threshold on, but for those that criteria or rules refuse."""
    return [
        one["url"]
        for one in candidates
        if one["embedding_rank_score"] >= threshold and not reason_against(one)
    ]


def reject_without_run(
    store: GateStore, gate: Gate, answer: ReviewDecision, *, approver: str | None
) -> Gate:
    """Store the rejection of a gate whose run is not found, and close the gate. Blocks.

    It counts after the deadline too, whose policy nobody carries out. Where the run is in other
    checkpoints, it obeys the stored decision. Raises AlreadyDecidedError.
    """
    timeless = replace(gate, policy="keep_pending")
    review = cast("Review", settle_review(timeless, answer, approver=approver, now=store.now()))
    decided = store.decide(gate.tenant_id, gate.gate_id, review)
    if not decided.is_new_decision:
        raise AlreadyDecidedError(describe_decided(decided))
    store.close(gate.tenant_id, gate.gate_id)
    return replace(decided, state="closed")


def require_gate(store: GateStore, tenant_id: str, gate_id: str) -> Gate:
    """Return a gate, open or decided. Blocks. Raises InputError."""
    gate = store.get(tenant_id, gate_id)
    if gate is None:
        raise InputError(f"Tenant {tenant_id!r} has no review {gate_id!r}.")
    return gate


def require_open_gate(store: GateStore, tenant_id: str, gate_id: str) -> Gate:
    """Return an open gate. Blocks. Raises InputError, AlreadyDecidedError for a decided one."""
    gate = require_gate(store, tenant_id, gate_id)
    if gate.state != "open":
        raise AlreadyDecidedError(describe_decided(gate))
    return gate


def describe_decided(gate: Gate) -> str:
    """Return by whom and how a gate was decided, as the refusal of another decision."""
    review = gate.decision
    whose = review["approver"] or "a person"
    by = "its deadline" if review["decided_by"] == "deadline" else whose
    return (
        f"The review {gate.gate_id} is decided already: {review['status']} by {by} at"
        f" {review['decided_at']}. Nothing was changed."
    )
