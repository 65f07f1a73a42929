"""A graph of stages whose nodes and edges both `invoke` and `ainvoke` run at little cost.

LangChain's RunnableLambda reads signatures on every call. LangGraph runs a plain function of an
edge in a thread, and prepares callbacks for every step of a node even where there are none.
Together these cost several milliseconds a question.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import Runnable
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime
from pydantic import BaseModel, ValidationError

from ..context import SearchContext
from ..errors import InputError
from ..nodes.stage import StagePlace
from ..runtime.concurrency import run_blocking
from ..settings.adapter_factory import has_callbacks, listener_of
from ..text.problems import describe_problems

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

InputT = TypeVar("InputT", bound=BaseModel)


class NodeRunnable(Runnable[Any, Any]):
    """An async node; `invoke` runs it on the background loop and waits."""

    def __init__(
        self,
        node: Callable[[Any, Any, StagePlace], Awaitable[Any]],
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


class RouteRunnable(Runnable[Any, str]):
    """An edge to the following node where a condition on the state is true, else to the end."""

    def __init__(self, condition: Callable[[Any], object], following: str) -> None:
        self.name = condition.__name__
        self._condition = condition
        self._following = following

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """Return the next node's name."""
        return self._following if self._condition(input) else END

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """Return the next node's name, without a thread."""
        return self.invoke(input)


class UntracedRunnable(Runnable[Any, Any]):
    """A node with its writers, run one after the other in the node's own task.

    Where callbacks are registered (a tracer, `astream_events`), LangGraph's own sequence runs.
    """

    def __init__(self, observed: Runnable[Any, Any], steps: Sequence[Runnable[Any, Any]]) -> None:
        self.name = observed.name
        self._observed = observed
        self._steps = steps

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run LangGraph's sequence."""
        return self._observed.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the steps, with the config where calls of LangGraph and LangChain look for it."""
        if config is None or kwargs or has_callbacks(config):
            return await self._observed.ainvoke(input, config, **kwargs)
        token = var_child_runnable_config.set(config)
        try:
            value = input
            for step in self._steps:
                value = await step.ainvoke(value, config)
        finally:
            var_child_runnable_config.reset(token)
        return value

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Stream LangGraph's sequence."""
        return self._observed.stream(*args, **kwargs)

    def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream LangGraph's sequence."""
        return self._observed.astream(*args, **kwargs)


def compile_stages(
    name: str,
    stages: Mapping[str, Callable[[Any, Any, StagePlace], Awaitable[Any]]],
    conditions: Mapping[str, Callable[[Any], object]],
    *,
    schemas: tuple[type[Any], type[BaseModel], type[Any]],
    **compile_options: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of the stages, one after the other; `schemas` are state, input, output.

    The graph ends before a stage whose condition is false.
    """
    state, given, output = schemas
    graph = StateGraph(
        state, context_schema=SearchContext, input_schema=given, output_schema=output
    )
    before = START
    follow = [*(conditions.get(stage, _always) for stage in stages), _never][1:]
    for (stage, node), follows in zip(stages.items(), follow, strict=True):
        # Typed with the input model, or LangGraph would neither validate nor fill in the defaults.
        schema = given if before == START else state
        runnable = NodeRunnable(node, name, is_end=_negated(follows))
        graph.add_node(stage, runnable, input_schema=schema)
        if condition := conditions.get(stage):
            graph.add_conditional_edges(before, RouteRunnable(condition, stage), [stage, END])
        else:
            graph.add_edge(before, stage)
        before = stage
    graph.add_edge(before, END)
    compiled = graph.compile(name=name, **compile_options)
    for part in compiled.nodes.values():
        if part.node is not None and (steps := getattr(part.node, "steps", None)):
            part.node = UntracedRunnable(part.node, steps)
    return compiled


def _always(_state: Mapping[str, Any]) -> bool:
    return True


def _never(_state: Mapping[str, Any]) -> bool:
    return False


def _negated(condition: Callable[[Any], object]) -> Callable[[Mapping[str, Any]], bool]:
    return lambda state: not condition(state)


def has_no_outcome(state: Mapping[str, Any]) -> bool:
    """Return whether the run goes on: no stage has ended it."""
    return not state["outcome"]


def validate_input(model: type[InputT], given: Mapping[str, Any]) -> InputT:
    """Return a graph's input. Raises InputError naming each wrong or unknown field."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InputError(f"The input is not valid. {describe_problems(error)}") from error
