"""Calls of a search function by the keywords of its signature."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from ..contracts.options import NO_OPTIONS, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

KEYWORDS: Final = ("max_results", "limit", "timeout", "options", "turn")
"""Every known keyword of a search function; `limit` is the older `max_results`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to a provider."""

    query: str
    count: int
    """Rows."""
    options: SearchOptions = NO_OPTIONS


@dataclass(frozen=True, slots=True)
class SearchFunction:
    """One search function and the keywords that it takes."""

    function: Callable[..., Any]
    count_keyword: str | None
    takes_timeout: bool
    takes_options: bool = False
    takes_turns: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any]) -> SearchFunction:
        """Return the function with the keywords of its signature, or of `BaseSearchAdapter`."""
        parameters = read_parameters(function)
        if parameters is None:
            return cls(function, "max_results", takes_timeout=False)
        open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        known = (name for name in ("max_results", "limit") if name in parameters)
        return cls(
            function,
            next(known, "max_results" if open_ended else None),
            takes_timeout="timeout" in parameters,
            takes_options="options" in parameters,
            takes_turns="turn" in parameters,
        )

    @property
    def keywords(self) -> list[str]:
        """The accepted keywords besides `turn`."""
        taken = {
            self.count_keyword: True,
            "timeout": self.takes_timeout,
            "options": self.takes_options,
        }
        return [name for name in KEYWORDS if taken.get(name)]

    def call(
        self, asked: Asked, *, timeout_s: float, turn: Callable[[], Awaitable[None]] | None = None
    ) -> Callable[[], Any]:
        """Return the call without arguments."""
        keywords: dict[str, Any] = {}
        if self.count_keyword:
            keywords[self.count_keyword] = asked.count
        if self.takes_timeout:
            keywords["timeout"] = timeout_s
        if self.takes_options and asked.options is not NO_OPTIONS:
            keywords["options"] = asked.options
        if turn is not None:
            keywords["turn"] = turn
        return partial(self.function, asked.query, **keywords)


def read_parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters of a function or method, None without a signature."""
    try:
        return _read_signature(getattr(function, "__func__", function))
    except (TypeError, ValueError):  # no signature, or an object that cannot be looked up
        return None


@lru_cache(maxsize=256)
def _read_signature(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters
