"""Throttles: few connections, time between requests, slower when asked, never waiting for ever."""

from __future__ import annotations

import asyncio

import pytest

from collection_search.adapters.crawl.fetch.host_throttle import HostThrottle, HostThrottles
from collection_search.adapters.crawl.fetch.policy import FetchPolicy
from collection_search.errors import FetchError
from collection_search.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def throttle_of(clock: FakeClock, **policy: float) -> HostThrottle:
    return HostThrottles(FetchPolicy(**policy), clock.monotonic, clock.asleep).of("example.com")  # type: ignore[arg-type]


async def started(throttle: HostThrottle, clock: FakeClock) -> float:
    await throttle.acquire()
    throttle.release()
    return clock.monotonic()


async def test_requests_start_a_delay_apart(clock):
    throttle = throttle_of(clock, min_delay_s=2.0)
    assert [await started(throttle, clock) for _ in range(3)] == [0.0, 2.0, 4.0]


async def test_many_at_once_start_one_after_the_other(clock):
    throttle = throttle_of(clock, min_delay_s=1.0)
    times = await asyncio.gather(*(started(throttle, clock) for _ in range(5)))
    assert sorted(times) == [0.0, 1.0, 2.0, 3.0, 4.0]


async def test_connections_are_few(clock):
    throttle = throttle_of(clock, min_delay_s=0.0)
    await throttle.acquire()
    await throttle.acquire()
    third = asyncio.ensure_future(throttle.acquire())
    await asyncio.sleep(0)
    assert not third.done()
    throttle.release()
    await third


async def test_no_delay_no_wait(clock):
    throttle = throttle_of(clock, min_delay_s=0.0)
    for _ in range(100):
        await started(throttle, clock)
    assert clock.slept == []


async def test_a_long_queue_is_refused_at_once(clock):
    throttle = throttle_of(clock, min_delay_s=10.0, max_wait_s=25.0)
    calls = [asyncio.ensure_future(started(throttle, clock)) for _ in range(9)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    errors = [error for error in done if isinstance(error, FetchError)]
    assert errors
    assert len(errors) < 9
    for error in errors:
        assert (error.reason, error.retryable) == ("host_busy", True)
        assert error.retry_in_s


async def test_a_throttle_slows_down_and_answers_speed_up(clock):
    throttle = throttle_of(clock, min_delay_s=1.0, max_delay_s=30.0)
    delays = []
    for _ in range(6):
        throttle.slow_down()
        delays.append(throttle.delay_s)
    assert delays == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    count = 0
    while throttle.delay_s > 1.0 and count < 100:
        count += 1
        before = throttle.delay_s
        throttle.speed_up()
        assert throttle.delay_s <= before
    assert throttle.delay_s == 1.0
    assert 3 < count < 30


async def test_a_throttle_without_a_delay_is_felt_too(clock):
    throttle = throttle_of(clock, min_delay_s=0.0)
    assert throttle.slow_down() > 0.0
    for _ in range(50):
        throttle.speed_up()
    assert throttle.delay_s == 0.0


async def test_what_the_site_asks_for_holds_for_everybody(clock):
    throttle = throttle_of(clock, min_delay_s=1.0, max_wait_s=100.0)
    await started(throttle, clock)
    throttle.slow_down(7.0)
    assert await started(throttle, clock) == 7.0


async def test_a_hold_beyond_the_limit_is_refused(clock):
    throttle = throttle_of(clock, min_delay_s=1.0, max_wait_s=20.0)
    throttle.slow_down(1e9)
    with pytest.raises(FetchError) as caught:
        await throttle.acquire()
    assert caught.value.reason == "host_busy"
    assert caught.value.retry_in_s
    assert caught.value.retry_in_s <= 3600.0


async def test_the_sites_own_delay(clock):
    throttle = throttle_of(clock, min_delay_s=1.0, max_delay_s=30.0)
    throttle.set_crawl_delay(5.0)
    assert [await started(throttle, clock) for _ in range(3)] == [0.0, 5.0, 10.0]
    throttle.set_crawl_delay(1e6)
    assert throttle.delay_s == 30.0


async def test_a_cancelled_wait_blocks_nobody(clock):
    throttle = throttle_of(clock, per_host_connections=1)
    await throttle.acquire()
    waiting = asyncio.ensure_future(throttle.acquire())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    throttle.release()
    await started(throttle, clock)


async def test_hosts_without_anything_to_remember_are_forgotten(clock):
    throttles = HostThrottles(FetchPolicy(min_delay_s=0.0), clock.monotonic, clock.asleep)
    slow = throttles.of("slow")
    slow.slow_down(5.0)
    for number in range(10_001):
        await started(throttles.of(str(number)), clock)
    assert throttles.of("slow") is slow
    assert len(throttles._hosts) < 10_000
