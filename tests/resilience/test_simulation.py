"""Many searches against providers that die, come back, or allow one request a second.

Time is simulated: every search is a generator of the seconds that it waits.
"""

from __future__ import annotations

import heapq
import random
from itertools import count
from typing import TYPE_CHECKING

import pytest

from collection_search.errors import (
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderUnavailable,
)
from collection_search.resilience import ProviderGuard
from collection_search.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANSWER_S = 0.05
MAX_ATTEMPTS = 3


class World:
    """Runs searches against the clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self._order = count()
        self._due: list[tuple[float, int, Iterator[float]]] = []

    def start(self, at: float, search: Iterator[float]) -> None:
        heapq.heappush(self._due, (at, next(self._order), search))

    def run(self) -> None:
        while self._due:
            at, _, search = heapq.heappop(self._due)
            self.clock.advance(at - self.clock.monotonic())
            wait_s = next(search, None)
            if wait_s is not None:
                self.start(at + wait_s, search)


class Provider:
    """A provider behind its guard, and what it saw."""

    def __init__(
        self,
        world: World,
        answer: Callable[[float], SearchProviderError | None],
        *,
        rate_per_s: float | None = None,
    ) -> None:
        self.clock = world.clock
        self.answer = answer
        self.guard = ProviderGuard("p", rate_per_s=rate_per_s, clock=self.clock.monotonic)
        self.first: list[float] = []
        self.retries: list[float] = []
        self.refused: list[float] = []
        self.answered: list[float] = []

    def search(self, *, delay_s: Callable[[], float] = lambda: 0.0) -> Iterator[float]:
        """Try as the worker does: up to three times, with a growing pause."""
        for attempt in range(MAX_ATTEMPTS):
            try:
                permit = self.guard.admit(is_retry=attempt > 0)
            except SearchProviderError:
                self.refused.append(self.clock.monotonic())
                return
            while (wait_s := self.guard.start(permit)) > 0:
                yield wait_s
            yield delay_s()
            (self.retries if attempt else self.first).append(self.clock.monotonic())
            failure = self.answer(self.clock.monotonic())
            yield ANSWER_S
            self.guard.settle(permit, failure=failure)
            if failure is None:
                self.answered.append(self.clock.monotonic())
                return
            if not self.guard.may_retry():
                return
            yield 0.6 * 2**attempt * random.Random(attempt).random()


DEAD_FROM, DEAD_UNTIL = 20.0, 80.0


def outage(at: float) -> SearchProviderError | None:
    return SearchProviderUnavailable("refused") if DEAD_FROM <= at < DEAD_UNTIL else None


@pytest.mark.slow
@pytest.mark.parametrize("per_s", [5, 20, 100])
def test_a_provider_that_is_dead_for_a_minute(per_s: int) -> None:
    """Open within 5 s, at most a fifth more requests, tried again after; others feel nothing."""
    world = World()
    dead, other = Provider(world, outage), Provider(world, lambda _: None)
    for number in range(120 * per_s):
        world.start(number / per_s, dead.search())
        world.start(number / per_s, other.search())
    world.run()
    assert min(dead.refused) - DEAD_FROM <= 5
    wanted = sum(DEAD_FROM <= number / per_s < DEAD_UNTIL for number in range(120 * per_s))
    assert len(dead.retries) <= 0.2 * wanted
    before_it = sum(at < DEAD_FROM for at in dead.first)
    assert len(dead.retries) <= 0.2 * (before_it + len([at for at in dead.first if outage(at)]))
    hits = sum(outage(at) is not None for at in dead.first + dead.retries)
    assert hits <= 3 * per_s + 10  # the moment until it opened, and the trials
    assert sum(at >= DEAD_UNTIL + 31 for at in dead.refused) == 0
    assert sum(at >= DEAD_UNTIL + 31 for at in dead.answered) >= 8 * per_s
    assert len(other.answered) == 120 * per_s
    assert other.refused == other.retries == []


def test_a_short_break_costs_a_run_nothing() -> None:
    """Five parallel queries that fail at one moment are all answered by their retry."""
    world = World()
    provider = Provider(
        world, lambda at: SearchProviderUnavailable("reset") if at < 0.001 else None
    )
    for _ in range(5):
        world.start(0, provider.search())
    world.run()
    assert len(provider.answered) == 5
    assert len(provider.retries) == 2  # nothing is known of it yet: two are under way at once


class OnePerSecond:
    """A server that refuses what comes less than a second after the request before."""

    def __init__(self) -> None:
        self.last = -10.0
        self.throttled = 0

    def __call__(self, at: float) -> SearchProviderError | None:
        early, self.last = at - self.last < 1, at
        self.throttled += early
        return SearchProviderQuotaExceeded("slow down") if early else None


@pytest.mark.parametrize("shift_s", [0.0, 0.04])
def test_a_one_per_second_plan_never_throttles_five_parallel_queries(shift_s: float) -> None:
    """Run after run, though the network shifts the requests by up to 40 ms."""
    world, server, dice = World(), OnePerSecond(), random.Random(1)
    provider = Provider(world, server, rate_per_s=1)
    for run in range(20):
        for _ in range(5):
            world.start(4.0 * run, provider.search(delay_s=lambda: dice.uniform(0, shift_s)))
    world.run()
    assert server.throttled == 0
    assert len(provider.answered) == 100


@pytest.mark.parametrize("shift_s", [0.0, 0.04])
def test_a_one_per_second_plan_is_found_out_by_one_refusal(shift_s: float) -> None:
    """Run after run without a setting: one refusal ever, all answered, one retry, no budget."""
    world, server, dice = World(), OnePerSecond(), random.Random(1)
    provider = Provider(world, server)
    for run in range(20):
        for _ in range(5):
            world.start(6.0 * run, provider.search(delay_s=lambda: dice.uniform(0, shift_s)))
    world.run()
    assert server.throttled == 1
    assert (len(provider.answered), len(provider.retries)) == (100, 1)


def test_a_provider_that_takes_all_is_asked_by_all_at_once() -> None:
    """Once the first two are answered; from the second run on nobody waits."""
    world = World()
    provider = Provider(world, lambda _: None)
    for run in range(3):
        for _ in range(5):
            world.start(10.0 * run, provider.search())
    world.run()
    assert sorted(provider.first)[:5] == pytest.approx([0, 0, 0.05, 0.05, 0.05], abs=0.06)
    assert sorted(provider.first)[5:] == [10.0] * 5 + [20.0] * 5


def test_a_rate_that_shrinks_is_learnt_by_one_burst() -> None:
    """A plan was changed: those that were under way are refused once, and all are answered."""
    world, server = World(), OnePerSecond()
    provider = Provider(world, lambda at: None if at < 50 else server(at))
    for start in (0.0, 100.0, 200.0):
        for _ in range(5):
            world.start(start, provider.search())
    world.run()
    assert len(provider.answered) == 15
    assert server.throttled == 4
    assert not [at for at in provider.retries if at > 150]


def test_the_server_of_the_tests_before_refuses_five_at_once() -> None:
    """It does what it should: without a limit four of them come too early."""
    server = OnePerSecond()
    assert [server(10.0) is None for _ in range(5)] == [True, False, False, False, False]
