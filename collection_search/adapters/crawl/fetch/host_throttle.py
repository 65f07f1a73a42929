"""Whose turn it is: few connections per host, time between requests, and less when it is too much.

The time between two requests to a host grows by a factor when it says that it is asked too much,
and shrinks in small steps while it answers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from ....errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_BACK_OFF: Final = 2.0
_FIRST_DELAY_S: Final = 0.1
"""After a throttle, where no delay was kept before."""
_GAIN: Final = 0.1
"""How much of the full rate an answer gives back."""
_NO_FLOOR_S: Final = 0.01
_MAX_HOLD_S: Final = 3600.0
_MANY_HOSTS: Final = 10_000


class Manners(NamedTuple):
    """How hosts are treated; times in seconds."""

    connections: int = 2
    min_delay_s: float = 1.0
    max_delay_s: float = 30.0
    max_wait_s: float = 60.0


class HostTurns:
    """The turns of one host. Every `enter` that returns is followed by one `leave`."""

    __slots__ = ("_active", "_asked_delay_s", "_clock", "_delay_s", "_gate", "_manners", "_name",
                 "_next_at", "_sleep", "_slots", "_waiting")  # fmt: skip

    def __init__(
        self,
        name: str,
        manners: Manners,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._name = name
        self._manners = manners
        self._clock = clock
        self._sleep = sleep
        self._slots = asyncio.Semaphore(manners.connections)
        self._gate = asyncio.Lock()
        self._asked_delay_s = 0.0
        self._delay_s = manners.min_delay_s
        self._next_at = clock()
        self._waiting = 0
        self._active = 0

    @property
    def delay_s(self) -> float:
        """Seconds between the starts of two requests at present."""
        return self._delay_s

    @property
    def is_idle(self) -> bool:
        """True when forgetting the host changes nothing."""
        is_due = self._next_at <= self._clock()
        in_use = self._waiting or self._active
        return is_due and not in_use and self._delay_s <= self._floor_s

    async def enter(self) -> None:
        """Wait for the turn. Raises FetchError (`host_busy`) when that would take too long."""
        now = self._clock()
        is_free = self._active < self._manners.connections and not self._waiting
        if is_free and now >= self._next_at and not self._gate.locked():
            await self._slots.acquire()  # does not wait
            self._active += 1
            self._next_at = now + self._delay_s
            return
        expected = max(0.0, self._next_at - now) + self._waiting * self._delay_s
        if expected > self._manners.max_wait_s:
            raise self._busy(expected)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._manners.max_wait_s):
                await self._slots.acquire()
        except TimeoutError:
            raise self._busy(self._delay_s) from None
        finally:
            self._waiting -= 1
        self._active += 1
        try:
            await self._wait_in_line(now + self._manners.max_wait_s)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Give the connection back."""
        self._active -= 1
        self._slots.release()

    def answered(self) -> None:
        """Note an answer that is no throttle: go a little faster."""
        if self._delay_s <= self._floor_s:
            return
        full = max(self._floor_s, _NO_FLOOR_S)
        slower = 1 / (1 / self._delay_s + _GAIN / full)
        self._delay_s = slower if slower > full else self._floor_s

    def throttled(self, retry_after_s: float | None = None) -> float:
        """Note a throttle: go slower, hold back as long as the host says.

        Returns the seconds until the next request.
        """
        slower = max(self._delay_s * _BACK_OFF, _FIRST_DELAY_S)
        self._delay_s = max(self._floor_s, min(slower, self._manners.max_delay_s))
        wait = self._delay_s if retry_after_s is None else retry_after_s
        self._next_at = max(self._next_at, self._clock() + min(wait, _MAX_HOLD_S))
        return wait

    def ask_delay(self, seconds: float) -> None:
        """Keep the site's own delay, up to the longest that is kept."""
        if seconds != self._asked_delay_s:
            self._asked_delay_s = seconds
            self._delay_s = max(self._delay_s, self._floor_s)

    @property
    def _floor_s(self) -> float:
        asked = min(self._asked_delay_s, self._manners.max_delay_s)
        return max(self._manners.min_delay_s, asked)

    async def _wait_in_line(self, until: float) -> None:
        async with self._gate:
            while (now := self._clock()) < self._next_at:
                if self._next_at > until:
                    raise self._busy(self._next_at - now)
                await self._sleep(self._next_at - now)
            self._next_at = now + self._delay_s

    def _busy(self, seconds: float) -> FetchError:
        return FetchError(
            f"{self._name} may not be asked yet: its turn comes in about {seconds:.0f} s",
            reason="host_busy",
            retry_in_s=seconds,
        )


class Turns:
    """The hosts that were asked, each with its turns; of one event loop."""

    def __init__(
        self,
        manners: Manners,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._manners = manners
        self._clock = clock
        self._sleep = sleep
        self._hosts: dict[str, HostTurns] = {}
        self._tidy_at = _MANY_HOSTS

    def of(self, host: str) -> HostTurns:
        """Return the host's turns."""
        turns = self._hosts.get(host)
        if turns is None:
            if len(self._hosts) >= self._tidy_at:
                self._hosts = {name: one for name, one in self._hosts.items() if not one.is_idle}
                self._tidy_at = max(_MANY_HOSTS, 2 * len(self._hosts))
            turns = HostTurns(host, self._manners, self._clock, self._sleep)
            self._hosts[host] = turns
        return turns
