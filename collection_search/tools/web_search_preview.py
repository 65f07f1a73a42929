"""OpenAI's own web search in a request, translated into the function tool `web_search`.

For a server that speaks OpenAI's protocol in front of another model: the request's tool of the
type `web_search_preview` (or `web_search`) becomes our function tool, and its settings become
options of our search.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from ..contracts.options import SearchOptions
from ..errors import InputError
from ..text.problems import describe_problems
from .function_specs import openai_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

PREVIEW: Final = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?")
"""The type of OpenAI's tool, with and without a date."""
CONTEXT_TOKENS: Final = {"low": 1_500, "medium": 3_000, "high": 6_000}
"""Tokens of all results together, by `search_context_size`."""


class TranslatedRequest(NamedTuple):
    """A request without OpenAI's own search tool."""

    request: dict[str, Any]
    options: SearchOptions | None
    """Options of our search; None where the request has no search tool."""
    total_tokens: int | None = None
    """Tokens of all results together."""


def translate_web_search_preview(
    request: Mapping[str, Any], *, strict: bool = False
) -> TranslatedRequest:
    """Return the request with our function tool in place of `web_search_preview`.

    `search_context_size` decides the budget of the results; `high` asks for the pages' content.
    `user_location.country` and `filters.allowed_domains` become options; a city cannot be applied.
    `tool_choice` follows. Everything else stays. Works for both APIs of OpenAI. Raises InputError
    for a setting that cannot be used.

    >>> asked = {"model": "m", "input": "hi", "tools": [{"type": "web_search_preview"}]}
    >>> translate_web_search_preview(asked).request["tools"][0]["name"]
    'web_search'
    """
    tools = list(request.get("tools") or ())
    found = [tool for tool in tools if _is_preview(tool)]
    if not found:
        return TranslatedRequest(dict(request), None)
    ours = openai_tool(strict=strict, api="chat" if "messages" in request else "responses")
    place = tools.index(found[0])
    rest = [tool for tool in tools if not _is_preview(tool)]
    translated = {**request, "tools": [*rest[:place], ours, *rest[place:]]}
    if _is_preview(request.get("tool_choice")):
        translated["tool_choice"] = _choice(ours)
    size = found[0].get("search_context_size") or "medium"
    if size not in CONTEXT_TOKENS:
        raise InputError(f"search_context_size is {size!r}; write {', '.join(CONTEXT_TOKENS)}.")
    return TranslatedRequest(translated, _options(found[0], size), CONTEXT_TOKENS[size])


def _is_preview(tool: Any) -> bool:
    kind = tool.get("type") if hasattr(tool, "get") else None
    return isinstance(kind, str) and PREVIEW.fullmatch(kind) is not None


def _choice(tool: Mapping[str, Any]) -> dict[str, Any]:
    if "function" in tool:
        return {"type": "function", "function": {"name": tool["function"]["name"]}}
    return {"type": "function", "name": tool["name"]}


def _options(tool: Mapping[str, Any], size: str) -> SearchOptions:
    location = tool.get("user_location") or {}
    domains = (tool.get("filters") or {}).get("allowed_domains") or ()
    try:
        return SearchOptions(
            country=location.get("country"),
            include_domains=tuple(domains),
            domain_mode="restrict" if domains else "prefer",
            include_content=True if size == "high" else None,
        )
    except ValidationError as error:
        raise InputError(
            f"The web search of the request cannot be used. {describe_problems(error)}"
        ) from error
