"""The ceiling of a run's cost: exact, and opened by no wrong amount."""

from __future__ import annotations

import pytest

from collection_search.errors import CostLimitReached, InputError
from collection_search.tools.spending.budget import RunBudget


def test_a_refused_call_sets_nothing_aside():
    """A cheaper one still has room, and the message names the way out."""
    budget = RunBudget(0.01)
    budget.reserve(0.008)
    with pytest.raises(
        CostLimitReached, match=r"\$0\.01 .* \$0\.008 after \$0\.008: raise max_cost"
    ):
        budget.reserve(0.008)
    budget.reserve(0.002)
    assert budget.spent_usd == 0.01
    assert budget.is_reached


def test_a_limit_is_not_passed_by_a_rounding_error():
    """Ten times 0.1 is 1, to the last digit."""
    budget = RunBudget(1.0)
    for _ in range(10):
        budget.reserve(0.1)
    with pytest.raises(CostLimitReached):
        budget.reserve(1e-9)


@pytest.mark.parametrize("amount", [-0.001, float("nan"), float("inf"), 1e300])
def test_a_budget_takes_amounts_alone(amount: float) -> None:
    """What is none changes nothing: neither a debt nor infinity opens the ceiling."""
    budget = RunBudget(0.01)
    budget.reserve(0.008)
    for wrong in (lambda: budget.reserve(amount), lambda: budget.settle(0.008, amount)):
        with pytest.raises(InputError, match="A cost must be"):
            wrong()
    assert budget.spent_usd == 0.008
    with pytest.raises(CostLimitReached):
        budget.reserve(0.008)
