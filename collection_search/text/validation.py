"""Validation of numbers in values of any type, where a bool is no number, and of texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def whole_number(value: Any, *, least: int | None = None, most: int | None = None) -> int | None:
    """Return the value as a plain `int`, None when it is no integer or out of range.

    >>> from http import HTTPStatus
    >>> whole_number(HTTPStatus.OK), whole_number(True), whole_number("73"), whole_number(7.0)
    (200, None, None, None)
    >>> whole_number(7, least=1, most=10), whole_number(11, least=1, most=10)
    (7, None)
    """
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    is_within = (least is None or least <= value) and (most is None or value <= most)
    return int(value) if is_within else None


def number_within(value: Any, least: float, most: float) -> float | None:
    """Return the value as a `float`, None when it is no number from `least` to `most`.

    >>> number_within(1, 0, 1), number_within(0.5, 0, 1), number_within(10**400, 0, 1)
    (1.0, 0.5, None)
    >>> number_within(True, 0, 1), number_within("0.5", 0, 1), number_within(float("nan"), 0, 1)
    (None, None, None)
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and least <= value <= most else None


def require_form(pattern: str, words: str) -> Callable[[str], str]:
    """Return a validator of texts that match as a whole; `words` say what is possible.

    The validator raises ValueError.

    >>> require_form("[a-z]{2}", "give two letters")("de")
    'de'
    """

    def validate(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(words)
        return text

    return validate
