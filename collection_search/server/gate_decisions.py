"""Decisions about gates, whose runs go on after the answer."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fastapi import HTTPException

from ..contracts.review import GATE_NODE
from ..errors import AlreadyDecidedError, InputError
from ..graphs.collection_review import CollectionReviewGraph
from ..runtime.concurrency import offload
from ..tools.reviews import (
    describe_decided,
    is_repeated,
    reject_without_run,
    validate_decision,
)
from .opened import context_of
from .runs.views import view_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..context import SearchContext
    from ..contracts.review import Gate
    from ..contracts.server_run import ServerRun
    from .access import Caller
    from .app_tasks import AppTasks
    from .runs.manager import RunManager

_WRITTEN_S: Final = 5.0
"""Within this time a LangGraph server writes a decision that it has begun to process."""
_LOOK_S: Final = 0.05


class DecidedGate(NamedTuple):
    """What became of a decision."""

    output: Mapping[str, Any] | None
    """What the run ended with; None while it goes on."""
    run: dict[str, Any] | None = None
    """The run as the API shows it, where it is one of this server."""


async def find_gate(gate_id: str, caller: Caller, base: SearchContext) -> Gate:
    """Return the caller's gate. Raises HTTPException with status 404."""
    gate = await _stored_gate(gate_id, caller, base)
    if gate is None:
        raise HTTPException(404, f"There is no review {gate_id!r}.")
    return gate


async def find_next_gate(gate: Gate, caller: Caller, base: SearchContext) -> str | None:
    """Return the open gate at which the run of a closed one waits; None where it has ended."""
    gates = (await context_of(base, caller).storage()).gates
    waiting = await offload(gates.gates, caller.tenant, state="open", collection=gate.collection)
    return next((one.gate_id for one in waiting if one.thread_id == gate.thread_id), None)


async def decide_gate(
    gate: Gate,
    decision: Mapping[str, Any],
    *,
    caller: Caller,
    base: SearchContext,
    runs: RunManager | None,
    tasks: AppTasks,
) -> DecidedGate:
    """Decide an open gate and resume its run; return as soon as the decision is in force.

    A caller who says again what he has decided changes nothing: his client got no answer. `runs`
    executes the runs of this server, `tasks` those of other programs. Raises InputError for a
    decision that is not valid, HTTPException with status 409 for a gate that cannot be decided here
    or any more.
    """
    answer = validate_decision(gate, decision)
    if is_repeated(gate, answer, approver=caller.user):
        return await _as_decided(gate, runs)
    try:
        if runs and (run := await runs.decide(gate, decision, user=caller.user)):
            return DecidedGate(None, run=_view(run, runs))
        return DecidedGate(await _decide_elsewhere(gate, decision, caller, base, tasks))
    except AlreadyDecidedError as error:
        stored = await _decided_meanwhile(gate, caller, base)
        if stored is None or not is_repeated(stored, answer, approver=caller.user):
            said = describe_decided(stored) if stored and stored.decision else str(error)
            raise HTTPException(409, said) from error
        return await _as_decided(stored, runs)  # the same came twice at once
    except InputError as error:
        raise HTTPException(409, str(error)) from error


async def _decide_elsewhere(
    gate: Gate, decision: Mapping[str, Any], caller: Caller, base: SearchContext, tasks: AppTasks
) -> Mapping[str, Any] | None:
    """Decide the gate of another program's run and resume that; None while it goes on.

    Raises InputError where it cannot be decided.
    """
    begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def note(event: Any) -> None:
        is_decided = event["type"] == "node_finished" and event["node"] == GATE_NODE
        if is_decided and not begun.done():
            begun.set_result(None)

    if gate.host == "server":
        work = _decide_on_server(gate, decision, caller, base, note)
    else:
        graph = CollectionReviewGraph(context_of(base, caller))
        work = graph.adecide(gate.gate_id, decision, approver=caller.user, on_event=note)
    task = tasks.begin(work, name=f"run of {gate.gate_id}")
    either: set[asyncio.Future[Any]] = {task, begun}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    output = await task if task.done() else None
    return None if output and output.get("left_to_server") else output


async def _stored_gate(gate_id: str, caller: Caller, base: SearchContext) -> Gate | None:
    gates = (await context_of(base, caller).storage()).gates
    return await offload(gates.get, caller.tenant, gate_id)


async def _decided_meanwhile(gate: Gate, caller: Caller, base: SearchContext) -> Gate | None:
    """Return the gate as it is stored, with the decision that was first.

    A LangGraph server refuses a second answer before it has written the first one. So the decision
    about such a gate is waited for, but not for long: the gate may still be open.
    """
    until = time.monotonic() + (_WRITTEN_S if gate.host == "server" else 0.0)
    stored = await _stored_gate(gate.gate_id, caller, base)
    while stored is not None and stored.state == "open" and time.monotonic() < until:
        await asyncio.sleep(_LOOK_S)
        stored = await _stored_gate(gate.gate_id, caller, base)
    return stored


async def _as_decided(gate: Gate, runs: RunManager | None) -> DecidedGate:
    """Return what became of a gate that was decided before."""
    if runs and (run := await runs.find(gate.tenant_id, str(gate.thread_id))):
        return DecidedGate(None, run=_view(run, runs))
    return DecidedGate(None)


def _view(run: ServerRun, runs: RunManager) -> dict[str, Any]:
    return view_run(run, is_queued=runs.tasks.is_queued(run))


async def _decide_on_server(
    gate: Gate, decision: Mapping[str, Any], caller: Caller, base: SearchContext, note: Any
) -> Mapping[str, Any]:
    """Resume the gate's run on this process's LangGraph server, as a run of the caller.

    Where the server has no such thread, nothing can be ingested: a rejection is stored alone.
    """
    from ..adapters.langgraph_loopback import (
        LoopbackReviews,
        MissingThreadError,
        NotWaitingError,
        is_in_server,
    )

    if not is_in_server():
        raise InputError(
            f"The run of {gate.gate_id} is on a LangGraph server. Answer it there: in LangGraph"
            " Studio, on this page of that server, or by 'collection-search review --server"
            " ADDRESS'."
        )
    thread_id, user = str(gate.thread_id), None
    if base.using().server_auth:
        from .langgraph_auth import reviewer_of

        user = reviewer_of(caller, thread_id)
    try:
        return await LoopbackReviews(thread_id, user).adecide(
            gate.gate_id, {**decision, "approver": caller.user}, on_event=note
        )
    except MissingThreadError:
        if decision["status"] != "rejected":
            raise
        store = (await context_of(base, caller).storage()).gates
        answer = validate_decision(gate, decision)
        await offload(reject_without_run, store, gate, answer, approver=caller.user)
        return {"outcome": "review_rejected"}
    except NotWaitingError:
        store = (await context_of(base, caller).storage()).gates
        if not await offload(store.withdraw, gate.tenant_id, gate.gate_id):
            raise AlreadyDecidedError(f"The review {gate.gate_id} is decided already.") from None
        raise
