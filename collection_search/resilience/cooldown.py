"""Cooldown of a provider: after a 429 and its `Retry-After`, and with a used-up plan."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..errors import SearchProviderError

MAX_COOLDOWN_S: Final = 31 * 86_400.0
"""A provider that names a longer time is asked again after this one."""
_MINUTE_S: Final = 60


def throttle_cooldown_s(failure: SearchProviderError) -> float | None:
    """Return the seconds of `Retry-After` for which a throttled provider (429) gets no request.

    None without that header, and after any other failure.

    >>> from collection_search.errors import SearchProviderQuotaExceeded as Throttled
    >>> throttle_cooldown_s(Throttled("slow down", retry_in_ms=1_500))
    1.5
    """
    return requested_cooldown_s(failure) if failure.code == "rateLimited" else None


def requested_cooldown_s(failure: SearchProviderError) -> float | None:
    """Return the seconds that the provider asked for, at most 31 days.

    None where it named none, or a time that is over.
    """
    if failure.retry_in_ms is None or failure.retry_in_ms <= 0:
        return None
    return min(failure.retry_in_ms / 1000, MAX_COOLDOWN_S)


def format_moment(seconds: float, now: float) -> str:
    """Return when a wait is over, as text; `now` is in seconds since 1970.

    >>> format_moment(4.2, 0), format_moment(3_600, 0)
    ('in 5 s', 'at 1970-01-01 01:00 UTC')
    """
    if seconds < _MINUTE_S:
        return f"in {math.ceil(seconds)} s"
    return f"at {datetime.fromtimestamp(now, UTC) + timedelta(seconds=seconds):%Y-%m-%d %H:%M} UTC"
