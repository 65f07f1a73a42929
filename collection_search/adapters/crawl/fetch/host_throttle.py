"""The throttle of each host: few connections at once, and a delay between two requests.

A `FetchPolicy` has both: the connections (`ports.ledger.PER_HOST`) and the delay (the setting
`fetch_delay_s`). The delay doubles after a 429 or 503, and decreases in small steps after other
answers. With `SharedTurns` the delay is kept by all processes together.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ....errors import FetchError
from .public_hosts import show_host

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .policy import FetchPolicy
    from .shared_turns import SharedTurns

_BACK_OFF: Final = 2.0
_FIRST_DELAY_S: Final = 0.1
"""The delay after a 429 or 503 if there was none before."""
_GAIN: Final = 0.1
"""The share of the full rate by which an answer raises the rate."""
_NO_FLOOR_S: Final = 0.01
_MAX_HOLD_S: Final = 3600.0
_MANY_HOSTS: Final = 10_000


@dataclass(slots=True, eq=False)
class HostThrottle:
    """The throttle of one host. Every `acquire` that returns is followed by one `release`."""

    name: str
    policy: FetchPolicy
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    turns: SharedTurns | None = None
    delay_s: float = field(init=False)
    """Seconds between the starts of two requests at present."""
    _next_at: float = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _asked_delay_s: float = field(init=False, default=0.0)
    _waiting: int = field(init=False, default=0)
    _active: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.delay_s = self.policy.min_delay_s
        self._next_at = self.clock()
        self._slots = asyncio.Semaphore(self.policy.per_host_connections)

    @property
    def is_idle(self) -> bool:
        """True when forgetting the host changes nothing."""
        is_due = self._next_at <= self.clock()
        in_use = self._waiting or self._active
        return is_due and not in_use and self.delay_s <= self._floor_s

    async def acquire(self) -> None:
        """Wait for a connection and for the delay. Raises FetchError (`host_busy`) if too long."""
        now = self.clock()
        is_free = self._active < self.policy.per_host_connections and not self._waiting
        is_due = now >= self._next_at and self.turns is None
        if is_free and is_due and not self._lock.locked():
            await self._slots.acquire()  # returns at once
            self._active += 1
            self._next_at = now + self.delay_s
            return
        expected = max(0.0, self._next_at - now) + self._waiting * self.delay_s
        if expected > self.policy.max_wait_s:
            raise self._busy(expected)
        self._waiting += 1
        try:
            async with asyncio.timeout(self.policy.max_wait_s):
                await self._slots.acquire()
        except TimeoutError:
            raise self._busy(self.delay_s) from None
        finally:
            self._waiting -= 1
        self._active += 1
        try:
            await self._wait_in_line(now + self.policy.max_wait_s)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Release the connection."""
        self._active -= 1
        self._slots.release()

    def speed_up(self) -> None:
        """Shorten the delay a little, after an answer other than 429 and 503."""
        if self.delay_s <= self._floor_s:
            return
        full = max(self._floor_s, _NO_FLOOR_S)
        slower = 1 / (1 / self.delay_s + _GAIN / full)
        self.delay_s = slower if slower > full else self._floor_s

    def slow_down(self, retry_after_s: float | None = None) -> float:
        """Lengthen the delay after a 429 or 503; return the seconds until the next request.

        These are the seconds that the host asks for, else the new delay.
        """
        slower = max(self.delay_s * _BACK_OFF, _FIRST_DELAY_S)
        self.delay_s = max(self._floor_s, min(slower, self.policy.max_delay_s))
        wait = self.delay_s if retry_after_s is None else retry_after_s
        self._next_at = max(self._next_at, self.clock() + min(wait, _MAX_HOLD_S))
        return wait

    async def back_off(self, retry_after_s: float | None = None) -> float:
        """Do what `slow_down` does, for all processes; return the same."""
        wait_s = self.slow_down(retry_after_s)
        if self.turns is not None:
            await self.turns.hold(self.name, min(wait_s, _MAX_HOLD_S))
        return wait_s

    def set_crawl_delay(self, seconds: float) -> None:
        """Use the Crawl-delay of the site's robots.txt, up to the longest permitted delay."""
        if seconds != self._asked_delay_s:
            self._asked_delay_s = seconds
            self.delay_s = max(self.delay_s, self._floor_s)

    @property
    def _floor_s(self) -> float:
        asked = min(self._asked_delay_s, self.policy.max_delay_s)
        return max(self.policy.min_delay_s, asked)

    async def _wait_in_line(self, until: float) -> None:
        async with self._lock:
            while (now := self.clock()) < self._next_at:
                if self._next_at > until:
                    raise self._busy(self._next_at - now)
                await self.sleep(self._next_at - now)
            if self.turns is not None:
                now = await self._take_turn(self.turns, until)
            self._next_at = now + self.delay_s

    async def _take_turn(self, turns: SharedTurns, until: float) -> float:
        """Wait for the requests of other processes; return the time after it."""
        left_s = max(0.0, until - self.clock())
        wait_s = await turns.take(self.name, self.delay_s, left_s)
        if wait_s > left_s:
            raise self._busy(wait_s)
        if wait_s:
            await self.sleep(wait_s)
        return self.clock()

    def _busy(self, seconds: float) -> FetchError:
        text = (
            f"{show_host(self.name)} has too many waiting requests: retry in about {seconds:.0f} s"
        )
        return FetchError(text, reason="host_busy", retry_in_s=seconds)


@dataclass(slots=True, eq=False)
class HostThrottles:
    """The throttles of all hosts of one event loop."""

    policy: FetchPolicy
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    turns: SharedTurns | None = None
    _hosts: dict[str, HostThrottle] = field(init=False, default_factory=dict)
    _tidy_at: int = field(init=False, default=_MANY_HOSTS)

    def of(self, host: str) -> HostThrottle:
        """Return the throttle of a host."""
        throttle = self._hosts.get(host)
        if throttle is None:
            if len(self._hosts) >= self._tidy_at:
                self._hosts = {name: one for name, one in self._hosts.items() if not one.is_idle}
                self._tidy_at = max(_MANY_HOSTS, 2 * len(self._hosts))
            throttle = HostThrottle(host, self.policy, self.clock, self.sleep, self.turns)
            self._hosts[host] = throttle
        return throttle
