"""The rate limit of a plan of one request per second, for a provider's dialect."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class OneASecond:
    """A vendor that throttles what comes within a second of the request before, by its clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.clock = clock
        self.arrivals: list[float] = []
        self.throttled = 0
        self._lock = threading.Lock()

    def is_early(self) -> bool:
        """Return whether the request that has just come is refused; counts it."""
        with self._lock:
            now = self.clock()
            early = bool(self.arrivals) and now - self.arrivals[-1] < 1.0
            self.arrivals.append(now)
            self.throttled += early
            return early
