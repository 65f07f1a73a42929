"""The collection search graph: a question in, ranked pages out, the best of them ingested."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from langgraph.graph import END

from ..context import SearchContext
from ..contracts.inputs import ReviewInput, RoundsInput, SearchInput
from ..contracts.state import (
    CollectionReviewOutput,
    CollectionSearchOutput,
    CollectionSearchState,
)
from ..errors import InputError
from ..nodes.auto_ingest import auto_ingest
from ..nodes.check_criteria import check_criteria
from ..nodes.embedding_rank import embedding_rank
from ..nodes.generate_strategy import generate_strategy
from ..nodes.parallel_web_search import parallel_web_search
from ..nodes.premium_rank import premium_rank
from ..runtime.concurrency import run_blocking
from ..settings.preloading import preload
from ..tools.public_arguments import validate_arguments
from .runnables import (
    Route,
    StageNode,
    compile_stages,
    if_outcome,
    unless_ended,
    with_outcome,
    with_thread,
)
from .validating_graph import validate_input

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping, Sequence

    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import StreamMode
    from pydantic import BaseModel

NAME: Final = "collection_search"
REVIEW_NAME: Final = "collection_review"

DormantNode = Literal["k_hitl_gate", "k_trigger_ingestion", "k_verify_coverage"]
"""Nodes that the default graph does not have."""
DORMANT: Final[frozenset[DormantNode]] = frozenset(get_args(DormantNode))


def build_graph(
    *, review: bool | Collection[DormantNode] = False, **compile_options: Any
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph; `compile_options` (checkpointer, cache ...) go to `compile`.

    `review=True` gives the graph `collection_review` with all dormant nodes; some of their names
    insert these alone. `k_hitl_gate` needs a checkpointer, and `k_verify_coverage` follows an
    ingestion. `k_auto_ingest` is left out where one of the other two decides. The graph runs by
    `invoke`, `ainvoke`, `stream` and `astream`, alone or as a node of another graph. Raises
    InputError for an unknown node, and for a name that is not in a set or a list.
    """
    if isinstance(review, str):
        raise InputError(f"review is True, or a set of nodes: review={{{review!r}}}.")
    inserted = DORMANT if review is True else frozenset(review or ())
    if unknown := sorted(inserted - DORMANT):
        raise InputError(f"There is no dormant node {unknown[0]!r}: take {sorted(DORMANT)}.")
    stages = _stages(inserted)
    return compile_stages(
        REVIEW_NAME if inserted == DORMANT else NAME,
        stages,
        _routes(list(stages)),
        schemas=_schemas(stages),
        **compile_options,
    )


def _stages(inserted: Collection[str]) -> dict[str, Any]:
    """Return the nodes by name, in order."""
    asks = "k_hitl_gate" in inserted
    decides = asks or "k_trigger_ingestion" in inserted
    ranked = functools.partial(with_outcome, outcome="review_pending") if asks else _as_it_is
    stages = {
        "k_generate_strategy": with_thread(generate_strategy) if asks else generate_strategy,
        "k_parallel_web_search": parallel_web_search,
        "k_embedding_rank": ranked(embedding_rank),
        "k_premium_rank": ranked(premium_rank),
        "k_check_criteria": check_criteria,
    }
    if not decides:
        stages["k_auto_ingest"] = auto_ingest
    return stages | (_dormant_stages(inserted) if inserted else {})


def _dormant_stages(inserted: Collection[str]) -> dict[str, Any]:
    """Return those of the dormant nodes, which are loaded for a graph that has them."""
    from ..nodes.hitl_gate import hitl_gate
    from ..nodes.trigger_ingestion import trigger_ingestion
    from ..nodes.verify_coverage import verify_coverage

    dormant = {
        "k_hitl_gate": hitl_gate,
        "k_trigger_ingestion": trigger_ingestion,
        "k_verify_coverage": verify_coverage,
    }
    return {name: node for name, node in dormant.items() if name in inserted}


def _as_it_is(node: StageNode) -> StageNode:
    return node


