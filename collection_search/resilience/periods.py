"""Days and months of a quota, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

Period = Literal["day", "month"]


def period_name(at: float, period: Period) -> str:
    """Return the name of the period in which a time lies, in seconds since 1970.

    >>> period_name(1_795_219_200, "month"), period_name(1_795_219_200, "day")
    ('2026-11', '2026-11-21')
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m" if period == "month" else "%Y-%m-%d")


def seconds_left(at: float, period: Period) -> float:
    """Return the seconds until the next period begins.

    >>> seconds_left(1_795_219_200, "day"), seconds_left(1_795_219_200, "month")
    (86400.0, 864000.0)
    """
    now = datetime.fromtimestamp(at, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + timedelta(days=1)
    next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return ((next_month if period == "month" else tomorrow) - now).total_seconds()
