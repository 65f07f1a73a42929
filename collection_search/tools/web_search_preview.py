"""OpenAI's own web search in a request, translated into the function tool `web_search`.

For a server that speaks OpenAI's protocol in front of another model: the request's tool of the
type `web_search_preview` (or `web_search`) becomes our function tool, and its settings become
options of our search. So does `web_search_options` of a chat completion.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from ..contracts.options import SearchOptions
from ..errors import InputError
from ..text.problems import describe_problems
from .function_specs import openai_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

PREVIEW: Final = re.compile(r"web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?")
"""The type of OpenAI's tool, with and without a date."""
CHAT_OPTIONS: Final = "web_search_options"
"""The parameter of a chat completion that switches OpenAI's search on."""
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
    `tool_choice` follows. Everything else stays. Works for both APIs of OpenAI; of several search
    tools the first one counts. Raises InputError for a setting that cannot be used.

    >>> asked = {"model": "m", "input": "hi", "tools": [{"type": "web_search_preview"}]}
    >>> translate_web_search_preview(asked).request["tools"][0]["name"]
    'web_search'
    """
    tools = _tools_of(request)
    found = [tool for tool in tools if _is_preview(tool)]
    if request.get(CHAT_OPTIONS) is not None:
        found.append(_mapping(request, CHAT_OPTIONS))
    if not found:
        return TranslatedRequest(dict(request), None)
    ours = openai_tool(strict=strict, api="chat" if "messages" in request else "responses")
    place = next((n for n, tool in enumerate(tools) if _is_preview(tool)), len(tools))
    rest = [tool for tool in tools if not _is_preview(tool)]
    if any(_name_of(tool) == _name_of(ours) for tool in rest):
        raise InputError(f"The request has a function {_name_of(ours)} already. Rename it.")
    kept = {name: value for name, value in request.items() if name != CHAT_OPTIONS}
    translated = {**kept, "tools": [*rest[:place], ours, *rest[place:]]}
    if "tool_choice" in request:
        translated["tool_choice"] = _choice(request["tool_choice"], ours)
    size = found[0].get("search_context_size") or "medium"
    if not isinstance(size, str) or size not in CONTEXT_TOKENS:
        raise InputError(f"search_context_size is {size!r}; write {', '.join(CONTEXT_TOKENS)}.")
    return TranslatedRequest(translated, _options(found[0], size), CONTEXT_TOKENS[size])


def _tools_of(request: Mapping[str, Any]) -> list[Any]:
    tools = request.get("tools")
    if tools is None:
        return []
    if isinstance(tools, str | Mapping) or not isinstance(tools, Sequence):
        raise InputError("tools of the request is no list.")
    return list(tools)


def _is_preview(tool: Any) -> bool:
    kind = tool.get("type") if isinstance(tool, Mapping) else None
    return isinstance(kind, str) and PREVIEW.fullmatch(kind) is not None


def _name_of(tool: Any) -> Any:
    if not isinstance(tool, Mapping):
        return None
    function = tool.get("function")
    return function.get("name") if isinstance(function, Mapping) else tool.get("name")


def _choice(choice: Any, ours: Mapping[str, Any]) -> Any:
    """Return the choice with our tool for OpenAI's, also among `allowed_tools`."""
    if _is_preview(choice):
        return _named(ours)
    if not isinstance(choice, Mapping) or choice.get("type") != "allowed_tools":
        return choice
    if isinstance(inner := choice.get("allowed_tools"), Mapping):  # so it stands in a chat's
        return {**choice, "allowed_tools": {**inner, "tools": _allowed(inner.get("tools"), ours)}}
    return {**choice, "tools": _allowed(choice.get("tools"), ours)}


def _allowed(tools: Iterable[Any] | None, ours: Mapping[str, Any]) -> list[Any]:
    return [_named(ours) if _is_preview(tool) else tool for tool in tools or ()]


def _named(tool: Mapping[str, Any]) -> dict[str, Any]:
    if "function" in tool:
        return {"type": "function", "function": {"name": tool["function"]["name"]}}
    return {"type": "function", "name": tool["name"]}


def _options(tool: Mapping[str, Any], size: str) -> SearchOptions:
    location = _mapping(tool, "user_location")
    location = _mapping(location, "approximate") or location  # so it stands in a chat's
    domains = _mapping(tool, "filters").get("allowed_domains") or ()
    if isinstance(domains, str):
        raise InputError("allowed_domains of the request's web search is no list.")
    try:
        return SearchOptions(
            country=location.get("country"),
            include_domains=domains,
            domain_mode="restrict" if domains else "prefer",
            include_content=True if size == "high" else None,
        )
    except ValidationError as error:
        raise InputError(
            f"The web search of the request cannot be used. {describe_problems(error)}"
        ) from error


def _mapping(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name} of the request's web search is no JSON object.")
    return value
