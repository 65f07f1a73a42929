"""Times as text."""

from __future__ import annotations

from datetime import UTC, datetime


def iso_time(unix_time: float) -> str:
    """Return a Unix time as ISO 8601 in UTC, to the second.

    >>> iso_time(0.5)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(unix_time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
