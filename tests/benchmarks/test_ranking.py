"""The ranking benchmark says rightly which of its goals are met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.benchmark_modules import benchmark

ranking = benchmark("ranking")
judged_methods = benchmark("judged_methods")
NAMES = (
    "lexical, default",
    "lexical, earlier",
    "lexical, literal",
    "dense, default",
    "dense, earlier",
    "dense, literal",
    "BM25",
)
HIT, NEAR_MISS, MISS = 90.0, 70.0, 10.0


def judged(
    ndcgs: list[float], *, served: float = 1.0, wrong: int = 0, empty: float = 0, through: float = 0
) -> Any:
    """Return figures of 100 questions with one relevant page, and of 100 empty-handed searches.

    `wrong` pages are ingested beside each relevant one; `empty` and `through` are shares of the
    empty-handed searches and of the off-topic pools of which anything is ingested.
    """

    def pool(best: float) -> tuple[Any, list[int]]:
        return np.array([best, *[NEAR_MISS] * wrong, MISS]), [1, *[0] * wrong, 0]

    own = [pool(HIT if n < 100 * served else MISS) for n in range(100)]
    own += [(np.array([HIT if n < 100 * empty else MISS]), [0]) for n in range(100)]
    off_topic = [np.array([HIT if n < 200 * through else MISS]) for n in range(200)] * 3
    name = ranking.REAL
    return judged_methods.Judged({name: np.tile(ndcgs, 50)}, {name: own}, {name: off_topic})


RIVAL = judged([0.4, 0.6])


def unmet(default: Any, rival: Any = RIVAL) -> set[str]:
    """Return the goals that are not met, without the numbers."""
    by_name = {name: default if "default" in name else rival for name in NAMES}
    goals = ranking.goals(by_name)
    return {goal.split(", at ")[0] for goal, _, met in goals if met != "yes"}


@pytest.mark.slow
def test_all_goals_can_be_met() -> None:
    """Better on the whole, and all figures of the gate at their goals."""
    assert unmet(judged([0.5, 0.7], served=0.9)) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figures", "goals"),
    [
        ({"served": 0.75}, {"dense, default: questions served"}),
        ({"through": 0.15}, {"dense, default: off-topic pools ingested"}),
        (
            {"empty": 0.4},
            {f"{kind}, default: empty-handed searches ingested" for kind in ("lexical", "dense")}
            | {"lexical, default: precision on websearch"},
        ),
        (
            {"wrong": 1},
            {f"{kind}, default: precision on websearch" for kind in ("lexical", "dense")},
        ),
    ],
)
def test_each_figure_of_the_gate_has_to_be_reached(
    figures: dict[str, Any], goals: set[str]
) -> None:
    """One figure bought at another's price is no way out."""
    assert unmet(judged([0.5, 0.7], **figures)) == goals


@pytest.mark.slow
def test_an_order_that_is_no_better_is_told() -> None:
    """By the interval: a difference that may be none does not count."""
    assert {goal for goal in unmet(judged([0.9, 0.1])) if "above" in goal}
    assert {goal for goal in unmet(judged([0.3, 0.5])) if "below lexical, earlier" in goal}
