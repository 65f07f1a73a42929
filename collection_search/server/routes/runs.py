"""Runs: started, listed, followed, cancelled, and resumed at their gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Header, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from ...contracts.server_run import RunGraph
from ..access import Caller, IsAllowed, Reviewer, Viewer  # noqa: TC001 - FastAPI reads it
from ..app_tasks import Tasks  # noqa: TC001
from ..gate_decisions import decide_gate, find_gate
from ..numbers import Count, HeaderCount  # noqa: TC001
from ..opened import Base  # noqa: TC001
from ..places import HiddenPlaces  # noqa: TC001
from ..runs.current import Runs  # noqa: TC001
from ..runs.event_stream import follow_run
from ..runs.result_facts import read_result_facts
from ..runs.views import view_run
from ..sse import stream_events

if TYPE_CHECKING:
    from ...contracts.server_run import ServerRun
    from ..runs.manager import RunManager

router = APIRouter(prefix="/runs", tags=["runs"])


class RunRequest(BaseModel):
    """A run to start."""

    model_config = ConfigDict(extra="forbid")

    graph: RunGraph = "collection_search"
    input: dict[str, Any] = Field(description="The graph's input.")
    context: dict[str, Any] | None = Field(
        default=None, description="Provider, model, ceiling of the cost and other choices."
    )


class GateAnswer(BaseModel):
    """The answer to the gate at which a run waits."""

    model_config = ConfigDict(extra="forbid")

    decision: dict[str, Any] = Field(description="The fields of a decision.")


@router.post("", status_code=201)
async def start_run(request: RunRequest, caller: Reviewer, runs: Runs) -> dict[str, Any]:
    """Return the new run, which goes on in the background."""
    run = await runs.start(
        caller.tenant, caller.user, request.graph, request.input, request.context
    )
    return view_run(run, is_queued=runs.tasks.is_queued(run))


@router.get("")
async def list_runs(
    caller: Viewer, runs: Runs, limit: Annotated[int, Query(ge=1, le=500)] = 20
) -> dict[str, Any]:
    """Return the tenant's last runs, the newest first, without their output."""
    found = await runs.recent(caller.tenant, limit=limit)
    shown = [view_run(run, is_queued=runs.tasks.is_queued(run), is_short=True) for run in found]
    return {"runs": shown}


@router.get("/{run_id}")
async def show_run(run_id: str, caller: Viewer, runs: Runs) -> dict[str, Any]:
    """Return a run with its output, and `result_facts`: by URL, date and whether it is stored."""
    run = await find_run(runs, caller, run_id)
    facts = await read_result_facts(run, await runs.context_of(caller.tenant))
    return {**view_run(run, is_queued=runs.tasks.is_queued(run)), "result_facts": facts}


@router.get("/{run_id}/events", response_class=Response)
async def run_events(
    run_id: str,
    caller: Viewer,
    runs: Runs,
    is_allowed: IsAllowed,
    places: HiddenPlaces,
    *,
    after: Annotated[Count, Query()] = 0,
    last_event_id: Annotated[HeaderCount, Header()] = 0,
) -> Response:
    """Send the run's events from its beginning, or after a number, until its end."""
    await find_run(runs, caller, run_id)
    first = max(after, last_event_id)
    return stream_events(follow_run(runs, caller.tenant, run_id, after=first), is_allowed, places)


@router.post("/{run_id}/cancel")
async def cancel_run(run_id: str, caller: Reviewer, runs: Runs) -> dict[str, Any]:
    """End a run; its calls in progress are given up."""
    run = await find_run(runs, caller, run_id)
    if not await runs.tasks.cancel(run, caller.user):
        ended = await find_run(runs, caller, run_id)
        raise HTTPException(409, f"The run has ended already: it is {ended.status}.")
    return view_run(await find_run(runs, caller, run_id))


@router.post("/{run_id}/resume", status_code=202)
async def resume_run(
    run_id: str, answer: GateAnswer, *, caller: Reviewer, runs: Runs, base: Base, tasks: Tasks
) -> dict[str, Any]:
    """Decide the gate at which the run waits; the run goes on in the background."""
    run = await find_run(runs, caller, run_id)
    if run.status != "waiting" or run.gate_id is None:
        raise HTTPException(409, f"The run does not wait for a decision: it is {run.status}.")
    gate = await find_gate(run.gate_id, caller, base)
    decided = await decide_gate(
        gate, answer.decision, caller=caller, base=base, runs=runs, tasks=tasks
    )
    return decided.run or view_run(run)


async def find_run(runs: RunManager, caller: Caller, run_id: str) -> ServerRun:
    """Return a run of the caller's tenant. Raises HTTPException with status 404."""
    run = await runs.find(caller.tenant, run_id)
    if run is None:
        raise HTTPException(404, f"There is no run {run_id!r}.")
    return run
