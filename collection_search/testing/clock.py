"""A clock that moves only on request."""

from __future__ import annotations

import asyncio


class FakeClock:
    """Time without waiting: every sleep moves the clock at once and is remembered.

    Give its methods where code takes a timer or a sleep.

    >>> clock = FakeClock()
    >>> clock.sleep(0.5)
    >>> clock.monotonic(), clock.slept
    (0.5, [0.5])
    """

    def __init__(self, *, epoch_s: float = 1_700_000_000.0) -> None:
        self.slept: list[float] = []
        """Seconds of every sleep, in order."""
        self._epoch_s = epoch_s
        self._passed_s = 0.0

    def monotonic(self) -> float:
        """Return the seconds since the clock was made."""
        return self._passed_s

    def time(self) -> float:
        """Return the seconds since 1970."""
        return self._epoch_s + self._passed_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed_s += seconds

    def sleep(self, seconds: float) -> None:
        """Pass the time and return at once."""
        self.slept.append(seconds)
        self.advance(seconds)

    async def asleep(self, seconds: float) -> None:
        """Pass the time and let other tasks run once."""
        self.sleep(seconds)
        await asyncio.sleep(0)
