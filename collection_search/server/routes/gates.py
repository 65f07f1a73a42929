"""Reviews that wait for a person: listed, shown and decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ...contracts.review import (
    DeadlinePolicy,
    GateState,
    Review,
    ReviewDecision,
    ReviewRequest,
)
from ...runtime.concurrency import offload
from ...text.timestamps import iso_time
from ...tools.reviews import build_review_request
from ..access import Reviewer, Viewer  # noqa: TC001 - FastAPI reads it
from ..app_tasks import Tasks  # noqa: TC001
from ..gate_decisions import decide_gate, find_gate, find_next_gate
from ..numbers import Count  # noqa: TC001
from ..opened import Base, context_of

if TYPE_CHECKING:
    from ...contracts.review import Gate
    from ...contracts.stored_lists import WaitingGate

router = APIRouter(tags=["gates"])

GateId = Annotated[str, Path(max_length=200)]


class GateSummary(BaseModel):
    """A review in the list."""

    gate_id: str
    question: str
    collection: str
    round: int
    candidate_count: int
    threshold: float
    deadline: str
    policy: DeadlinePolicy = Field(description="What happens at the deadline.")
    opened_at: str
    host: Literal["process", "server"] = Field(
        description="Whether the run is in a program of this machine or on a LangGraph server."
    )


class GateList(BaseModel):
    """A part of the open reviews, the oldest first."""

    total: int
    gates: list[GateSummary]


class GateDetail(ReviewRequest):
    """A review with its candidates, open or decided."""

    policy: DeadlinePolicy
    opened_at: str
    state: GateState
    run_id: str
    host: str
    decision: Review | None


class PersonsDecision(BaseModel):
    """A decision of the caller; who decided is the authenticated user."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["approved", "rejected", "partial"] = Field(
        description=ReviewDecision.model_fields["status"].description
    )
    approved_urls: list[str] = Field(default_factory=list, max_length=1000)
    added_urls: list[str] = Field(default_factory=list, max_length=1000)
    comment: str | None = Field(default=None, max_length=2000)
    approver: str | None = Field(
        default=None, max_length=200, description="Not read: it is the authenticated user."
    )


class GateOutcome(BaseModel):
    """What became of a decision."""

    gate_id: str
    status: Literal["running", "done", "waiting"] = Field(
        description="Running: the run goes on. Waiting: it asks a person again."
    )
    outcome: str | None = Field(description="The word by which the run says how it ended.")
    review: Review | None = Field(description="The decision in force.")
    next_gate_id: str | None = None


@router.get("/gates")
async def list_gates(
    caller: Viewer,
    base: Base,
    offset: Annotated[Count, Query()] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    collection: Annotated[str | None, Query(max_length=200)] = None,
) -> GateList:
    """Return the reviews that wait for a person, the oldest first."""
    gates = (await context_of(base, caller).storage()).gates
    page = await offload(
        gates.waiting, caller.tenant, collection=collection, offset=offset, limit=limit
    )
    return GateList(total=page.total, gates=[_summary(one) for one in page.gates])


@router.get("/gates/{gate_id}")
async def read_gate(gate_id: GateId, caller: Viewer, base: Base) -> GateDetail:
    """Return one review: its candidates with their scores, and the decision if there is one."""
    return await offload(_detail, await find_gate(gate_id, caller, base))


@router.post("/gates/{gate_id}/decision", status_code=202)
async def decide(
    gate_id: GateId,
    caller: Reviewer,
    base: Base,
    request: Request,
    *,
    tasks: Tasks,
    decision: PersonsDecision,
) -> GateOutcome | dict[str, Any]:
    """Decide a review. The answer comes when the decision is in force; the run then goes on.

    For a run of this server it is the run, as `GET /runs/{run_id}` returns it. The same decision of
    the same user may be sent again: the answer is how the review stands.
    """
    gate, runs = await find_gate(gate_id, caller, base), getattr(request.app.state, "runs", None)
    given = decision.model_dump(exclude={"approver"})
    decided = await decide_gate(gate, given, caller=caller, base=base, runs=runs, tasks=tasks)
    if decided.run is not None:
        return decided.run
    stored = await find_gate(gate_id, caller, base)
    is_running = decided.output is None and stored.state != "closed"
    following = None if is_running else await find_next_gate(stored, caller, base)
    return GateOutcome(
        gate_id=gate_id,
        status="running" if is_running else "waiting" if following else "done",
        outcome=decided.output["outcome"] if decided.output else None,
        review=stored.decision or None,  # type: ignore[arg-type]
        next_gate_id=following,
    )


def _summary(gate: WaitingGate) -> GateSummary:
    return GateSummary.model_validate(
        gate._asdict()
        | {"deadline": iso_time(gate.deadline), "opened_at": iso_time(gate.opened_at)}
    )


def _detail(gate: Gate) -> GateDetail:
    return {
        **build_review_request(gate),
        "policy": gate.policy,
        "opened_at": iso_time(gate.opened_at),
        "state": gate.state,
        "run_id": gate.run_id,
        "host": gate.host,
        "decision": gate.decision or None,  # type: ignore[typeddict-item]
    }
