"""Nodes and edges in a form that `invoke` and `ainvoke` can both run, at little cost.

LangChain's RunnableLambda reads signatures on every call, LangGraph runs a plain function of an
edge in a thread, and tells callbacks of every step of a node even where there are none: together
these are several milliseconds a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import Runnable
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import get_runtime
from pydantic import BaseModel, ValidationError

from ..errors import InputError
from ..runtime.concurrency import run_blocking
from ..text.problems import describe_problems

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

InputT = TypeVar("InputT", bound=BaseModel)


class NodeRunnable(Runnable[Any, Any]):
    """An async node; its synchronous face runs on the background loop and waits."""

    def __init__(self, node: Callable[[Any, Any], Awaitable[Any]]) -> None:
        self.name = node.__name__
        self._node = node

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002, ARG002
        """Run the node and wait for it."""
        return run_blocking(self.ainvoke(input))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002, ARG002
        """Run the node; a runnable is not given the runtime, hence `get_runtime`."""
        return await self._node(input, get_runtime())


class RouteRunnable(Runnable[Any, str]):
    """A pure function of the state that names the next node."""

    def __init__(self, choose: Callable[[Any], str]) -> None:
        self.name = choose.__name__
        self._choose = choose

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """Return the next node's name."""
        return self._choose(input)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002, ARG002
        """Return the next node's name."""
        return self._choose(input)


class UntracedRunnable(Runnable[Any, Any]):
    """A node with its writers, run one after the other in the node's own task.

    Whoever listens to callbacks (a tracer, `astream_events`) gets LangGraph's own sequence.
    """

    def __init__(self, observed: Runnable[Any, Any], steps: Sequence[Runnable[Any, Any]]) -> None:
        self.name = observed.name
        self._observed = observed
        self._steps = steps

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run LangGraph's sequence."""
        return self._observed.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Run the steps; the config stands where LangGraph's and LangChain's calls look for it."""
        if config is None or kwargs or _listened(config):
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
        """Stream LangGraph's sequence, as is done for those who listen."""
        return self._observed.stream(*args, **kwargs)

    def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream LangGraph's sequence, as is done for those who listen."""
        return self._observed.astream(*args, **kwargs)


def skip_callbacks(
    graph: CompiledStateGraph[Any, Any, Any, Any],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph, whose nodes run without reports to callbacks where nobody listens."""
    for node in graph.nodes.values():
        if node.node is not None and (steps := getattr(node.node, "steps", None)):
            node.node = UntracedRunnable(node.node, steps)
    return graph


def _listened(config: RunnableConfig) -> bool:
    callbacks = config.get("callbacks")
    return bool(getattr(callbacks, "handlers", callbacks))


def validate_input(model: type[InputT], given: Mapping[str, Any]) -> InputT:
    """Return a graph's input. Raises InputError naming each wrong or unknown field."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InputError(f"The input is not valid. {describe_problems(error)}") from error
