"""Throttles of several processes that share the turns of a site."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from support.virtual_time import VirtualTime
from support.waiting import PATIENCE_S

from collection_search.adapters.crawl.fetch import shared_turns
from collection_search.adapters.crawl.fetch.host_throttle import HostThrottle, HostThrottles
from collection_search.adapters.crawl.fetch.policy import FetchPolicy
from collection_search.adapters.crawl.fetch.shared_turns import RETRY_S, SharedTurns
from collection_search.errors import FetchError, StoreError
from collection_search.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable


class Turns:
    """The turns of one site; fails when it is told to."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.next_at = 0.0
        self.calls = 0
        self.error: StoreError | None = None

    def take(self, site: str, delay_s: float, most_s: float) -> float:
        now = self._called()
        wait_s = max(0.0, self.next_at - now)
        if wait_s <= most_s:
            self.next_at = now + wait_s + delay_s
        return wait_s

    def hold(self, site: str, seconds: float) -> None:
        self.next_at = max(self.next_at, self._called() + seconds)

    def _called(self) -> float:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return self.now()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def turns(clock: FakeClock) -> Turns:
    return Turns(clock.monotonic)


def throttle_of(turns: Turns, clock: FakeClock, **policy: float) -> HostThrottle:
    """Return the throttle of one process."""
    given = FetchPolicy(**policy)  # type: ignore[arg-type]
    shared = SharedTurns(turns, monotonic=clock.monotonic)
    return HostThrottles(given, clock.monotonic, clock.asleep, shared).of("example.com")


async def started(throttle: HostThrottle, clock: FakeClock) -> float:
    await throttle.acquire()
    throttle.release()
    return clock.monotonic()


async def test_processes_keep_the_delay_together(turns: Turns, clock: FakeClock) -> None:
    """Two that ask a site in turn are no faster than one."""
    one, other = (throttle_of(turns, clock, min_delay_s=2.0) for _ in range(2))
    times = [await started(throttle, clock) for throttle in (one, other, one, other, one)]
    assert times == [0.0, 2.0, 4.0, 6.0, 8.0]


async def test_processes_that_ask_at_once_start_one_by_one() -> None:
    """However their requests meet, no two starts are nearer than the delay."""
    time = VirtualTime()
    turns, times = Turns(time.monotonic), list[float]()

    async def ask(throttle: HostThrottle) -> None:
        for _ in range(3):
            await throttle.acquire()
            times.append(time.monotonic())
            throttle.release()

    def throttle() -> HostThrottle:
        shared = SharedTurns(turns, monotonic=time.monotonic)
        policy = FetchPolicy(min_delay_s=1.0)
        return HostThrottles(policy, time.monotonic, time.asleep, shared).of("example.com")

    await time.gather(*(ask(throttle()) for _ in range(3)))
    assert len(times) == 9
    assert all(after - before >= 1.0 for before, after in pairwise(sorted(times)))


async def test_what_the_site_asks_one_process_holds_for_the_others(
    turns: Turns, clock: FakeClock
) -> None:
    """A Retry-After is kept by those who have not seen it."""
    one, other = (throttle_of(turns, clock, min_delay_s=1.0) for _ in range(2))
    await started(one, clock)
    assert await one.back_off(7.0) == 7.0
    assert await started(other, clock) == 7.0


async def test_a_turn_that_is_too_far_away_is_refused(turns: Turns, clock: FakeClock) -> None:
    """The row waits in the ledger; nobody waits here."""
    one, other = (throttle_of(turns, clock, min_delay_s=1.0, max_wait_s=20.0) for _ in range(2))
    await one.back_off(300.0)
    with pytest.raises(FetchError) as caught:
        await other.acquire()
    assert (caught.value.reason, caught.value.retry_in_s) == ("host_busy", 300.0)
    clock.advance(300.0)
    assert await started(other, clock) == 300.0


async def test_without_a_delay_nobody_is_asked(turns: Turns, clock: FakeClock) -> None:
    """Such a crawl has no turns."""
    throttle = throttle_of(turns, clock, min_delay_s=0.0)
    for _ in range(10):
        assert await started(throttle, clock) == 0.0
    assert turns.calls == 0


async def test_a_store_that_fails_stops_no_fetch(
    turns: Turns, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The process keeps the delay for itself, and asks the store again after a while."""
    throttle = throttle_of(turns, clock, min_delay_s=1.0)
    turns.error = StoreError("The database is down.", retryable=True)
    assert [await started(throttle, clock) for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]
    assert turns.calls == 1
    assert caplog.text.count("The database is down.") == 1
    turns.error = None
    turns.next_at = clock.monotonic() + RETRY_S + 5.0
    clock.advance(RETRY_S)
    assert await started(throttle, clock) == 3.0 + RETRY_S + 5.0


async def test_a_store_that_hangs_stops_no_fetch(
    clock: FakeClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given up after a while, and its thread is left alone."""
    monkeypatch.setattr(shared_turns, "ANSWER_S", 0.05)
    hangs = threading.Event()

    class Hanging(Turns):
        def take(self, site: str, delay_s: float, most_s: float) -> float:
            assert hangs.wait(PATIENCE_S)
            return 0.0

    try:
        throttle = throttle_of(Hanging(clock.monotonic), clock, min_delay_s=1.0)
        assert [await started(throttle, clock) for _ in range(2)] == [0.0, 1.0]
    finally:
        hangs.set()
    assert "no answer within" in caplog.text
