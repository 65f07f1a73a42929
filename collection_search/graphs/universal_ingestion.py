"""The universal ingestion graph: pages from a search or a list, staged and ingested."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import ensure_config, set_config_context

from ..context import SearchContext
from ..contracts.ingestion import Ticket
from ..contracts.ingestion_state import IngestionOutput, IngestionState
from ..contracts.inputs import IngestionInput
from ..errors import CollectionSearchError, IngestError
from ..nodes.acquire import acquire
from ..nodes.ingest_candidates import ingest_candidates
from ..nodes.select_candidates import select_candidates
from ..nodes.stage_candidates import stage_candidates
from ..runtime.concurrency import run_blocking
from ..tools.public_arguments import validate_arguments
from .runnables import compile_stages, unless_ended
from .validating_graph import validate_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from ..contracts.ingestion import IngestionRequest

NAME = "universal_ingestion"


def build_graph(**compile_options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph; `compile_options` (checkpointer, cache ...) go to `compile`."""
    return compile_stages(
        NAME,
        {
            "k_acquire": acquire,
            "k_select": select_candidates,
            "k_stage": stage_candidates,
            "k_ingest": ingest_candidates,
        },
        {
            "k_select": unless_ended("k_stage", goes_on="pages chosen", ends="no pages"),
            "k_stage": unless_ended("k_ingest", goes_on="ingest now", ends="only acquire"),
        },
        schemas=(IngestionState, IngestionInput, IngestionOutput),
        **compile_options,
    )


graph = build_graph()


class UniversalIngestionGraph:
    """The graph with a context of its own: the shortest way to run it from Python."""

    def __init__(self, context: SearchContext | None = None) -> None:
        validate_arguments(context=context)
        self.context = context or SearchContext()
        self.graph = graph

    def run(self, state: Mapping[str, Any]) -> IngestionOutput:
        """Return the graph's output.

        Raises InputError naming each wrong field or an unknown session, ConfigError, StoreError.
        A failing provider is an outcome. An ingestion that could not be started is the flag
        `ingestion_failed`: the pages stay staged.
        """
        return run_blocking(self.arun(state))

    async def arun(self, state: Mapping[str, Any]) -> IngestionOutput:
        """Return what `run` returns, from within an event loop."""
        given = validate_input(IngestionInput, state).model_dump(mode="json")
        output: IngestionOutput = await self.graph.ainvoke(given, context=self.context)  # type: ignore[assignment]
        return output


class GraphTrigger:
    """Starts ingestions by the graph: implements `collection_search.ports.IngestionTrigger`."""

    def __init__(self, context: SearchContext) -> None:
        self._context = context

    async def trigger(self, request: IngestionRequest) -> Ticket:
        """Return the durable receipt. Raises `IngestError`; nothing was accepted then."""
        context = self._context.model_copy(
            update={
                "tenant_id": request.scope.tenant_id,
                "run_id": request.run_id or self._context.run_id,
                "trace_id": request.trace_id or self._context.trace_id,
            }
        )
        given = {
            "source": "preselected",
            "mode": "acquire_and_ingest",
            "selection": "all",
            "collection_scope": request.scope.collection,
            "preselected_results": [
                {
                    "url": item.url,
                    "title": item.title,
                    "content_ref": item.content_ref,
                    "provenance": dict(item.provenance),
                }
                for item in request.items
            ],
        }
        try:
            output = await _run_apart(UniversalIngestionGraph(context), given)
        except CollectionSearchError as error:
            raise IngestError(f"The ingestion could not be started. {error}") from error
        receipt = output["ingestion"]
        if receipt is None or receipt["ticket"] is None:
            cause = receipt["error"] if receipt else None
            raise IngestError(cause["message"] if cause else "There are no pages to ingest.")
        return Ticket(
            ticket_id=receipt["ticket"],
            tenant_id=request.scope.tenant_id,
            collection=receipt["collection"],
            count=receipt["count"],
        )


async def _run_apart(graph: UniversalIngestionGraph, given: Mapping[str, Any]) -> IngestionOutput:
    """Return the output of a run that takes nothing from the node that starts it but its callbacks.

    That node is repeated as a whole, so the run needs no checkpoints; and it must not inherit a
    `durability` that needs some.
    """
    config = ensure_config()
    kept: RunnableConfig = {
        "callbacks": config.get("callbacks"),
        "tags": config.get("tags", []),
        "metadata": config.get("metadata", {}),
    }
    with set_config_context(kept) as apart:
        return await asyncio.get_running_loop().create_task(graph.arun(given), context=apart)
