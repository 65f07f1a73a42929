"""Ports of function tools: providers of functions that models call, and their search backends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..contracts.functions import FunctionDefinition, FunctionResult
    from ..contracts.search import ProviderSearchResult, ToolContext


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls a function, and until when."""

    tool: ToolContext
    deadline: float | None = None
    """When the caller no longer waits, by `time.monotonic()`; None: not limited."""

    @classmethod
    def within(cls, tool: ToolContext, timeout_s: float) -> CallContext:
        """Return the context of a call that may take `timeout_s` seconds from now."""
        return cls(tool, time.monotonic() + timeout_s)

    def left_s(self) -> float | None:
        """Return the seconds that are left, 0 or more; None where they are not limited."""
        return None if self.deadline is None else max(self.deadline - time.monotonic(), 0.0)


@runtime_checkable
class SearchBackend(Protocol):
    """A search engine behind the function `web_search`."""

    @property
    def name(self) -> str:
        """Return the backend's name in metrics."""
        ...

    async def search(
        self, ctx: CallContext, query: str, max_results: int
    ) -> Sequence[ProviderSearchResult]:
        """Return the results, best first, within the context's deadline.

        Cancelling it cancels the request. Raises SearchProviderError.
        """
        ...


@runtime_checkable
class FunctionProvider(Protocol):
    """A provider of functions that models call."""

    @property
    def name(self) -> str:
        """Return the name of its entry in the map `providers`."""
        ...

    def tools(self) -> Sequence[FunctionDefinition[Any]]:
        """Return the definitions that a model gets."""
        ...

    async def execute(
        self, ctx: CallContext, name: str, arguments: Mapping[str, Any]
    ) -> FunctionResult:
        """Return the result of a call. A failure is an error result, never an exception."""
        ...

    def routes(self) -> Sequence[Any] | None:
        """Return the HTTP routes of a management API, None where there is nothing to manage."""
        ...

    def collectors(self) -> Sequence[Any]:
        """Return the Prometheus collectors of its metrics."""
        ...
