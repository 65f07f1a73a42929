"""Counts over the last seconds."""

from __future__ import annotations

from collections import deque
from typing import Final

PARTS: Final = 10


class SlidingWindow:
    """Two counts over a sliding window of ten parts; not safe for threads.

    Its real length lies between nine tenths of `span_s` and all of it.

    >>> window = SlidingWindow(10)
    >>> window.add(0.0, bad=1); window.add(5.0, good=2)
    >>> window.sums(9.9), window.first_bad_at(9.9), window.sums(10.0)
    ((2, 1), 0.0, (2, 0))
    """

    def __init__(self, span_s: float) -> None:
        self._part_s = span_s / PARTS
        self._parts: deque[_Part] = deque()

    def add(self, now: float, *, good: int = 0, bad: int = 0) -> None:
        """Add to the counts at this time; times never decrease."""
        number = int(now // self._part_s)
        if not self._parts or self._parts[-1].number < number:
            self._parts.append(_Part(number))
        part = self._parts[-1]
        if bad and not part.bad:
            part.first_bad_at = now
        part.good += good
        part.bad += bad

    def sums(self, now: float) -> tuple[int, int]:
        """Return both counts."""
        self._drop(now)
        return sum(part.good for part in self._parts), sum(part.bad for part in self._parts)

    def first_bad_at(self, now: float) -> float:
        """Return when the oldest of the bad ones was counted, or `now` without any."""
        self._drop(now)
        return next((part.first_bad_at for part in self._parts if part.bad), now)

    def clear(self) -> None:
        """Forget everything."""
        self._parts.clear()

    def _drop(self, now: float) -> None:
        oldest = int(now // self._part_s) - PARTS
        while self._parts and self._parts[0].number <= oldest:
            self._parts.popleft()


class _Part:
    __slots__ = ("bad", "first_bad_at", "good", "number")

    def __init__(self, number: int) -> None:
        self.number, self.good, self.bad, self.first_bad_at = number, 0, 0, 0.0
