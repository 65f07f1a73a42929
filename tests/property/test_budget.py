"""What holds for every budget, whatever is reserved and settled, and by how many at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_search.errors import CostLimitReached
from collection_search.tools.spending.budget import RunBudget

CENTS = st.integers(0, 100_000).map(lambda units: units / 1_000_000)
CALLS = st.lists(st.tuples(CENTS, st.none() | CENTS), max_size=30)


def exact(amount: float) -> Decimal:
    return Decimal(repr(amount))


def granted(budget: RunBudget, price: float) -> bool:
    try:
        budget.reserve(price)
    except CostLimitReached:
        return False
    return True


@pytest.mark.slow
@settings(max_examples=25)
@given(limit=CENTS, prices=st.lists(CENTS, min_size=2, max_size=8))
def test_parallel_reservations_never_pass_the_limit(limit: float, prices: list[float]) -> None:
    """However many ask at the same moment, and nobody is refused who would have had room."""
    budget, start = RunBudget(limit), Barrier(len(prices))

    def ask(price: float) -> bool:
        start.wait()
        return granted(budget, price)

    with ThreadPoolExecutor(len(prices)) as pool:
        answers = list(pool.map(ask, prices))
    taken = sum((exact(p) for p, yes in zip(prices, answers, strict=True) if yes), Decimal(0))
    assert taken <= exact(limit)
    assert exact(budget.spent_usd) == taken
    refused = [price for price, yes in zip(prices, answers, strict=True) if not yes]
    assert all(taken + exact(price) > exact(limit) for price in refused)
    assert budget.is_reached is bool(refused)


@pytest.mark.slow
@given(limit=CENTS, calls=CALLS, before=CENTS)
def test_what_was_spent_is_the_exact_sum(
    limit: float, calls: list[tuple[float, float | None]], before: float
) -> None:
    """Of what calls cost; of one whose cost is not known, of what was set aside for it."""
    budget, total = RunBudget(limit, before), exact(before)
    for reserved, actual in calls:
        if granted(budget, reserved):
            budget.settle(reserved, actual)
            total += exact(reserved if actual is None else actual)
    assert exact(budget.spent_usd) == exact(float(total))


@pytest.mark.slow
@given(calls=CALLS)
def test_without_a_limit_everything_is_granted(calls: list[tuple[float, float | None]]) -> None:
    """The sum is kept all the same."""
    budget = RunBudget(None)
    for reserved, actual in calls:
        budget.reserve(reserved)
        budget.settle(reserved, actual)
    paid = (exact(reserved if actual is None else actual) for reserved, actual in calls)
    assert not budget.is_reached
    assert exact(budget.spent_usd) == exact(float(sum(paid, Decimal(0))))


@pytest.mark.slow
@given(limit=CENTS, free=st.lists(st.sampled_from([0.0, None]), min_size=1, max_size=5))
def test_what_is_free_or_unknown_always_passes(limit: float, free: list[float | None]) -> None:
    """Even when everything is spent; an unknown price is told."""
    budget = RunBudget(limit, spent_usd=limit + 1)
    for price in free:
        budget.reserve(price)
    assert not budget.is_reached
    assert budget.has_unknown is (None in free)
    assert not granted(budget, 0.000001)
