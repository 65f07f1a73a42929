"""Times as text."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

_AGO: Final = re.compile(r"(\d{1,3}|an?) (minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_DAYS: Final = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}
_MAX_DATE_CHARS: Final = 40


def iso_time(unix_time: float) -> str:
    """Return a Unix time as ISO 8601 in UTC, to the second.

    >>> iso_time(0.5)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(unix_time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_day(written: str | None) -> date | None:
    """Return the day of a date or time in ISO 8601, in UTC; None for anything else.

    >>> utc_day("2026-01-31T23:30:00-02:00"), utc_day("2026-01-31, noon"), utc_day("yesterday")
    (datetime.date(2026, 2, 1), datetime.date(2026, 1, 31), None)
    """
    text = written or ""
    try:
        time = datetime.fromisoformat(text)
        return (time.astimezone(UTC) if time.tzinfo else time).date()
    except (ValueError, OverflowError):
        pass
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def read_date(value: Any, *, today: date) -> str | None:
    """Return a date as ISO 8601: a day, or a time with its zone; None where it cannot be read.

    RFC 2822, ISO 8601, English months and "3 days ago" are read, and Python's own dates. A time
    without a zone counts as UTC, a month as 30 days.

    >>> day = date(2026, 11, 21)
    >>> read_date("Tue, 03 Mar 2026 09:00:00 GMT", today=day), read_date("2026-03-03", today=day)
    ('2026-03-03T09:00:00+00:00', '2026-03-03')
    >>> read_date("2026-03-03T09:00:00", today=day), read_date("3 days ago", today=day)
    ('2026-03-03T09:00:00+00:00', '2026-11-18')
    >>> read_date("March 3, 2026", today=day), read_date("soon", today=day)
    ('2026-03-03', None)
    """
    if isinstance(value, datetime):
        return _with_zone(value)
    if isinstance(value, date):
        return value.isoformat()
    written = value.strip()[:_MAX_DATE_CHARS] if isinstance(value, str) else ""
    if not written:
        return None
    return _iso(written) or _ago(written, today) or _rfc_2822(written)


def _iso(written: str) -> str | None:
    try:
        if len(written) == len("2026-03-03"):
            return date.fromisoformat(written).isoformat()
        return _with_zone(datetime.fromisoformat(written))
    except ValueError:
        return None


def _ago(written: str, today: date) -> str | None:
    match = _AGO.fullmatch(written)
    if not match:
        return None
    count = int(match[1]) if match[1].isdecimal() else 1
    return (today - timedelta(days=count * _DAYS[match[2].lower()])).isoformat()


def _rfc_2822(written: str) -> str | None:
    """Return the time, or the day of a date without a time."""
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return _with_zone(parsedate_to_datetime(written))
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return parsedate_to_datetime(f"{written} 00:00").date().isoformat()
    return None


def _with_zone(time: datetime) -> str:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()
