"""The collection review graph: as the search graph, but a person decides what is ingested."""

from __future__ import annotations

import logging
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NotRequired, cast

from ..context import SearchContext
from ..contracts.inputs import ReviewInput
from ..contracts.review import GATE_NODE, ReviewRequest
from ..contracts.state import CollectionReviewOutput
from ..errors import AlreadyDecidedError, InputError
from ..nodes.review_candidates import asks_for
from ..runtime.concurrency import offload, run_blocking
from ..settings.adapter_factory import adapter_of
from ..text.redaction import redact
from ..tools.public_arguments import validate_arguments
from ..tools.reviews import (
    describe_decided,
    require_gate,
    require_open_gate,
    settle_review,
    validate_decision,
)
from ..tools.served_runs import is_served
from .collection_search import REVIEW_NAME, build_graph, output_of
from .validating_graph import validate_input

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StateSnapshot

    from ..contracts.review import Gate, Review
    from ..contracts.state import CollectionSearchState
    from ..ports import GateStore

    OnEvent = Callable[[Any], None]
    Resume = Callable[[Gate], Awaitable[bool]]

logger = logging.getLogger(__name__)

NAME: Final = REVIEW_NAME
SPARE_S: Final = 300.0
"""A decided run that has not ended this long after the limit of its coverage check is resumed by a
sweep: its process died."""
_WITHDRAWN: Final = "The review is withdrawn, and nothing else was changed."
_REVIEWED: Final = frozenset(("ids", "started_at", "question", "collection_scope", "results"))
"""What the state of a run has when a person is asked."""

graph = build_graph(review=True)


class ReviewResult(CollectionReviewOutput):
    """The graph's output as the facade returns it."""

    thread_id: str
    request: ReviewRequest | None
    """What a person is asked, while the outcome is `review_pending`."""
    left_to_server: NotRequired[bool]
    """True where the review is decided, and the server that began the run goes on with it."""


