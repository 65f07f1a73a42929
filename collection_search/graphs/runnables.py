"""A graph of stages whose nodes and edges both `invoke` and `ainvoke` run at little cost.

LangChain's RunnableLambda reads signatures on every call, and LangGraph runs a plain function of an
edge in a thread. Together these cost several milliseconds a question.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime

from ..context import SearchContext
from ..errors import ConfigError
from ..nodes.stage import StagePlace
from ..runtime.concurrency import run_blocking
from ..settings.adapter_factory import has_callbacks, listener_of
from .validating_graph import ValidatingGraph

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph
    from pydantic import BaseModel

StageNode: TypeAlias = "Callable[[Any, Any, StagePlace], Awaitable[dict[str, Any]]]"


class NodeRunnable(Runnable[Any, Any]):
    """An async node; `invoke` runs it on the background loop and waits."""

    def __init__(
        self,
        node: StageNode,
        graph: str,
        is_end: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self.name = node.__name__
        self._node = node
        self._unheard = StagePlace(graph, is_end)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Run the node and wait for it."""
        return run_blocking(self.ainvoke(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Run the node; a runnable is not given the runtime, hence `get_runtime`."""
        place = self._unheard
        if config is not None and has_callbacks(config):
            place = replace(place, listener=listener_of(config))
        return await self._node(input, get_runtime(), place)


@dataclass(frozen=True, slots=True)
class Route:
    """A conditional edge: `choose` returns one of the `targets`' words for a state."""

    choose: Callable[[Any], str]
    targets: dict[Hashable, str]
    """The next node by word; drawings of the graph show the words."""

    def is_end(self, state: Mapping[str, Any]) -> bool:
        """Return whether the run ends with this state."""
        return self.targets[self.choose(state)] == END


class RouteRunnable(Runnable[Any, str]):
    """The choice of a route."""

    def __init__(self, route: Route) -> None:
        self.name = route.choose.__name__
        self._choose = route.choose

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """Return the word of the edge to follow."""
        return self._choose(input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """Return the word of the edge to follow, without a thread."""
        return self._choose(input)


def compile_stages(
    name: str,
    stages: Mapping[str, StageNode],
    routes: Mapping[str, Route],
    *,
    schemas: tuple[type[Any], type[BaseModel], type[Any]],
    **compile_options: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of the stages, one after the other; `schemas` are state, input, output.

    A stage with a route is followed by what the route chooses.
    """
    state, given, output = schemas
    graph = StateGraph(
        state, context_schema=SearchContext, input_schema=given, output_schema=output
    )
    names = list(stages)
    for stage, following in zip(names, [*names[1:], END], strict=True):
        route = routes.get(stage)
        is_end = route.is_end if route else _always if following == END else _never
        schema = given if stage == names[0] else state
        graph.add_node(stage, NodeRunnable(stages[stage], name, is_end), input_schema=schema)
        if route is None:
            graph.add_edge(stage, following)
        else:
            graph.add_conditional_edges(stage, RouteRunnable(route), route.targets)
    graph.add_edge(START, names[0])
    return ValidatingGraph.compile(graph, names[0], name=name, **compile_options)


def _always(_state: Mapping[str, Any]) -> bool:
    return True


def _never(_state: Mapping[str, Any]) -> bool:
    return False


def unless_ended(following: str, *, goes_on: str, ends: str) -> Route:
    """Return a route to the `following` stage, or to the end once there is an outcome.

    `goes_on` and `ends` are the words of the two edges.
    """

    def has_outcome(state: Mapping[str, Any]) -> str:
        return ends if state["outcome"] else goes_on

    return Route(has_outcome, {goes_on: following, ends: END})


def if_outcome(outcome: str, following: str, *, goes_on: str, ends: str) -> Route:
    """Return a route to the `following` stage after this outcome, else to the end."""

    def has_this_outcome(state: Mapping[str, Any]) -> str:
        return goes_on if state["outcome"] == outcome else ends

    return Route(has_this_outcome, {goes_on: following, ends: END})


def with_outcome(node: StageNode, outcome: str) -> StageNode:
    """Return the node with this outcome in place of its own, as a graph goes on after it."""

    @functools.wraps(node)
    async def changed(state: Any, runtime: Any, place: StagePlace) -> dict[str, Any]:
        return {**await node(state, runtime, place), "outcome": outcome}

    return changed


def with_thread(node: StageNode) -> StageNode:
    """Return the node for the begin of a graph that pauses.

    It raises ConfigError without a checkpointer, before anything is spent.
    """

    @functools.wraps(node)
    async def checked(state: Any, runtime: Any, place: StagePlace) -> dict[str, Any]:
        if getattr(runtime.execution_info, "thread_id", None) is None:
            raise ConfigError(
                "A review needs a checkpointer: compile the graph with one and give the run a"
                " thread_id, or use CollectionReviewGraph, which has one."
            )
        return await node(state, runtime, place)

    return checked
