"""How fast each host is asked: few connections at once, and a delay between two requests.

The delay doubles when the host says that it is asked too much (429, 503), and shrinks in small
steps while it answers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from ....errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .policy import FetchPolicy

_BACK_OFF: Final = 2.0
_FIRST_DELAY_S: Final = 0.1
"""After a throttle, where no delay was kept before."""
_GAIN: Final = 0.1
"""How much of the full rate an answer gives back."""
_NO_FLOOR_S: Final = 0.01
_MAX_HOLD_S: Final = 3600.0
_MANY_HOSTS: Final = 10_000


class HostThrottle:
    """The requests to one host. Every `acquire` that returns is followed by one `release`."""

    __slots__ = ("_active", "_asked_delay_s", "_clock", "_delay_s", "_gate", "_name", "_next_at",
                 "_policy", "_sleep", "_slots", "_waiting")  # fmt: skip

    def __init__(
        self,
        name: str,
        policy: FetchPolicy,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._name = name
        self._policy = policy
        self._clock = clock
        self._sleep = sleep
        self._slots = asyncio.Semaphore(policy.per_host_connections)
        self._gate = asyncio.Lock()
        self._asked_delay_s = 0.0
        self._delay_s = policy.min_delay_s
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

    async def acquire(self) -> None:
        """Wait for a free place. Raises FetchError (`host_busy`) where that takes too long."""
        now = self._clock()
        is_free = self._active < self._policy.per_host_connections and not self._waiting
        if is_free and now >= self._next_at and not self._gate.locked():
            await self._slots.acquire()  # does not wait
            self._active += 1
            self._next_at = now + self._delay_s
            return
        expected = max(0.0, self._next_at - now) + self._waiting * self._delay_s
        if expected > self._policy.max_wait_s:
            raise self._busy(expected)
        self._waiting += 1
        try:
            async with asyncio.timeout(self._policy.max_wait_s):
                await self._slots.acquire()
        except TimeoutError:
            raise self._busy(self._delay_s) from None
        finally:
            self._waiting -= 1
        self._active += 1
        try:
            await self._wait_in_line(now + self._policy.max_wait_s)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Give the connection back."""
        self._active -= 1
        self._slots.release()

    def speed_up(self) -> None:
        """Shorten the delay a little, after an answer that is no throttle."""
        if self._delay_s <= self._floor_s:
            return
        full = max(self._floor_s, _NO_FLOOR_S)
        slower = 1 / (1 / self._delay_s + _GAIN / full)
        self._delay_s = slower if slower > full else self._floor_s

    def slow_down(self, retry_after_s: float | None = None) -> float:
        """Lengthen the delay after a throttle; return the seconds until the next request.

        They are those that the host asks for, else the new delay.
        """
        slower = max(self._delay_s * _BACK_OFF, _FIRST_DELAY_S)
        self._delay_s = max(self._floor_s, min(slower, self._policy.max_delay_s))
        wait = self._delay_s if retry_after_s is None else retry_after_s
        self._next_at = max(self._next_at, self._clock() + min(wait, _MAX_HOLD_S))
        return wait

    def set_crawl_delay(self, seconds: float) -> None:
        """Keep the delay that the site asks for in robots.txt, up to the longest that is kept."""
        if seconds != self._asked_delay_s:
            self._asked_delay_s = seconds
            self._delay_s = max(self._delay_s, self._floor_s)

    @property
    def _floor_s(self) -> float:
        asked = min(self._asked_delay_s, self._policy.max_delay_s)
        return max(self._policy.min_delay_s, asked)

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


class HostThrottles:
    """The throttles of all hosts that were asked; they belong to one event loop."""

    def __init__(
        self,
        policy: FetchPolicy,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._sleep = sleep
        self._hosts: dict[str, HostThrottle] = {}
        self._tidy_at = _MANY_HOSTS

    def of(self, host: str) -> HostThrottle:
        """Return the throttle of a host."""
        throttle = self._hosts.get(host)
        if throttle is None:
            if len(self._hosts) >= self._tidy_at:
                self._hosts = {name: one for name, one in self._hosts.items() if not one.is_idle}
                self._tidy_at = max(_MANY_HOSTS, 2 * len(self._hosts))
            throttle = HostThrottle(host, self._policy, self._clock, self._sleep)
            self._hosts[host] = throttle
        return throttle
