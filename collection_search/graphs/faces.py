"""Nodes and edges in a form that `invoke` and `ainvoke` can both run, at little cost.

LangChain's RunnableLambda reads signatures on every call, and LangGraph runs a plain function of
an edge in a thread: both together are several milliseconds a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable
from langgraph.runtime import get_runtime

from ..bridge import run_blocking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain_core.runnables import RunnableConfig


class BothFaces(Runnable[Any, Any]):
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


class Choice(Runnable[Any, str]):
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
