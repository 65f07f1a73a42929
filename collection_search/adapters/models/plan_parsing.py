"""The queries in a model's answer: JSON alone, inside of other text, or a list in words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from ...planning.prompts import SearchQueries
from .stop_reasons import CutOff, is_cut_off

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARS: Final = 50_000
"""The limit of a text that is read, without its thoughts."""
MAX_QUERIES: Final = 50
"""The limit of a list of queries that is read."""
_MAX_STARTS: Final = 200
"""Places of a text at which JSON may begin."""
_MAX_ITEM_CHARS: Final = 200
"""A longer item of a list in words is an explanation."""
_OPENING, _CLOSING = "<think>", "</think>"
_DECODER: Final = json.JSONDecoder()
_LAST_COMMA: Final = re.compile(r",(\s*[\]}])")
_OPENS: Final = re.compile(r"[{\[]")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*•–]|\(?\d{1,2}[.):])[ \t]+(\S.*)")  # noqa: RUF001 - a dash
_MARKS: Final = " \t\"'`*“”„"
_FEWEST_ITEMS: Final = 2


class NoJsonError(ValueError):
    """The text holds no JSON object."""


def parse_queries(answer: Any, *, in_words: bool = False, stop: Any = None) -> list[str]:
    r"""Return the first 50 queries of an answer: a mapping, or a text with JSON in it.

    In a text the last value with queries counts: `{"queries": [...]}` or a bare list of texts. With
    `in_words` the lines of a numbered or bulleted list do where there is no JSON. Raises
    NoJsonError for a text without any of them, ValueError for a value without queries, and CutOff
    in place of both where `stop`, why the answer ended, is a limit of tokens.

    >>> parse_queries('Here you are: ```json {"queries": ["asyncio cancel"]} ```')
    ['asyncio cancel']
    >>> parse_queries('1. asyncio cancel\n2. "asyncio timeout"', in_words=True)
    ['asyncio cancel', 'asyncio timeout']
    """
    try:
        if isinstance(answer, str):
            queries = _queries_in(answer, in_words=in_words)
        else:
            queries = _checked(answer)
        if not any(map(str.strip, queries)):
            raise ValueError("The list of queries is empty.")  # noqa: TRY301 - as one of the others
    except ValueError as error:
        if is_cut_off(stop):
            raise CutOff(str(error)) from error
        raise
    return queries[:MAX_QUERIES]


def _queries_in(answer: str, *, in_words: bool) -> list[str]:
    try:
        return _checked(json.loads(answer[:MAX_CHARS]))
    except (ValueError, RecursionError):  # text around it, or another value around the queries
        text = without_thoughts(answer)[:MAX_CHARS]
    for written in (text, _LAST_COMMA.sub(r"\1", text)):
        if values := list(_json_values(written)):
            return _best(values)
    if in_words and len(items := _items(text)) >= _FEWEST_ITEMS:
        return items
    raise NoJsonError("The answer holds no JSON object.")


def _best(values: list[Any]) -> list[str]:
    """Return the last queries among the values. Raises ValueError where none has any."""
    problem: ValueError | None = None
    for value in reversed(values):
        try:
            queries = _checked(value)
        except ValueError as error:
            problem = problem or error
        else:
            if any(any(map(str.isalnum, query)) for query in queries):  # no "..." of the prompt
                return queries
    if problem is not None:
        raise problem
    return []


def _checked(value: Any) -> list[str]:
    """Return the queries of a JSON value. Raises ValueError for another form."""
    if isinstance(value, list):
        value = {"queries": value}
    return SearchQueries.model_validate(value).queries


def _json_values(text: str) -> Iterator[Any]:
    """Yield the objects in a text and the lists of texts, nested ones only of what is none."""
    at = 0
    for _ in range(_MAX_STARTS):
        found = _OPENS.search(text, at)
        if found is None:
            return
        at = found.start() + 1
        try:
            value, end = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        is_telling = "queries" in value if isinstance(value, dict) else _is_of_texts(value)
        at = end if is_telling else at
        if is_telling or isinstance(value, dict):
            yield value


def _is_of_texts(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)


def _items(text: str) -> list[str]:
    """Return the items of a list in words."""
    found = (_ITEM.fullmatch(line) for line in text.splitlines())
    items = (match[1].strip(_MARKS) for match in found if match)
    return [item for item in items if item and len(item) <= _MAX_ITEM_CHARS]


def without_thoughts(text: str) -> str:
    """Return the text without its closed thoughts, in one pass however many are left open.

    >>> without_thoughts("a<think>b</think>c<think>d")
    'ac<think>d'
    """
    kept, at = [], 0
    while (start := text.find(_OPENING, at)) >= 0 and (end := text.find(_CLOSING, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(_CLOSING)
    return "".join(kept) + text[at:]
