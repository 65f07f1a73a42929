"""Slots are as far apart as they should be, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from collection_search.resilience.rate_limit import RateLimiter
from collection_search.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_burst_comes_at_once_and_then_the_rate(clock: FakeClock) -> None:
    """After a pause the burst is free again, and no more than it."""
    limiter = RateLimiter(2.0, burst=3, clock=clock.monotonic)
    assert [limiter.reserve().wait_s for _ in range(5)] == [0, 0, 0, 2, 4]
    clock.advance(1_000)
    assert [limiter.reserve().wait_s for _ in range(4)] == [0, 0, 0, 2]


def test_no_interval_is_no_limit(clock: FakeClock) -> None:
    """Nobody waits for a provider whose rate is not known."""
    limiter = RateLimiter(0.0, clock=clock.monotonic)
    assert [limiter.reserve().wait_s for _ in range(5)] == [0] * 5


def test_a_slot_that_comes_too_late_is_not_taken(clock: FakeClock) -> None:
    """Whoever gives up at once does not make the others wait."""
    limiter = RateLimiter(1.0, clock=clock.monotonic)
    limiter.reserve()
    assert limiter.reserve(max_wait_s=0.5).wait_s == 1.0
    assert limiter.reserve(max_wait_s=1.0).wait_s == 1.0
    assert limiter.reserve().wait_s == 2.0


def test_a_slot_given_back_goes_to_the_next(clock: FakeClock) -> None:
    """Also under a limit of time; one that has passed is gone."""
    limiter = RateLimiter(1.0, clock=clock.monotonic)
    slots = [limiter.reserve() for _ in range(4)]
    limiter.give_back(slots[2])
    limiter.give_back(slots[1])
    assert limiter.reserve(max_wait_s=0.5).at == 1.0
    assert [limiter.reserve().at for _ in range(3)] == [1, 2, 4]
    limiter.give_back(slots[3])
    clock.advance(3.5)
    assert limiter.reserve().at == 5.0


def test_holding_off_holds_all(clock: FakeClock) -> None:
    """At the end of the pause the requests come one by one, and no older slot is used."""
    limiter = RateLimiter(1.0, burst=2, clock=clock.monotonic)
    slots = [limiter.reserve() for _ in range(4)]
    limiter.give_back(slots[3])
    limiter.pause(10)
    assert [limiter.reserve().at for _ in range(3)] == [10, 11, 12]
    limiter.pause(1)
    assert limiter.reserve().at == 13


def test_holding_off_works_without_a_rate(clock: FakeClock) -> None:
    """It is what the provider asked for."""
    limiter = RateLimiter(0.0, clock=clock.monotonic)
    limiter.pause(5)
    assert limiter.reserve().wait_s == 5
    clock.advance(5)
    assert limiter.reserve().wait_s == 0


def test_threads_get_slots_of_their_own(clock: FakeClock) -> None:
    """No slot twice, none left out."""
    limiter = RateLimiter(1.0, clock=clock.monotonic)
    with ThreadPoolExecutor(8) as pool:
        slots = list(pool.map(lambda _: limiter.reserve().at, range(500)))
    assert sorted(slots) == list(range(500))


def test_those_who_wake_late_keep_their_distance(clock: FakeClock) -> None:
    """A loop that stood still lets three sleepers go at once: the request counts, not the slot."""
    limiter = RateLimiter(1.0, clock=clock.monotonic)
    assert [limiter.reserve().wait_s for _ in range(4)] == [0, 1, 2, 3]
    assert limiter.start() == 0
    clock.advance(2.5)
    assert [limiter.start() for _ in range(3)] == [0, 1, 2]


def test_those_who_come_in_time_never_wait_twice(clock: FakeClock) -> None:
    """Whatever the clock's rounding, and with a burst too."""
    limiter = RateLimiter(0.1, burst=2, clock=clock.monotonic)
    for slot in [limiter.reserve() for _ in range(50)]:
        clock.advance(max(0.0, slot.at - clock.monotonic() - 1e-9))
        assert limiter.start() == 0
    clock.advance(100)
    assert [limiter.start() for _ in range(3)] == [0, 0, pytest.approx(0.1)]