def _routes(names: Sequence[str]) -> dict[str, Route]:
    """Return the conditional edges of a graph with these nodes in this order."""
    follows = dict(zip(names, [*names[1:], END], strict=True))
    routes = {
        "k_parallel_web_search": unless_ended(
            "k_embedding_rank", goes_on="candidates found", ends="nothing found"
        )
    }
    decides = _next_decision(follows["k_check_criteria"])
    checked = _unless_criteria(decides)
    routes["k_embedding_rank"] = _if_premium("k_premium_rank", checked)
    routes["k_premium_rank"] = checked
    routes["k_check_criteria"] = decides
    for name, goes_on, outcome in (
        ("k_hitl_gate", "pages approved", "search_completed"),
        ("k_auto_ingest", "ingestion started", "auto_ingest_triggered"),
        ("k_trigger_ingestion", "ingestion started", "ingestion_triggered"),
    ):
        if follows.get(name, END) != END:
            ends = goes_on.replace("started", "not started").replace("pages", "nothing")
            routes[name] = if_outcome(outcome, follows[name], goes_on=goes_on, ends=ends)
    if "k_verify_coverage" in follows:
        routes["k_verify_coverage"] = Route(
            _next_round, {"gaps to search for": "k_parallel_web_search", "done": END}
        )
    return routes


def _next_decision(following: str) -> Route:
    """Return the edge to the stage that decides what is ingested."""
    if following == "k_auto_ingest":
        return Route(_auto_ingest_switch, {"auto_ingest on": following, "auto_ingest off": END})
    return Route(_always_decides, {"pages ranked": following})


def _unless_criteria(decides: Route) -> Route:
    """Return the edge to the criteria, or without any to what `decides`."""

    def has_criteria(state: CollectionSearchState) -> str:
        return "criteria given" if state.get("criteria") else decides.choose(state)

    return Route(has_criteria, {"criteria given": "k_check_criteria", **decides.targets})


def _if_premium(judging: str, otherwise: Route) -> Route:
    """Return the edge to the `judging` stage in the quality mode premium, else the other one."""

    def is_premium(state: CollectionSearchState) -> str:
        return "premium" if state["quality_mode"] == "premium" else otherwise.choose(state)

    return Route(is_premium, {"premium": judging, **otherwise.targets})


def _schemas(stages: Collection[str]) -> tuple[type[Any], type[BaseModel], type[Any]]:
    """Return state, input and output of a graph with these nodes."""
    if DORMANT.isdisjoint(stages):
        return CollectionSearchState, SearchInput, CollectionSearchOutput
    given = RoundsInput if "k_auto_ingest" in stages else ReviewInput
    return CollectionSearchState, given, CollectionReviewOutput


def _auto_ingest_switch(state: CollectionSearchState) -> str:
    return "auto_ingest on" if state["auto_ingest"] else "auto_ingest off"


def _always_decides(_state: CollectionSearchState) -> str:
    return "pages ranked"


def _next_round(state: CollectionSearchState) -> str:
    """Return whether the queries that close the gaps are searched for."""
    coverage = state["coverage"]
    goes_on = coverage and coverage["next_queries"] and coverage["round"] <= state["max_rounds"]
    return "gaps to search for" if goes_on else "done"


graph = build_graph()


class CollectionSearchGraph:
    """The graph with a context of its own: the shortest way to run it from Python."""

    def __init__(self, context: SearchContext | None = None) -> None:
        validate_arguments(context=context)
        self.context = context or SearchContext()
        self.graph = graph
        preload(self.context)

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
        given = validate_input(SearchInput, state).model_dump()
        async for item in self.graph.astream(
            given,
            context=self.context,
            stream_mode=list(stream_mode),
            output_keys=list(CollectionSearchState.__annotations__),
        ):
            yield item


def output_of(
    state: Mapping[str, Any], output: type[Any] = CollectionSearchOutput
) -> CollectionSearchOutput:
    """Return the part of a final state that is the `output` of a graph."""
    known = {"summary": "", **state}  # the checkpoint of an earlier version has none
    return {key: known[key] for key in output.__annotations__}  # type: ignore[return-value]
