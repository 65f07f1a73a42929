"""Spans of time as the command's options have them: 12h, 90d, 8w."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Final

from ...errors import InputError

_SECONDS: Final = {"h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}


def parse_age(age: str) -> float:
    """Return an age in seconds. Raises InputError.

    >>> parse_age("90d")
    7776000.0
    """
    seconds = _parse_span(age)
    if seconds is None:
        raise InputError(f"{age!r} is no age: write hours, days or weeks as in 12h, 90d, 8w.")
    return seconds


def parse_since(since: str, *, now: float) -> float:
    """Return the moment, in seconds since 1970. Raises InputError.

    >>> parse_since("2d", now=200_000.0), parse_since("1970-01-02", now=0.0)
    (27200.0, 86400.0)
    """
    seconds = _parse_span(since)
    if seconds is not None:
        return max(now - seconds, 0.0)
    try:
        day = date.fromisoformat(since.strip())
    except ValueError as error:
        raise InputError(
            f"--since {since!r} cannot be used: write 30d, 12h, 8w or a day such as 2026-11-01."
        ) from error
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _parse_span(text: str) -> float | None:
    """Return hours, days or weeks in seconds; None for another text."""
    parts = re.fullmatch(r"([0-9]{1,6})([hdw])", text.strip())
    return int(parts[1]) * _SECONDS[parts[2]] if parts else None
