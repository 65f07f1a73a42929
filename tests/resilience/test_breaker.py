"""A provider that fails is left alone for a while, and tried by one."""

from __future__ import annotations

import pytest

from collection_search.resilience.breaker import Breaker, BreakerRules, Pass, Refusal
from collection_search.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def breaker(clock: FakeClock) -> Breaker:
    return Breaker(BreakerRules(), clock=clock.monotonic)


def enter(breaker: Breaker) -> Pass:
    passed = breaker.enter()
    assert isinstance(passed, Pass)
    return passed


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        breaker.failed(enter(breaker), "no answer")


def open_up(breaker: Breaker, clock: FakeClock) -> None:
    fail(breaker, 5)
    clock.advance(1)
    fail(breaker)


class TestOpening:
    def test_a_full_outage(self, breaker: Breaker, clock: FakeClock) -> None:
        """Ten requests a second, all failing: open long before 5 s, whatever was before."""
        for _ in range(1_000):
            breaker.succeeded(enter(breaker))
        started = clock.monotonic()
        while not isinstance(passed := breaker.enter(), Refusal):
            breaker.failed(passed, "connection refused")
            clock.advance(0.1)
        assert clock.monotonic() - started <= 1.5
        assert (passed.cause, passed.reason) == ("failing", "connection refused")
        assert 4 < passed.retry_in_s <= 5

    def test_one_moment_of_trouble_passes(self, breaker: Breaker) -> None:
        """Twenty parallel requests that break together are no outage yet: a retry may succeed."""
        passes = [enter(breaker) for _ in range(20)]
        for passed in passes:
            breaker.failed(passed, "reset")
        assert breaker.refusal() is None

    def test_a_few_requests_in_a_row(self, breaker: Breaker, clock: FakeClock) -> None:
        """A quiet process finds out too, though its window never fills."""
        for _ in range(4):
            fail(breaker)
            clock.advance(10)
        assert breaker.refusal() is None
        fail(breaker)
        assert breaker.refusal() is not None

    def test_failures_an_hour_apart_are_no_series(self, breaker: Breaker, clock: FakeClock) -> None:
        """Nobody asked in between."""
        for _ in range(10):
            fail(breaker)
            clock.advance(3_600)
        assert breaker.refusal() is None

    @pytest.mark.parametrize(("every", "opens"), [(2, True), (3, False), (10, False)])
    def test_half_of_the_requests_failing(
        self, breaker: Breaker, clock: FakeClock, every: int, opens: bool
    ) -> None:
        """A third of them is the retries' business."""
        for number in range(100):
            if breaker.refusal() is not None:
                break
            passed = enter(breaker)
            if number % every:
                breaker.succeeded(passed)
            else:
                breaker.failed(passed, "overloaded")
            clock.advance(0.1)
        assert (breaker.refusal() is not None) is opens

    def test_a_refused_key(self, breaker: Breaker) -> None:
        """Three refusals in a row: it will not be accepted by asking again."""
        for _ in range(2):
            breaker.key_refused(enter(breaker), "401")
        assert breaker.refusal() is None
        breaker.key_refused(enter(breaker), "401")
        assert breaker.refusal() == Refusal("authentication", "401", 300)

    def test_a_key_that_is_refused_now_and_then(self, breaker: Breaker) -> None:
        """Some providers do that to a good key."""
        for _ in range(10):
            breaker.key_refused(enter(breaker), "422")
            breaker.key_refused(enter(breaker), "422")
            breaker.succeeded(enter(breaker))
        assert breaker.refusal() is None

    def test_a_quota_that_is_used_up(self, breaker: Breaker, clock: FakeClock) -> None:
        """Once said, it holds until the reset, also against answers that are under way."""
        late = enter(breaker)
        breaker.used_up(late, 3_600, "no credits")
        breaker.succeeded(late)
        clock.advance(3_599)
        assert breaker.refusal() == Refusal("quota", "no credits", 1)
        clock.advance(1)
        assert enter(breaker).is_trial

    def test_a_quota_without_a_told_reset(self, breaker: Breaker, clock: FakeClock) -> None:
        """Ten minutes, then a trial each, twice as late up to an hour; success starts anew."""
        waits = []
        for _ in range(5):
            breaker.used_up(enter(breaker), None, "no credits")
            refusal = breaker.refusal()
            assert refusal is not None
            waits.append(refusal.retry_in_s)
            clock.advance(refusal.retry_in_s)
        assert waits == [600, 1_200, 2_400, 3_600, 3_600]
        breaker.succeeded(enter(breaker))
        breaker.used_up(enter(breaker), None, "no credits")
        assert breaker.refusal() == Refusal("quota", "no credits", 600)

    def test_refusals_at_once_are_one(self, breaker: Breaker) -> None:
        """Five queries of one run that find the plan used up do not lengthen the wait."""
        for passed in [enter(breaker) for _ in range(5)]:
            breaker.used_up(passed, None, "no credits")
        assert breaker.refusal() == Refusal("quota", "no credits", 600)


