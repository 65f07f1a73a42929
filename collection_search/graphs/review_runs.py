"""Runs of the review graph on their checkpoints: executed, read, and withdrawn."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NotRequired, cast

from ..contracts.review import GATE_NODE, ReviewRequest
from ..contracts.state import CollectionReviewOutput
from ..errors import ConfigError
from ..nodes.review_candidates import asks_for
from ..nodes.stage import add_entry
from ..runtime.concurrency import offload
from ..settings.adapter_factory import adapter_of
from .collection_search import build_graph, output_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StateSnapshot

    from ..context import SearchContext
    from ..contracts.review import Gate, Review
    from ..contracts.state import CollectionSearchState

    OnEvent = Callable[[Any], None]

_REVIEWED: Final = frozenset(("ids", "started_at", "question", "collection_scope", "results"))
"""What the state of a run has when a person is asked."""


class ReviewResult(CollectionReviewOutput):
    """The graph's output as the facade returns it."""

    thread_id: str
    request: ReviewRequest | None
    """What a person is asked, while the run waits at a gate."""
    left_to_server: NotRequired[bool]
    """True where the review is decided, and the server that began the run goes on with it. The
    outcome is `review_pending` until it does, and nothing is asked any more."""


class ReviewRuns:
    """The runs that one context begins or goes on with.

    Their checkpoints are in the settings' data folder, unless a checkpointer is given; there those
    of an ended run are deleted.
    """

    def __init__(
        self, context: SearchContext, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> None:
        self._context = context
        self._checkpointer = checkpointer

    async def begin(
        self, thread_id: str, given: Mapping[str, Any], on_event: OnEvent | None
    ) -> ReviewResult:
        """Run a new thread to its end or first gate. Raises what the graph raises."""
        return await self._run(thread_id, given, on_event)

    async def finish(self, gate: Gate, on_event: OnEvent | None = None) -> ReviewResult:
        """Resume the run of a decided gate to its end or next gate, and close the gate."""
        return await self._run(str(gate.thread_id), None, on_event, gate)

    async def find_state(self, gate: Gate) -> StateSnapshot | None:
        """Return the state of the gate's run; None where these checkpoints do not have it.

        A thread of a host's graph has the host's state, and only that graph can go on with it.
        """
        if gate.host == "server" or gate.thread_id is None:
            return None
        async with self._compiled(gate.thread_id) as compiled:
            state = await compiled.aget_state(_config(gate.thread_id))
        return state if state.values.keys() >= _REVIEWED else None

    async def withdraw(self, gate: Gate, state: StateSnapshot) -> bool:
        """Withdraw a gate at which its run does not wait; return whether that is certain.

        Another run on a thread of this name may be another program's, and a run that is before the
        gate may be about to come to it.
        """
        is_its_run = state.values["ids"]["run_id"] == gate.run_id
        if not is_its_run or (state.next and GATE_NODE not in state.next):
            return False
        store = (await self._context.storage()).gates
        return await offload(store.withdraw, gate.tenant_id, gate.gate_id)

    async def _run(
        self,
        thread_id: str,
        given: Mapping[str, Any] | None,
        on_event: OnEvent | None,
        gate: Gate | None = None,
    ) -> ReviewResult:
        config = _config(thread_id)
        async with self._compiled(thread_id) as compiled:
            events = compiled.astream(
                given, config, context=self._context, stream_mode="custom", durability="sync"
            )
            async for event in events:
                if on_event is not None:
                    on_event(event)
            result = result_of(thread_id, await compiled.aget_state(config))
            if gate is not None:
                store = (await self._context.storage()).gates
                await offload(store.close, gate.tenant_id, gate.gate_id)
            if result["request"] is None and self._checkpointer is None:
                await compiled.checkpointer.adelete_thread(thread_id)  # type: ignore[union-attr]
        return result

    @asynccontextmanager
    async def _compiled(
        self, thread_id: str
    ) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
        if self._checkpointer is not None:
            try:
                yield build_graph(review=True, checkpointer=self._checkpointer)
            except NotImplementedError:
                await _require_async(self._checkpointer, thread_id)
                raise
            return
        settings = self._context.using()
        checkpoints = await adapter_of(settings, "checkpoints", settings.engine)
        async with checkpoints.open() as saver:
            yield build_graph(review=True, checkpointer=saver)


async def _require_async(checkpointer: BaseCheckpointSaver[Any], thread_id: str) -> None:
    """Raise ConfigError for a checkpointer that can be used by blocking calls only."""
    try:
        await checkpointer.aget_tuple(_config(thread_id))
    except NotImplementedError as error:
        raise ConfigError(
            f"{type(checkpointer).__name__} has no asynchronous methods, which a review needs. Give"
            " a checkpointer that has them, such as AsyncSqliteSaver; 'run' and 'decide' block all"
            " the same."
        ) from error


def waits_at(gate: Gate, state: StateSnapshot) -> bool:
    """Return whether the run waits at an open gate, or will as soon as it goes on."""
    return GATE_NODE in state.next and asks_for(gate, cast("CollectionSearchState", state.values))


def result_of(thread_id: str, state: StateSnapshot) -> ReviewResult:
    """Return the output of a run that has ended, or waits at a gate."""
    output: dict[str, Any] = dict(output_of(state.values, CollectionReviewOutput))
    request = next((interrupt.value for interrupt in state.interrupts), None)
    return {**output, "thread_id": thread_id, "request": request}  # type: ignore[typeddict-item]


def rejected_without_run(gate: Gate) -> ReviewResult:
    """Return the output for a rejected gate whose run is not in these checkpoints."""
    return {
        "outcome": "review_rejected",
        "summary": "The review is rejected. Its run is not in the checkpoints of this data folder.",
        "question": gate.question,
        "strategy": {"queries": [], "fallback": False, "model": None, "error": None},
        "search": {
            "provider": "",
            "provider_reason": "",
            "queries": [],
            "errors": [],
            "routing": [],
            "result_count": 0,
            "notices": [],
        },
        "results": [],
        "ingestion": None,
        "flags": [],
        "telemetry": add_entry(None, str(gate.trace_id), {"node_name": GATE_NODE, "cost_usd": 0.0}),
        "review": cast("Review", gate.decision),
        "coverage": None,
        "thread_id": str(gate.thread_id),
        "request": None,
    }


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}
