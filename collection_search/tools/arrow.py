"""The arrow command by which a model asks for a search: `→ search "query" depth:deep max:3`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from ..contracts.service import SearchRequest
from ..errors import InputError, WebSearchError
from ..text.problems import describe_problems
from .search_texts import arrow_reply

if TYPE_CHECKING:
    from .service import WebSearchService

COMMAND: Final = re.compile(
    r"^[ \t]*(?:→|->)[ \t]*search[ \t]+[\"“„](?P<query>[^\"“”„\n]*)[\"“”](?P<rest>[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
"""A command on its own line; typographic quotation marks are accepted."""

_OPTIONS: Final = {
    "depth": "search_depth",
    "topic": "topic",
    "max": "max_results",
    "include": "include_domains",
    "exclude": "exclude_domains",
}
_LISTS: Final = {"include", "exclude"}


def parse_arrow(line: str) -> SearchRequest:
    """Return the request of one command. Raises InputError, which describes the syntax.

    >>> request = parse_arrow('→ search "react native" include:reactnative.dev,expo.dev max:3')
    >>> request.query, request.options.asked()
    ('react native', {'max_results': 3, 'include_domains': ['reactnative.dev', 'expo.dev']})
    """
    match = COMMAND.fullmatch(line.strip())
    if match is None:
        raise InputError('A search is written → search "query", with options behind it.')
    return _request(match)


def arrow_requests(text: str) -> list[SearchRequest]:
    r"""Return the requests of all commands in a text. Raises InputError for a wrong option.

    >>> [one.query for one in arrow_requests('Let me look.\n→ search "asyncio"\nThen we see.')]
    ['asyncio']
    """
    return [_request(match) for match in COMMAND.finditer(text)]


async def answer_arrow(service: WebSearchService, line: str) -> str:
    """Return the reply to one command as text, an error message included."""
    try:
        request = parse_arrow(line)
        response = await service.asearch(request)
    except (InputError, WebSearchError) as error:
        return f"Search failed: {error}"
    return arrow_reply(response, deep=request.options.search_depth == "deep")


def _request(match: re.Match[str]) -> SearchRequest:
    options: dict[str, Any] = {}
    for word in match["rest"].split():
        name, _, value = word.partition(":")
        name = name.lower()
        if name not in _OPTIONS or not value:
            raise InputError(
                f"{word!r} is no option of a search. There are depth:basic or depth:deep,"
                " topic:general or topic:news, max:1 to max:10, include:domains, exclude:domains."
            )
        options[_OPTIONS[name]] = value.split(",") if name in _LISTS else value
    try:
        return SearchRequest.model_validate({"query": match["query"], "options": options})
    except ValidationError as error:
        problems = describe_problems(error)
        raise InputError(f"The options of the search cannot be used: {problems}.") from error
