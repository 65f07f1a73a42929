"""The retry rules of a search: whether to try again, and after what delay."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...errors import ErrorCode, SearchProviderError

MAX_BACKOFF_S: Final = 10.0
PERSISTENT_CODES: Final[frozenset[ErrorCode]] = frozenset({"rateLimited", "serviceUnavailable"})
"""Codes that are retried up to `max_attempts`; any other retryable failure is retried once."""


def backoff_s(attempt: int, *, factor: float) -> float:
    """Return the seconds to wait after the failed `attempt`, counted from 1.

    >>> [backoff_s(attempt, factor=0.6) for attempt in (1, 2, 3, 9)]
    [0.6, 1.2, 2.4, 10.0]
    """
    return min(factor * 2.0 ** (attempt - 1), MAX_BACKOFF_S)


def full_jitter(delay_s: float) -> float:
    """Return a random delay in seconds up to this one."""
    return random.uniform(0, delay_s)


@dataclass(frozen=True, slots=True)
class RetrySchedule:
    """The retry rules of one worker."""

    max_attempts: int
    """Upper bound over the rule of every code, the first attempt included."""
    backoff_factor: float
    """Seconds before the second attempt; they double with each further one."""
    jitter: Callable[[float], float] | None = None
    """Changes a computed delay, so that parallel callers do not retry at the same time."""

    def delay_s(self, failures: Sequence[SearchProviderError]) -> float | None:
        """Return the seconds to wait after these failures, oldest first, or None to give up.

        The error's own `retry_in_ms` replaces the computed delay and gets no jitter, zero included;
        adapters give none for a time that is over.

        >>> from collection_search.errors import SearchProviderTimeout
        >>> schedule = RetrySchedule(max_attempts=3, backoff_factor=0.6)
        >>> schedule.delay_s([SearchProviderTimeout(retry_in_ms=1500)])
        1.5
        >>> schedule.delay_s([SearchProviderTimeout(), SearchProviderTimeout()]) is None
        True
        """
        last = failures[-1]
        same = sum(one.code == last.code for one in failures)
        is_used_up = same > 1 and last.code not in PERSISTENT_CODES
        if not last.retryable or len(failures) >= self.max_attempts or is_used_up:
            return None
        if last.retry_in_ms is not None and last.retry_in_ms >= 0:
            return last.retry_in_ms / 1000
        delay = backoff_s(len(failures), factor=self.backoff_factor)
        return self.jitter(delay) if self.jitter else delay
