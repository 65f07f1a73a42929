"""The arrow command as the query of `collection-search search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.options import SearchOptions
    from ...contracts.search import WebSearchResponse
    from .terminal import Screen


class ArrowQuery(NamedTuple):
    """What an arrow command asks for."""

    query: str
    options: SearchOptions
    max_results: int


def read_arrow(
    command: str, options: SearchOptions, max_results: int | None, context: SearchContext
) -> ArrowQuery:
    """Return what the command asks for. Raises InputError, also for flags beside it."""
    from ...contracts.options import NO_OPTIONS
    from ...errors import InputError
    from ...tools.arrow import parse_arrow

    if options != NO_OPTIONS or max_results is not None:
        raise InputError(
            "An arrow command has its own options. Write them there, such as max:3 depth:deep,"
            " and leave out the flags of the search."
        )
    request = parse_arrow(command)
    usual = context.using().default_max_results
    return ArrowQuery(request.query, request.options, request.options.max_results or usual)


def show_arrow_reply(
    response: WebSearchResponse, query: str, options: SearchOptions, screen: Screen
) -> None:
    """Print the results in the arrow command's return format."""
    from ...tools.search.service_response import service_response
    from ...tools.search_texts import format_arrow_reply

    is_deep = options.search_depth == "deep"
    wanted = options.model_copy(update={"include_content": is_deep})
    took_ms = response.outcome.meta["latency_ms"]
    shown = service_response(response, query, wanted, response_time_ms=took_ms)
    for line in format_arrow_reply(shown, deep=is_deep).splitlines():
        screen.line(line)
