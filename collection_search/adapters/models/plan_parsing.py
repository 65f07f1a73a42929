"""The queries in a model's answer: JSON, alone or inside of other text."""

from __future__ import annotations

import json
from typing import Any, Final

from ...planning.prompts import SearchQueries

MAX_CHARS: Final = 50_000
"""The limit of a text that is read, without its thoughts."""
MAX_QUERIES: Final = 50
"""The limit of a list of queries that is read."""
_OPENING, _CLOSING = "<think>", "</think>"


class NoJsonError(ValueError):
    """The text holds no JSON object."""


def parse_queries(answer: Any) -> list[str]:
    """Return the first 50 queries of an answer: a mapping, or a text with one JSON object in it.

    Raises NoJsonError for a text without one, ValueError for an object without queries.

    >>> parse_queries('Here you are: ```json {"queries": ["asyncio cancel"]} ```')
    ['asyncio cancel']
    """
    queries = SearchQueries.model_validate(_parsed(answer)).queries
    if not queries:
        raise ValueError("The list of queries is empty.")
    return queries[:MAX_QUERIES]


def _parsed(answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    try:
        return json.loads(answer[:MAX_CHARS])
    except (ValueError, RecursionError):
        text = without_thoughts(answer)[:MAX_CHARS]
    try:
        return json.loads(text[max(text.find("{"), 0) : text.rfind("}") + 1])
    except (ValueError, RecursionError) as error:
        raise NoJsonError("The answer holds no JSON object.") from error


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
