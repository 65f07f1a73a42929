"""What holds for every order of requests, answers and pauses."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderError,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.resilience import Permit, ProviderGuard, SingleFlight
from collection_search.resilience.quota import period_name, seconds_left
from collection_search.resilience.rate_limit import RateLimiter
from collection_search.resilience.retry_budget import RetryBudget
from collection_search.testing import FakeClock

pauses = st.one_of(st.just(0.0), st.floats(0, 3), st.floats(0, 1_000))


@pytest.mark.slow
@given(
    st.integers(1, 5),
    st.lists(st.tuples(pauses, st.sampled_from(["take", "take", "give back", "hold"]))),
)
def test_slots_never_come_faster_than_the_rate(burst: int, steps: list[tuple[float, str]]) -> None:
    """In any window of n intervals there are at most n + burst slots, whatever is given back."""
    clock = FakeClock()
    limiter, used, held_until = RateLimiter(1.0, burst=burst, clock=clock.monotonic), [], 0.0
    for pause_s, step in steps:
        clock.advance(pause_s)
        if step == "take":
            slot = limiter.reserve()
            assert slot.wait_s >= 0
            assert slot.at >= min(held_until, clock.monotonic() + slot.wait_s)
            used.append(slot)
        elif step == "give back" and used:
            slot = used.pop()
            limiter.give_back(slot)
            if slot.at <= clock.monotonic():
                used.append(slot)  # too late: it counts as used
        elif step == "hold":
            limiter.pause(pause_s)
            held_until = clock.monotonic() + pause_s
    times = sorted(slot.at for slot in used)
    for first in range(len(times)):
        for last in range(first + burst, len(times)):
            assert times[last] - times[first] > (last - first - burst + 1) - 1e-6


@pytest.mark.slow
@given(st.lists(st.tuples(pauses, st.booleans()), max_size=300))
def test_retries_are_at_most_a_fifth_and_the_floor(steps: list[tuple[float, bool]]) -> None:
    """Of all first requests, and the floor once per window."""
    clock = FakeClock()
    budget = RetryBudget(share=0.2, floor=2, window_s=60, clock=clock.monotonic)
    first = retries = 0
    for pause_s, is_retry in steps:
        clock.advance(pause_s)
        taken = budget.take(is_retry=is_retry)
        assert taken or is_retry
        first, retries = first + (not is_retry), retries + (is_retry and taken)
    windows = clock.monotonic() // 54 + 1  # a window is at least nine tenths of its length
    assert retries <= 0.2 * first + 2 * windows


FAILURES = [
    SearchProviderUnavailable("down"),
    SearchProviderTimeout("late"),
    SearchProviderAuthenticationFailed("key"),
    SearchProviderQuotaExceeded("slow", retry_in_ms=500),
    SearchProviderQuotaExceeded("empty", code="quotaExceeded", retry_in_ms=5_000),
]
steps_of_a_guard = st.one_of(
    st.tuples(st.just("pause"), pauses),
    st.tuples(st.just("admit"), st.booleans()),
    st.tuples(st.just("settle"), st.sampled_from([None, *FAILURES])),
    st.tuples(st.just("abandon"), st.booleans()),
)


@pytest.mark.slow
@given(st.lists(steps_of_a_guard, max_size=80))
def test_a_guard_never_gets_stuck(steps: list[tuple[str, object]]) -> None:
    """Whatever happened: its refusals are typed, and after a while it lets a call pass."""
    clock = FakeClock()
    guard = ProviderGuard("p", clock=clock.monotonic, wall_clock=clock.time)
    permits: list[Permit] = []
    refusals: list[SearchProviderError] = []
    for step, value in steps:
        if step == "pause":
            clock.advance(float(value))  # type: ignore[arg-type]
        elif step == "admit":
            try:
                permits.append(guard.admit(is_retry=bool(value)))
            except SearchProviderError as error:
                refusals.append(error)
        elif permits and step == "settle":
            guard.settle(permits.pop(0), failure=value)  # type: ignore[arg-type]
        elif permits and step == "abandon":
            guard.abandon(permits.pop(), sent=bool(value))
    assert all(error.code == "serviceUnavailable" for error in refusals if error.retryable)
    assert all(error.retry_in_ms is None or error.retry_in_ms > 0 for error in refusals)
    clock.advance(4_000)
    guard.settle(guard.admit())
    guard.settle(guard.admit())


@pytest.mark.slow
@given(st.lists(st.sampled_from(["join", "cancel first", "cancel last", "step"]), max_size=20))
def test_one_call_serves_all_who_stayed(steps: list[str]) -> None:
    """Whoever was not cancelled gets the answer of a call that was not cancelled either."""

    async def scenario() -> None:
        flights: SingleFlight[int] = SingleFlight()
        go, running, most = asyncio.Event(), 0, 0

        async def call() -> int:
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                await go.wait()
            finally:
                running -= 1
            return 42

        callers: list[asyncio.Task[tuple[int, bool]]] = []
        gone: list[asyncio.Task[tuple[int, bool]]] = []
        for step in steps:
            if step == "join":
                callers.append(asyncio.create_task(flights.run("t", "k", call)))
            elif step == "step":
                await asyncio.sleep(0)
            elif callers:
                gone.append(callers.pop(0 if step == "cancel first" else -1))
                gone[-1].cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert running <= 1
        assert bool(running) is bool(callers)
        go.set()
        assert all(answer == 42 for answer, _ in await asyncio.gather(*callers))
        await asyncio.gather(*gone, return_exceptions=True)
        assert all(task.cancelled() for task in gone)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())


@pytest.mark.slow
@given(st.integers(0, 4_000_000_000), st.sampled_from(["day", "month"]))
def test_the_next_period_begins_when_it_says(at: int, period: str) -> None:
    """Just then the name changes, not before."""
    left_s = seconds_left(at, period)  # type: ignore[arg-type]
    now, then = (period_name(one, period) for one in (at, at + left_s))  # type: ignore[arg-type]
    assert left_s > 0
    assert now == period_name(at + left_s - 1, period) < then  # type: ignore[arg-type]
