"""Limit of retries among the requests."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from .sliding_window import SlidingWindow

if TYPE_CHECKING:
    from collections.abc import Callable


class RetryBudget:
    """A limit of retries to a share of the window's first requests; safe for threads.

    `floor` retries are always allowed, so that a single run may retry at all.

    >>> budget = RetryBudget(floor=1, clock=lambda: 0.0)
    >>> [budget.take(is_retry=True) for _ in range(2)]
    [True, False]
    """

    def __init__(
        self,
        *,
        share: float = 0.2,
        floor: int = 5,
        window_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._share = share
        self._floor = floor
        self._clock = clock
        self._window = SlidingWindow(window_s)
        self._granted = 0
        self._lock = threading.RLock()

    def grant(self) -> None:
        """Allow one retry that does not count: it makes good what a new rate limit cost."""
        with self._lock:
            self._granted += 1

    def take(self, *, is_retry: bool) -> bool:
        """Count one request and return True; for a retry above the limit return False."""
        with self._lock:
            if is_retry and self._granted:
                self._granted -= 1
                return True
            if is_retry and not self.has_room():
                return False
            self._window.add(self._clock(), good=not is_retry, bad=is_retry)
            return True

    def has_room(self) -> bool:
        """Return whether a retry would be allowed now."""
        with self._lock:
            first, retries = self._window.sums(self._clock())
            return self._granted > 0 or retries + 1 <= max(self._floor, self._share * first)
