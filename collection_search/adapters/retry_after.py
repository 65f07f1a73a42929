"""Waiting times that servers ask for, in their various forms."""

from __future__ import annotations

import math
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final

LONGEST_WAIT_S: Final = 1e9
"""Longer waits are cut to this (31 years), so that milliseconds fit into 64 bits."""


def parse_seconds(value: Any, *, longest_s: float = LONGEST_WAIT_S) -> float | None:
    """Return a waiting time in seconds, at least 0; None for anything but a number.

    >>> (parse_seconds("7"), parse_seconds(1.5), parse_seconds("-5"), parse_seconds("soon"),
    ...  parse_seconds("inf"), parse_seconds(True))
    (7.0, 1.5, 0.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, number), longest_s) if math.isfinite(number) else None


def retry_after_s(
    value: str | None, *, now: float | None = None, longest_s: float = LONGEST_WAIT_S
) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, `longest_s` at most.

    A past date means 0. `now` are the seconds since 1970, by default the clock's.

    >>> now = 1_795_255_200.0
    >>> retry_after_s("Sat, 21 Nov 2026 10:00:45 GMT", now=now), retry_after_s("86400")
    (45.0, 86400.0)
    >>> retry_after_s("Sat, 21 Nov 2026 09:00:00 GMT", now=now), retry_after_s("garbage")
    (0.0, None)
    """
    if value is None:
        return None
    if (wait := parse_seconds(value, longest_s=longest_s)) is not None:
        return wait
    try:
        date = parsedate_to_datetime(value)
        if date.tzinfo is None:  # -0000, which means UTC of an unknown place
            date = date.replace(tzinfo=UTC)
        wait = date.timestamp() - (time.time() if now is None else now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return parse_seconds(wait, longest_s=longest_s)


def parse_numbers(value: str | None) -> list[int]:
    """Return the numbers of a header with one per time window, shortest window first.

    >>> parse_numbers("1, 1999"), parse_numbers("14"), parse_numbers("many"), parse_numbers(None)
    ([1, 1999], [14], [], [])
    """
    parts = [parse_seconds(part) for part in (value or "").split(",")]
    return [int(part) for part in parts if part is not None]
