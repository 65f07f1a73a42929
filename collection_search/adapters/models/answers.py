"""Reads the queries out of what a model wrote, in whatever wrapping it came."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ...prompts import SearchQueries

_THOUGHTS: Final = re.compile(r"<think>.*?</think>", re.DOTALL)
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)


class NoJsonError(ValueError):
    """The text holds no JSON object."""


def queries_of(answer: Any) -> list[str]:
    """Return the queries of an answer: a mapping, or a text with one JSON object in it.

    Raises NoJsonError for a text without one, ValueError for an object without queries.

    >>> queries_of('Here you are: ```json {"queries": ["asyncio cancel"]} ```')
    ['asyncio cancel']
    """
    queries = SearchQueries.model_validate(_parsed(answer)).queries
    if not queries:
        raise ValueError("The list of queries is empty.")
    return queries


def _parsed(answer: Any) -> Any:
    if not isinstance(answer, str):
        return answer
    try:
        return json.loads(answer)
    except ValueError:
        found = _OBJECT.search(_THOUGHTS.sub("", answer))
    try:
        return json.loads(found[0] if found else "")
    except ValueError as error:
        raise NoJsonError("The answer holds no JSON object.") from error