class CollectionReviewGraph:
    """The review graph with a context of its own, and with checkpoints that outlive the process.

    They are in the settings' data folder, unless a `checkpointer` is given; there those of an
    ended run are deleted.
    """

    def __init__(
        self,
        context: SearchContext | None = None,
        *,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        validate_arguments(context=context)
        self.context = context or SearchContext(workflow_id=NAME)
        self._checkpointer = checkpointer

    def run(self, state: Mapping[str, Any]) -> ReviewResult:
        """Return what `arun` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.arun(state))

    async def arun(
        self, state: Mapping[str, Any], *, on_event: OnEvent | None = None
    ) -> ReviewResult:
        """Search and rank, and return at the gate: `request` is what a person is asked.

        `on_event` gets the events of the custom stream. Raises InputError naming each wrong field,
        ConfigError, StoreError. A failing provider, model or ingestion is an outcome.
        """
        given = validate_input(ReviewInput, state).model_dump()
        return await self._resume(f"review-{uuid.uuid4().hex}", given, on_event)

    def gates(self, *, collection: str | None = None) -> list[Gate]:
        """Return what `agates` returns. Blocks."""
        return run_blocking(self.agates(collection=collection))

    async def agates(self, *, collection: str | None = None) -> list[Gate]:
        """Return the tenant's open gates, the oldest first. Raises ConfigError, StoreError."""
        store = await self._gate_store()
        return await offload(
            store.gates, self.context.tenant(), state="open", collection=collection
        )

    async def agate(self, gate_id: str) -> Gate:
        """Return an open gate. Raises InputError, which says how a decided one was decided."""
        store = await self._gate_store()
        return await offload(require_open_gate, store, self.context.tenant(), gate_id)

    async def afind_gate(self, gate_id: str) -> Gate:
        """Return a gate, open or decided. Raises InputError for an unknown one."""
        store = await self._gate_store()
        return await offload(require_gate, store, self.context.tenant(), gate_id)

    def decide(
        self, gate_id: str, decision: Mapping[str, Any], *, approver: str | None = None
    ) -> ReviewResult:
        """Return what `adecide` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.adecide(gate_id, decision, approver=approver))

    async def adecide(
        self,
        gate_id: str,
        decision: Mapping[str, Any],
        *,
        approver: str | None = None,
        on_event: OnEvent | None = None,
    ) -> ReviewResult:
        """Decide an open gate, resume its run to its end or next gate, and return the output.

        `decision` has the fields of `ReviewDecision`; the status `pending` leaves the gate open, or
        after the deadline has its policy applied. A run of `collection-search serve` goes on in
        the server, and `left_to_server` says so. Raises InputError, and changes nothing, for an
        unknown gate, a decision that is not valid, one after the deadline, a gate at which its run
        does not wait any more, and a gate that was decided before: that is an AlreadyDecidedError,
        whose message says by whom.
        """
        gate = await self.agate(gate_id)
        if await is_served(self.context, gate):
            return await self._leave_to_server(gate, decision, approver)
        decided = await self.asettle(gate_id, decision, approver=approver)
        if decided.state != "open":
            return await self._finish(decided, on_event)
        return _result(str(decided.thread_id), await self._require_state(decided))

    async def _leave_to_server(
        self, gate: Gate, decision: Mapping[str, Any], approver: str | None
    ) -> ReviewResult:
        """Decide the gate of a server's run, and return the output that the run has so far."""
        state = await self._require_state(gate)  # the server may delete it after the decision
        result = _result(str(gate.thread_id), state)
        decided = await self.asettle(gate.gate_id, decision, approver=approver)
        if decided.state == "open":
            return result
        review = cast("Review", decided.decision)
        return {**result, "review": review, "request": None, "left_to_server": True}

    async def asettle(
        self, gate_id: str, decision: Mapping[str, Any], *, approver: str | None = None
    ) -> Gate:
        """Decide an open gate as `adecide` does, but leave its run to the caller to resume.

        Return the gate; it is still open where nothing was decided.
        """
        gate, store = await self.agate(gate_id), await self._gate_store()
        answer = validate_decision(gate, decision)
        state = await self._require_state(gate)
        if not _waits_at(gate, state):
            await self.agate(gate_id)  # raises where somebody has decided it meanwhile
            is_withdrawn = await self._withdraw(gate, state)
            raise InputError(
                f"The run of {gate_id} does not wait at this review any more: it has ended, or was"
                f" changed and asks anew. {_WITHDRAWN if is_withdrawn else 'Nothing was changed.'}"
            )
        now = await offload(store.now)
        review = settle_review(gate, answer, approver=approver, now=now)
        if review is None:
            return gate
        if review["decided_by"] == "deadline" and answer.status != "pending":
            await self.agate(gate_id)  # raises where it was decided meanwhile
            raise InputError(
                f"The deadline of {gate_id} was {review['deadline']}: its policy {gate.policy!r}"
                " decides now, and your answer changes nothing. A sweep carries it out."
            )
        decided = await offload(store.decide, gate.tenant_id, gate_id, review)
        if not decided.is_new_decision:
            raise AlreadyDecidedError(describe_decided(decided))
        return decided

    def sweep(self) -> list[Gate]:
        """Return what `asweep` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.asweep())

    async def asweep(self, resume: Resume | None = None) -> list[Gate]:
        """Apply the policy of every gate whose deadline has passed; return these gates.

        Runs that were decided but did not end, since their process died, are resumed as well. Gates
        of all tenants count whose runs are in these checkpoints; a LangGraph server's runs are not.
        Those of `collection-search serve` are resumed by the server alone. A run that fails is
        logged, and the others are resumed all the same. A host's `resume` gets each decided gate
        first, and returns whether it resumes the run by itself.
        """
        store, swept = await self._gate_store(), []
        for gate in await offload(store.unfinished):
            context = self.context.model_copy(update={"tenant_id": gate.tenant_id})
            owner = CollectionReviewGraph(context, checkpointer=self._checkpointer)
            try:
                is_left = resume is None and await is_served(context, gate)
                if is_left and gate.state != "open":
                    continue
                state = await owner._state_of(gate)
                if state and (decided := await owner._decide_overdue(gate, state, store)):
                    if not is_left and not (resume and await resume(decided)):
                        await owner._finish(decided, None)
                    swept.append(decided)
            except Exception as error:  # noqa: BLE001 - a run may fail in a host's adapter
                logger.warning("the run of %s failed: %s", gate.gate_id, redact(str(error)))
        return swept

    async def _decide_overdue(
        self, gate: Gate, state: StateSnapshot, store: GateStore
    ) -> Gate | None:
        """Return the gate whose run is to be resumed, decided; None where somebody else does it."""
        now = await offload(store.now)
        if gate.state != "open":
            limit_s = self.context.using().coverage_timeout_s + SPARE_S
            is_dead = gate.changed_at < now - limit_s
            return gate if is_dead and await offload(store.take_over, gate) else None
        review = settle_review(gate, None, approver=None, now=now)
        if review is None:
            return None
        if not _waits_at(gate, state):
            await self._withdraw(gate, state)
            return None
        decided = await offload(store.decide, gate.tenant_id, gate.gate_id, review)
        return decided if decided.is_new_decision else None

    async def _finish(self, gate: Gate, on_event: OnEvent | None) -> ReviewResult:
        """Resume the run of a decided gate, and close the gate."""
        return await self._resume(str(gate.thread_id), None, on_event, gate)

    async def _resume(
        self,
        thread_id: str,
        given: Mapping[str, Any] | None,
        on_event: OnEvent | None,
        gate: Gate | None = None,
    ) -> ReviewResult:
        """Run a thread, with `given` from its beginning, to its end or next gate."""
        config = _config(thread_id)
        async with self._compiled() as compiled:
            events = compiled.astream(
                given, config, context=self.context, stream_mode="custom", durability="sync"
            )
            async for event in events:
                if on_event is not None:
                    on_event(event)
            result = _result(thread_id, await compiled.aget_state(config))
            if gate is not None:
                store = await self._gate_store()
                await offload(store.close, gate.tenant_id, gate.gate_id)
            if result["request"] is None and self._checkpointer is None:
                await compiled.checkpointer.adelete_thread(thread_id)  # type: ignore[union-attr]
        return result

    async def _withdraw(self, gate: Gate, state: StateSnapshot) -> bool:
        """Withdraw a gate at which its run does not wait; return whether that is certain.

        Another run on a thread of this name may be another program's, and a run that is before the
        gate may be about to come to it.
        """
        is_its_run = state.values["ids"]["run_id"] == gate.run_id
        if not is_its_run or (state.next and GATE_NODE not in state.next):
            return False
        store = await self._gate_store()
        return await offload(store.withdraw, gate.tenant_id, gate.gate_id)

    async def _require_state(self, gate: Gate) -> StateSnapshot:
        """Return the state of the gate's run. Raises InputError where it is not found here."""
        if (state := await self._state_of(gate)) is not None:
            return state
        await self.agate(gate.gate_id)  # raises where it was decided meanwhile
        raise InputError(
            f"The run of {gate.gate_id} is not in the checkpoints of this data folder. Answer it"
            " where it runs: on its LangGraph server, or in the program that started it."
        )

    async def _state_of(self, gate: Gate) -> StateSnapshot | None:
        """Return the state of the gate's run; None where these checkpoints do not have it.

        A thread of a host's graph has the host's state, and only that graph can go on with it.
        """
        if gate.host == "server" or gate.thread_id is None:
            return None
        async with self._compiled() as compiled:
            state = await compiled.aget_state(_config(gate.thread_id))
        return state if state.values.keys() >= _REVIEWED else None

    async def _gate_store(self) -> GateStore:
        return (await self.context.storage()).gates

    @asynccontextmanager
    async def _compiled(self) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
        if self._checkpointer is not None:
            yield build_graph(review=True, checkpointer=self._checkpointer)
            return
        settings = self.context.using()
        checkpoints = await adapter_of(settings, "checkpoints", settings.engine)
        async with checkpoints.open() as saver:
            yield build_graph(review=True, checkpointer=saver)


def _waits_at(gate: Gate, state: StateSnapshot) -> bool:
    """Return whether the run waits at an open gate, or will as soon as it goes on."""
    return GATE_NODE in state.next and asks_for(gate, cast("CollectionSearchState", state.values))


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def _result(thread_id: str, state: StateSnapshot) -> ReviewResult:
    output: dict[str, Any] = dict(output_of(state.values, CollectionReviewOutput))
    request = next((interrupt.value for interrupt in state.interrupts), None)
    return {**output, "thread_id": thread_id, "request": request}  # type: ignore[typeddict-item]
