"""Rate limit by the generic cell rate algorithm (GCRA)."""

from __future__ import annotations

import heapq
import math
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


INSTANT_S: Final = 0.001
"""A shorter wait comes from a clock's rounding and is ignored."""


class Slot(NamedTuple):
    """The time of one request."""

    wait_s: float
    """Seconds to wait for it, from 0."""
    at: float
    """When it comes, on the limiter's clock."""
    era: int = 0
    """Number of the limiter's rate that gave it: after a change it is void."""


class RateLimiter:
    """A limiter whose slots are `interval_s` apart; safe for threads.

    `burst` requests may come at once after a pause. With an interval of 0 only `pause` delays a
    request. `change` gives it another rate.

    >>> limiter = RateLimiter(1.0, clock=lambda: 0.0)
    >>> [limiter.reserve().wait_s for _ in range(3)]
    [0.0, 1.0, 2.0]
    """

    def __init__(
        self, interval_s: float, *, burst: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._interval_s = interval_s
        self._tolerance_s = (burst - 1) * interval_s
        self._clock = clock
        self._lock = threading.Lock()
        self._full_at = -math.inf
        """When a whole burst is free again: the algorithm's theoretical arrival time."""
        self._given_back: list[float] = []
        self._started_full_at = -math.inf
        """The same as `_full_at`, for the requests that were really made."""
        self._era = 0

    @property
    def era(self) -> int:
        """Number of the present rate, from 0."""
        return self._era

    def reserve(self, *, max_wait_s: float = math.inf) -> Slot:
        """Return the next slot; reserve it unless it is more than `max_wait_s` away."""
        with self._lock:
            now = self._clock()
            while self._given_back and self._given_back[0] < now:
                heapq.heappop(self._given_back)
            if self._given_back:
                slot = Slot(self._given_back[0] - now, self._given_back[0], self._era)
                if slot.wait_s <= max_wait_s:
                    heapq.heappop(self._given_back)
                return slot
            at = max(now, self._full_at - self._tolerance_s)
            if at - now <= max_wait_s:
                self._full_at = max(now, self._full_at) + self._interval_s
            return Slot(at - now, at, self._era)

    def start(self) -> float:
        """Count the request of a slot, and return the seconds that it still has to wait.

        Slots keep their distance, but callers that sleep may wake late, and all at once.
        """
        with self._lock:
            now = self._clock()
            at = max(now, self._started_full_at - self._tolerance_s)
            self._started_full_at = max(now, self._started_full_at) + self._interval_s
            return at - now if at - now > INSTANT_S else 0.0

    def give_back(self, slot: Slot) -> None:
        """Release a slot in which no request was made."""
        with self._lock:
            if self._interval_s and slot.era == self._era and slot.at > self._clock():
                heapq.heappush(self._given_back, slot.at)

    def pause(self, seconds: float) -> None:
        """Reserve no slot before this time has passed, and no burst at its end.

        Slots that are already reserved do not change.
        """
        with self._lock:
            until = self._clock() + seconds
            self._full_at = max(self._full_at, until + self._tolerance_s)
            self._given_back = [at for at in self._given_back if at >= until]
            heapq.heapify(self._given_back)

    def change(
        self, interval_s: float, *, burst: int = 1, made: Iterable[float] = (), pause_s: float = 0.0
    ) -> None:
        """Change the rate, and reserve nothing within `pause_s` seconds.

        The requests `made` before, by their times in order, count in it. All slots become void.
        """
        with self._lock:
            self._era += 1
            self._interval_s, self._tolerance_s = interval_s, (burst - 1) * interval_s
            self._given_back = []
            full_at = -math.inf
            for at in made:
                full_at = max(at, full_at) + interval_s
            self._started_full_at = full_at
            self._full_at = max(
                full_at, self._clock() + pause_s + self._tolerance_s * bool(pause_s)
            )
