"""A clock for many tasks and threads at once: time passes only while all of them sleep."""

from __future__ import annotations

import asyncio
import heapq
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

T = TypeVar("T")


class VirtualTime:
    """Moves to the next sleeper's end once nobody is awake; what they do takes no time.

    One sleeper wakes at a time, so that the order is always the same.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._awake = 0
        self._order = count()
        self._sleeping: list[tuple[float, int, Callable[[], object]]] = []
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        return self._now

    def time(self) -> float:
        return 1_700_000_000.0 + self._now

    def sleep(self, seconds: float) -> None:
        woken = threading.Event()
        self._lie_down(seconds, woken.set)
        assert woken.wait(120), "nobody moved the clock"

    async def asleep(self, seconds: float) -> None:
        woken, loop = asyncio.Event(), asyncio.get_running_loop()
        self._lie_down(seconds, lambda: loop.call_soon_threadsafe(woken.set))
        await woken.wait()

    async def gather(self, *searches: Coroutine[object, object, T]) -> list[T]:
        """Return the results; every sleep of theirs has to be one of this clock's."""

        async def counted(search: Awaitable[T]) -> T:
            try:
                return await search
            finally:
                self._leave()

        self._awake += len(searches)
        return await asyncio.gather(*(counted(search) for search in searches))

    def threads(self, calls: Sequence[Callable[[], T]]) -> list[T]:
        """Return the results of the calls, each made in a thread of its own."""

        def counted(call: Callable[[], T]) -> T:
            try:
                return call()
            finally:
                self._leave()

        self._awake += len(calls)
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(counted, calls))

    def _lie_down(self, seconds: float, wake: Callable[[], object]) -> None:
        with self._lock:
            heapq.heappush(self._sleeping, (self._now + seconds, next(self._order), wake))
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._awake -= 1
            if self._awake or not self._sleeping:
                return
            at, _, wake = heapq.heappop(self._sleeping)
            self._now, self._awake = max(self._now, at), 1
        wake()
