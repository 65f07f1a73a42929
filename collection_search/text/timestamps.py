"""Times as text."""

from __future__ import annotations

from datetime import UTC, date, datetime


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
