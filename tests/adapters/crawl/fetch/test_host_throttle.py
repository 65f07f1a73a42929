"""Turns: few connections, time between requests, slower when asked, never waiting for ever."""

from __future__ import annotations

import asyncio

import pytest

from collection_search.adapters.crawl.fetch.host_throttle import HostTurns, Manners, Turns
from collection_search.errors import FetchError
from collection_search.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def turns_of(clock: FakeClock, **manners: float) -> HostTurns:
    return Turns(Manners(**manners), clock.monotonic, clock.asleep).of("example.com")  # type: ignore[arg-type]


async def started(turns: HostTurns, clock: FakeClock) -> float:
    await turns.enter()
    turns.leave()
    return clock.monotonic()


async def test_requests_start_a_delay_apart(clock):
    turns = turns_of(clock, min_delay_s=2.0)
    assert [await started(turns, clock) for _ in range(3)] == [0.0, 2.0, 4.0]


async def test_many_at_once_start_one_after_the_other(clock):
    turns = turns_of(clock, min_delay_s=1.0)
    times = await asyncio.gather(*(started(turns, clock) for _ in range(5)))
    assert sorted(times) == [0.0, 1.0, 2.0, 3.0, 4.0]


async def test_connections_are_few(clock):
    turns = turns_of(clock, min_delay_s=0.0)
    await turns.enter()
    await turns.enter()
    third = asyncio.ensure_future(turns.enter())
    await asyncio.sleep(0)
    assert not third.done()
    turns.leave()
    await third


async def test_no_delay_no_wait(clock):
    turns = turns_of(clock, min_delay_s=0.0)
    for _ in range(100):
        await started(turns, clock)
    assert clock.slept == []


async def test_a_long_queue_is_refused_at_once(clock):
    turns = turns_of(clock, min_delay_s=10.0, max_wait_s=25.0)
    calls = [asyncio.ensure_future(started(turns, clock)) for _ in range(9)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    errors = [error for error in done if isinstance(error, FetchError)]
    assert errors
    assert len(errors) < 9
    for error in errors:
        assert (error.reason, error.retryable) == ("host_busy", True)
        assert error.retry_in_s


async def test_a_throttle_slows_down_and_answers_speed_up(clock):
    turns = turns_of(clock, min_delay_s=1.0, max_delay_s=30.0)
    delays = []
    for _ in range(6):
        turns.throttled()
        delays.append(turns.delay_s)
    assert delays == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    count = 0
    while turns.delay_s > 1.0 and count < 100:
        count += 1
        before = turns.delay_s
        turns.answered()
        assert turns.delay_s <= before
    assert turns.delay_s == 1.0
    assert 3 < count < 30


async def test_a_throttle_without_a_delay_is_felt_too(clock):
    turns = turns_of(clock, min_delay_s=0.0)
    assert turns.throttled() > 0.0
    for _ in range(50):
        turns.answered()
    assert turns.delay_s == 0.0


async def test_what_the_site_asks_for_holds_for_everybody(clock):
    turns = turns_of(clock, min_delay_s=1.0, max_wait_s=100.0)
    await started(turns, clock)
    turns.throttled(7.0)
    assert await started(turns, clock) == 7.0


async def test_a_hold_beyond_the_limit_is_refused(clock):
    turns = turns_of(clock, min_delay_s=1.0, max_wait_s=20.0)
    turns.throttled(1e9)
    with pytest.raises(FetchError) as caught:
        await turns.enter()
    assert caught.value.reason == "host_busy"
    assert caught.value.retry_in_s
    assert caught.value.retry_in_s <= 3600.0


async def test_the_sites_own_delay(clock):
    turns = turns_of(clock, min_delay_s=1.0, max_delay_s=30.0)
    turns.ask_delay(5.0)
    assert [await started(turns, clock) for _ in range(3)] == [0.0, 5.0, 10.0]
    turns.ask_delay(1e6)
    assert turns.delay_s == 30.0


async def test_a_cancelled_wait_blocks_nobody(clock):
    turns = turns_of(clock, connections=1)
    await turns.enter()
    waiting = asyncio.ensure_future(turns.enter())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    turns.leave()
    await started(turns, clock)


async def test_hosts_without_anything_to_remember_are_forgotten(clock):
    all_turns = Turns(Manners(min_delay_s=0.0), clock.monotonic, clock.asleep)
    slow = all_turns.of("slow")
    slow.throttled(5.0)
    for number in range(10_001):
        await started(all_turns.of(str(number)), clock)
    assert all_turns.of("slow") is slow
    assert len(all_turns._hosts) < 10_000
