"""Execution of a run: the graph on its checkpoints, and each event into the store."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from langgraph.graph import START

from ...contracts.state import CollectionReviewOutput, CollectionSearchOutput
from ...errors import StoreError
from ...graphs.collection_search import build_graph, output_of
from ...nodes.summary_sentences import summarize
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure
from ...text.question_mask import QuestionMask
from ...text.redaction import error_message
from ..places import places_of
from .caller_choices import read_run_choices
from .event_writer import write_events

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import Durability, StateSnapshot

    from ...context import SearchContext
    from ...contracts.server_run import RunChange, RunEvent, RunProblem, ServerRun
    from ...ports.run_store import RunStore
    from ..places import Places
    from .changes import Changes

_DURABILITY: Final[dict[str, Durability]] = {
    "collection_search": "async",
    "collection_review": "sync",
}
"""A run that may wait for days loses no step."""
_OUTPUTS: Final[dict[str, type[Any]]] = {
    "collection_search": CollectionSearchOutput,
    "collection_review": CollectionReviewOutput,
}
_INTERRUPTED: Final[RunProblem] = {
    "type": "Interrupted",
    "message": "The server's process ended before the run's input was kept. Start it again.",
}
NO_END: Final[RunChange] = {
    "status": "failed",
    "error": {
        "type": "Interrupted",
        "message": "The run was ended several times before it had a result. Start it again.",
    },
}
"""The change of a run that must not be executed any more."""

logger = logging.getLogger(__name__)


class RunLost(Exception):  # noqa: N818 - an end, no mistake
    """The run is not this process's any more: it was cancelled or taken over by another one."""


def may_pass(error: Exception) -> bool:
    """Return whether the error comes from an outage of a store, which may be over later."""
    return isinstance(error, StoreError) and error.retryable


def compile_graphs(checkpointer: Any) -> dict[str, CompiledStateGraph[Any, Any, Any, Any]]:
    """Return the graphs that the server runs."""
    return {
        "collection_search": build_graph(checkpointer=checkpointer),
        "collection_review": build_graph(review=True, checkpointer=checkpointer),
    }


@dataclass(frozen=True, slots=True)
class GraphRuns:
    """Executes runs for one owner."""

    base: SearchContext
    graphs: Mapping[str, CompiledStateGraph[Any, Any, Any, Any]]
    store: RunStore
    owner: str
    changes: Changes

    async def execute(
        self, run: ServerRun, context: SearchContext | None = None, *, may_retry: bool = False
    ) -> RunChange:
        """Run the graph from its last checkpoint to its end or next gate; return what became of it.

        Without a context the run's own choices are read again. An error of the run is part of what
        is returned. Raises RunLost, and StoreError when the run may go on after an outage.
        """
        try:
            kept = await self.graphs[run.graph].aget_state(_config(run))
            if not kept.values:
                return {"status": "interrupted", "error": _INTERRUPTED}
            masks = await offload(QuestionMask.of, kept.values)
            return await self._executed(
                run, context or await read_run_choices(self.base, run), masks
            )
        except RunLost:
            raise
        except Exception as error:
            if may_retry and may_pass(error):
                raise
            log_failure(logger, f"The run {run.run_id} failed", error, level=logging.ERROR)
            return self.describe_failure(error)

    @property
    def checkpointer(self) -> Any:
        """Return where the graphs keep their checkpoints."""
        return self.graphs["collection_review"].checkpointer

    async def keep_input(self, run: ServerRun, given: Mapping[str, Any]) -> None:
        """Keep the input as the run's first checkpoint, from which any process can execute it."""
        await self.graphs[run.graph].aupdate_state(_config(run), dict(given), as_node=START)

    async def forget(self, run: ServerRun) -> None:
        """Delete the run's checkpoints."""
        await self.checkpointer.adelete_thread(run.run_id)

    async def change(self, run: ServerRun, change: RunChange, **conditions: Any) -> bool:
        """Change the stored run as `RunStore.change` does, and tell those who follow it."""
        is_changed = await offload(
            self.store.change, run.tenant_id, run.run_id, change, **conditions
        )
        self.changes.tell(run.run_id)
        return is_changed

    def describe_failure(self, error: Exception) -> RunChange:
        """Return the change of a run that this error has ended, without places of the server."""
        said = self._places().hide(error_message(error))
        problem: RunProblem = {"type": type(error).__name__, "message": said}
        return {"status": "failed", "error": problem}

    async def _tell(self, run: ServerRun, masks: QuestionMask, events: Sequence[RunEvent]) -> None:
        """Store events. Raises RunLost."""
        if not await offload(self._append, run, masks, events):
            raise RunLost(run.run_id)
        self.changes.tell(run.run_id)

    def _append(self, run: ServerRun, masks: QuestionMask, events: Sequence[RunEvent]) -> bool:
        """Mask and store events; False where the run is not this owner's. Blocks."""
        shown = self._places().hide_in(masks.mask(events))
        return self.store.append(run.tenant_id, run.run_id, shown, owner=self.owner)

    async def _executed(
        self, run: ServerRun, context: SearchContext, masks: QuestionMask
    ) -> RunChange:
        graph, config = self.graphs[run.graph], _config(run)
        stream = graph.astream(
            None,
            config,
            context=context,
            stream_mode="custom",
            durability=_DURABILITY[run.graph],
        )
        async with (
            write_events(partial(self._tell, run, masks)) as writer,
            aclosing(cast("AsyncGenerator[Any, None]", stream)) as events,
        ):
            async for event in events:  # a lost run has written its last when it is closed
                writer.add(event)
        return await offload(_result, run, await graph.aget_state(config), masks, self._places())

    def _places(self) -> Places:
        """Return what no run tells: its callers may be no operators. The log has whole errors."""
        return places_of(self.base)


def _config(run: ServerRun) -> RunnableConfig:
    return {"configurable": {"thread_id": run.run_id}}


def _result(run: ServerRun, state: StateSnapshot, masks: QuestionMask, places: Places) -> RunChange:
    """Return the change of a run that ended or waits; masking takes time."""
    values = state.values
    output: dict[str, Any] = places.hide_in(masks.mask(output_of(values, _OUTPUTS[run.graph])))
    change: RunChange = {
        "status": "done",
        "outcome": output["outcome"],
        "output": output,
        "pages": masks.mask(_pages(values)),
    }
    request = next((interrupt.value for interrupt in state.interrupts), None)
    if request is not None:
        change |= {"status": "waiting", "gate_id": request["gate_id"]}
    return change


def reject_output(run: ServerRun) -> RunChange:
    """Return the change of a run that was cancelled at its gate, which is rejected thereby."""
    output = {**(run.output or {}), "outcome": "review_rejected"}
    output["summary"] = summarize({**run.given, **output}, output["telemetry"])
    return {"outcome": "review_rejected", "output": output}


def _pages(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the results as `preselected_results` of an ingestion."""
    found = {one["url"]: one for one in values.get("candidates") or []}
    pages = []
    for rank, result in enumerate(values.get("results") or [], start=1):
        page = {name: value for name, value in result.items() if name in _RESULT_FACTS}
        candidate = found.get(result["url"], {})
        page |= {name: candidate[name] for name in _CANDIDATE_FACTS if name in candidate}
        pages.append({**page, "rank": rank})
    return pages


_CANDIDATE_FACTS: Final = ("content_ref", "query", "provider", "published_date")
_RESULT_FACTS: Final = (
    *("url", "title", "snippet", "source", "is_pdf"),
    *("embedding_rank_score", "embedding_similarity", "heuristic_score"),
)
