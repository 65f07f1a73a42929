"""Retries stay a small part of the requests."""

from __future__ import annotations

import pytest

from collection_search.resilience.retry_budget import RetryBudget
from collection_search.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def budget(clock: FakeClock) -> RetryBudget:
    return RetryBudget(share=0.2, floor=5, window_s=60, clock=clock.monotonic)


def retries(budget: RetryBudget, tries: int = 1_000) -> int:
    """Return how many of that many retries are allowed."""
    return sum(budget.take(is_retry=True) for _ in range(tries))


def test_a_lone_run_may_retry(budget: RetryBudget) -> None:
    """A single search that fails is tried again, and so are five."""
    assert budget.take(is_retry=False)
    assert budget.has_room()
    assert retries(budget) == 5
    assert not budget.has_room()


def test_slow_traffic_may_retry_more_than_a_fifth(budget: RetryBudget, clock: FakeClock) -> None:
    """At one request in ten seconds every one may be retried, but no more than five a minute."""
    allowed = 0
    for _ in range(60):
        assert budget.take(is_retry=False)
        allowed += retries(budget, tries=2)
        clock.advance(10)
    assert 45 <= allowed <= 55


def test_a_fifth_of_the_first_requests(budget: RetryBudget) -> None:
    """First requests are never refused."""
    assert all(budget.take(is_retry=False) for _ in range(1_000))
    assert retries(budget) == 200
    assert budget.take(is_retry=False)


def test_the_window_moves_on(budget: RetryBudget, clock: FakeClock) -> None:
    """What was long ago counts no more, neither for nor against a retry."""
    for _ in range(100):
        budget.take(is_retry=False)
    assert retries(budget) == 20
    clock.advance(30)
    assert retries(budget) == 0
    clock.advance(30)
    assert retries(budget) == 5


def test_asking_takes_nothing(budget: RetryBudget) -> None:
    """Only a retry that is made counts."""
    assert all(budget.has_room() for _ in range(100))
    assert retries(budget) == 5
