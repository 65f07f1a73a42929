"""The collection search graph: a question in, ranked pages out, the best of them ingested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..context import SearchContext
from ..contracts.inputs import GraphInput
from ..contracts.state import CollectionSearchOutput, CollectionSearchState
from ..nodes.auto_ingest import auto_ingest
from ..nodes.embedding_rank import embedding_rank
from ..nodes.generate_strategy import generate_strategy
from ..nodes.parallel_web_search import parallel_web_search
from ..runtime.concurrency import run_blocking
from ..tools.public_arguments import validate_arguments
from .runnables import compile_stages, has_no_outcome, validate_input

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StreamMode

NAME = "collection_search"


def build_graph(**compile_options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph; `compile_options` (checkpointer, cache ...) go to `compile`.

    It runs by `invoke`, `ainvoke`, `stream` and `astream`, alone or as a node of another graph.
    """
    return compile_stages(
        NAME,
        {
            "k_generate_strategy": generate_strategy,
            "k_parallel_web_search": parallel_web_search,
            "k_embedding_rank": embedding_rank,
            "k_auto_ingest": auto_ingest,
        },
        {"k_embedding_rank": has_no_outcome, "k_auto_ingest": _is_ingestion_asked},
        schemas=(CollectionSearchState, GraphInput, CollectionSearchOutput),
        **compile_options,
    )


def _is_ingestion_asked(state: CollectionSearchState) -> bool:
    return state["auto_ingest"]


graph = build_graph()


class CollectionSearchGraph:
    """The graph with a context of its own: the shortest way to run it from Python."""

    def __init__(self, context: SearchContext | None = None) -> None:
        validate_arguments(context=context)
        self.context = context or SearchContext()
        self.graph = graph

    def run(self, state: Mapping[str, Any]) -> tuple[dict[str, Any], CollectionSearchOutput]:
        """Return the final state and the graph's output.

        Raises InputError naming each wrong field, ConfigError for wrong settings. A failing
        provider, model or ingestion is an outcome, not an exception.
        """
        return run_blocking(self.arun(state))

    async def arun(self, state: Mapping[str, Any]) -> tuple[dict[str, Any], CollectionSearchOutput]:
        """Return what `run` returns, from within an event loop."""
        final: dict[str, Any] = {}
        async for _, values in self.astream(state, stream_mode=["values"]):
            final = values
        return final, output_of(final)

    async def astream(
        self, state: Mapping[str, Any], *, stream_mode: Sequence[StreamMode]
    ) -> AsyncIterator[Any]:
        """Yield `(mode, chunk)` pairs of one run; `values` chunks hold the whole state."""
        given = validate_input(GraphInput, state).model_dump()
        async for item in self.graph.astream(
            given,
            context=self.context,
            stream_mode=list(stream_mode),
            output_keys=list(CollectionSearchState.__annotations__),
        ):
            yield item


def output_of(state: Mapping[str, Any]) -> CollectionSearchOutput:
    """Return the output part of a final state."""
    return {key: state[key] for key in CollectionSearchOutput.__annotations__}  # type: ignore[return-value]