class TestTrial:
    def test_one_at_a_time(self, breaker: Breaker, clock: FakeClock) -> None:
        """The others are told to come back soon."""
        open_up(breaker, clock)
        clock.advance(5)
        assert breaker.refusal() is None
        assert enter(breaker).is_trial
        refusal = breaker.enter()
        assert isinstance(refusal, Refusal)
        assert refusal.retry_in_s == 1

    def test_success_closes(self, breaker: Breaker, clock: FakeClock) -> None:
        """Everything before is forgotten."""
        open_up(breaker, clock)
        clock.advance(5)
        breaker.succeeded(enter(breaker))
        fail(breaker, 4)
        clock.advance(2)
        assert not enter(breaker).is_trial

    def test_failure_opens_for_longer(self, breaker: Breaker, clock: FakeClock) -> None:
        """Up to half a minute, so that the end of an outage is noticed; success starts anew."""
        open_up(breaker, clock)
        waits = []
        for _ in range(5):
            refusal = breaker.refusal()
            assert refusal is not None
            waits.append(refusal.retry_in_s)
            clock.advance(refusal.retry_in_s)
            fail(breaker)
        assert waits == [5, 10, 20, 30, 30]
        clock.advance(30)
        breaker.succeeded(enter(breaker))
        open_up(breaker, clock)
        refusal = breaker.refusal()
        assert refusal is not None
        assert refusal.retry_in_s == 5

    def test_one_that_is_cancelled_leaves_room(self, breaker: Breaker, clock: FakeClock) -> None:
        """Nothing was learnt: the next one tries."""
        open_up(breaker, clock)
        clock.advance(5)
        breaker.leave(enter(breaker))
        assert enter(breaker).is_trial

    def test_one_that_is_never_heard_of_does_not_block(
        self, breaker: Breaker, clock: FakeClock
    ) -> None:
        """Its late answer does not count beside the newer trial."""
        open_up(breaker, clock)
        clock.advance(5)
        lost = enter(breaker)
        clock.advance(60)
        newer = enter(breaker)
        assert newer.is_trial
        breaker.failed(lost, "very late")
        breaker.leave(lost)
        assert breaker.refusal() is not None
        breaker.succeeded(newer)
        assert breaker.refusal() is None

    def test_late_answers_decide_nothing(self, breaker: Breaker, clock: FakeClock) -> None:
        """A request from before the outage may end well: the trial decides."""
        early = enter(breaker)
        open_up(breaker, clock)
        breaker.succeeded(early)
        breaker.leave(early)
        assert breaker.refusal() is not None
        clock.advance(5)
        trial = enter(breaker)
        breaker.succeeded(early)
        breaker.key_refused(early, "401")
        assert breaker.refusal() is not None
        breaker.failed(trial, "still down")
        refusal = breaker.refusal()
        assert refusal is not None
        assert refusal.reason == "still down"

    def test_a_trial_with_a_refused_key(self, breaker: Breaker, clock: FakeClock) -> None:
        """One refusal suffices then."""
        for _ in range(3):
            breaker.key_refused(enter(breaker), "401")
        clock.advance(300)
        breaker.key_refused(enter(breaker), "401")
        assert breaker.refusal() == Refusal("authentication", "401", 300)
