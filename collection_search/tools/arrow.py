"""The arrow command by which a model or a person asks for a search.

```
→ search "query" depth:basic|deep topic:general|news max:1-10 include:domains exclude:domains
```

The arrow may be written `->`. Domains are separated by commas. Each option may come once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from ..contracts.service import SearchRequest
from ..errors import ArrowSyntaxError, InputError, InvalidQueryError, WebSearchError
from ..text.clean import normalize_query
from ..text.problems import list_problems, suggest
from ..text.untrusted import fence
from .failed_calls import describe_failure
from .search.function_entry import limit_results
from .search_texts import ARROW_HINT, format_arrow_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .service import WebSearchService

COMMAND_START: Final = re.compile(
    r"^[^\S\n]*(?:→|->)[^\S\n]*search\b", re.MULTILINE | re.IGNORECASE
)
"""The beginning of a line that is a command."""

_ARROWS = r"\s*(?:[→⇒➔➜]|[-=]>)\s*"
_NEARLY: Final = re.compile(_ARROWS + r"(?:\w+\s*)?[\"“„«]")
"""A person's command with another arrow or another word, or without the word."""
_NEARLY_IN_TEXT: Final = re.compile(
    _ARROWS + r"(?:\w+_)?search(?:_\w+)?[\s:(]{0,3}[\"“„«']", re.IGNORECASE
)
"""A model's command with another arrow or a longer word; in prose a quote may follow an arrow."""
_CLOSING: Final = {
    '"': '"',
    "“": "”“",
    "”": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "'": "'",
    "\u2018": "\u2019",  # single ones, high and low
    "\u201a": "\u2018\u2019",
}
"""Closing quotation marks of each opening one, as people and their keyboards write them."""
_WORD = re.compile(r"[^\s:]+")
_VALUE = re.compile(r"\S+(?:(?<=,)[ \t]+\S+)*")
"""After a comma a value goes on."""
_ITEM = re.compile(r"^\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)*")
"""The marks before an item of a list."""
_WRAPPERS: Final = "`*_"
"""Around code and emphasis of Markdown."""
_SPACE = re.compile(r"\s*")

_OPTIONS: Final = {
    "depth": "search_depth",
    "topic": "topic",
    "max": "max_results",
    "include": "include_domains",
    "exclude": "exclude_domains",
}
_LISTS: Final = {"include", "exclude"}
_FORMS: Final = {
    "depth": "depth:basic or depth:deep",
    "topic": "topic:general or topic:news",
    "max": "max:1 to max:10",
    "include": "include:domains, such as include:python.org,example.com",
    "exclude": "exclude:domains, such as exclude:example.com",
}


class _Option(NamedTuple):
    name: str
    value: str
    position: int
    """Of the value, from 0."""


def is_arrow(text: str) -> bool:
    """Return whether the text begins as an arrow command, or nearly so: a quote after an arrow.

    >>> is_arrow('-> search "asyncio"'), is_arrow('=> find "asyncio"'), is_arrow("-> in C")
    (True, True, False)
    """
    return bool(COMMAND_START.match(text) or _NEARLY.match(text))


def parse_arrow(line: str) -> SearchRequest:
    """Return the request of one command. Raises ArrowSyntaxError with the place of the mistake.

    >>> request = parse_arrow('→ search "react native" include:reactnative.dev,expo.dev max:3')
    >>> request.query, request.options.asked()
    ('react native', {'max_results': 3, 'include_domains': ['reactnative.dev', 'expo.dev']})
    >>> parse_arrow('→ search "asyncio" depth:abyss')
    Traceback (most recent call last):
        ...
    collection_search.errors.ArrowSyntaxError: depth:abyss cannot be used. Write depth:basic or \
depth:deep.
    → search "asyncio" depth:abyss
                             ^
    """
    line = line.rstrip()
    start = COMMAND_START.match(line)
    if start is None or "\n" in line:
        raise ArrowSyntaxError('A search is written → search "query", in one line.', line, 0)
    query, position = _read_query(line, start.end())
    options: dict[str, Any] = {}
    for option in _read_options(line, position):
        options |= _validated(line, option)
    return SearchRequest.model_validate({"query": query, "options": options})


def arrow_requests(text: str) -> list[SearchRequest]:
    r"""Return the requests of all commands in a text. Raises ArrowSyntaxError for a wrong one.

    >>> [one.query for one in arrow_requests('Let me look.\n→ search "asyncio"\nThen we see.')]
    ['asyncio']
    """
    return [parse_arrow(line) for line in arrow_lines(text)]


def arrow_lines(text: str) -> list[str]:
    r"""Return the lines of a text that are commands, right or wrong, without Markdown around them.

    >>> arrow_lines('1. **→ search "a"**\n- `-> search "b"`\n⇒ web_search "c"\nThe end.')
    ['→ search "a"', '-> search "b"', '⇒ web_search "c"']
    """
    lines = map(_without_markdown, text.splitlines())
    return [line for line in lines if COMMAND_START.match(line) or _NEARLY_IN_TEXT.match(line)]


def _without_markdown(line: str) -> str:
    """Return a line without the marks of a list, emphasis or code around it.

    What is wrapped at its beginning alone is no command: a sentence goes on after it.
    """
    bare = _ITEM.sub("", line, count=1).strip()
    wrapped = bare[:1] in _WRAPPERS and bare[-1:] in _WRAPPERS
    return bare.strip(_WRAPPERS + " \t") if wrapped else bare


async def answer_arrow(service: WebSearchService, line: str) -> str:
    """Return the reply to a model's command as text, an error message included.

    The results are inside a fence, since they are text of the web. The service's provider is
    asked; the settings' entry `web_search` says whether, and for how many results at most.
    """
    try:
        request = parse_arrow(line)
        count = limit_results(service.settings, request.options.max_results)
        options = request.options.model_copy(update={"max_results": count})
        response = await service.asearch(request.model_copy(update={"options": options}))
    except ArrowSyntaxError as error:
        return f"Search failed: {error}"
    except (InputError, WebSearchError) as error:  # its words may be the provider's
        return f"Search failed: {describe_failure(error)}"
    is_deep = request.options.search_depth == "deep"
    reply = fence(format_arrow_reply(response, deep=is_deep, hint=False))
    return reply if is_deep or not response.results else f"{reply}\n{ARROW_HINT}"


def _read_query(line: str, position: int) -> tuple[str, int]:
    """Return the query and the place behind its closing quotation mark."""
    start = _skip_space(line, position)
    if start == len(line) or line[start] not in _CLOSING:
        raise ArrowSyntaxError("The query stands between quotation marks.", line, start)
    closing = _CLOSING[line[start]]
    end = start + 1
    while end < len(line) and line[end] not in closing:
        end += 2 if line[end] == "\\" else 1
    if end >= len(line):
        raise ArrowSyntaxError("The closing quotation mark is missing.", line, len(line))
    query = re.sub(r"\\(.)", r"\1", line[start + 1 : end])
    try:
        normalize_query(query)
    except InvalidQueryError as error:
        raise ArrowSyntaxError(f"{error}.".capitalize(), line, start + 1) from error
    return query, end + 1


def _read_options(line: str, position: int) -> Iterator[_Option]:
    """Yield the options in their order, so that the first mistake is the one that is told."""
    found: set[str] = set()
    while (start := _skip_space(line, position)) < len(line):
        option, position = _read_option(line, start)
        if option.name in found:
            raise ArrowSyntaxError(f"{option.name} is written twice.", line, start)
        found.add(option.name)
        yield option


def _read_option(line: str, start: int) -> tuple[_Option, int]:
    word = _WORD.match(line, start)
    name = word[0].lower() if word else ""
    colon = word.end() if word else start
    if name not in _OPTIONS:
        shown = word[0] if word else line[start]
        near = suggest(name, _OPTIONS) or f". There are {', '.join(_OPTIONS)}."
        raise ArrowSyntaxError(f"{shown!r} is no option of a search{near}", line, start)
    if not line.startswith(":", colon):
        raise ArrowSyntaxError(f"A colon is missing. Write {_FORMS[name]}.", line, colon)
    value = _VALUE.match(line, _skip_space(line, colon + 1))
    if value is None or (value.start() > colon + 1 and value[0].partition(":")[0] in _OPTIONS):
        raise ArrowSyntaxError(f"A value is missing. Write {_FORMS[name]}.", line, colon + 1)
    return _Option(name, value[0], value.start()), value.end()


def _validated(line: str, option: _Option) -> dict[str, Any]:
    """Return the option of the request."""
    field = _OPTIONS[option.name]
    value = option.value.split(",") if option.name in _LISTS else option.value
    try:
        SearchRequest.model_validate({"query": "x", "options": {field: value}})
    except ValidationError as error:
        place = list_problems(error)[0]["loc"][-1]
        before = ",".join(value[:place]) if isinstance(place, int) else ""
        position = option.position + (len(before) + 1 if before else 0)
        raise ArrowSyntaxError(
            f"{option.name}:{option.value} cannot be used. Write {_FORMS[option.name]}.",
            line,
            position,
        ) from error
    return {field: value}


def _skip_space(line: str, position: int) -> int:
    space = _SPACE.match(line, position)
    return space.end() if space else position
