"""The ranking benchmark says rightly which of its goals are met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.benchmark_modules import benchmark

from collection_search.ranking.metrics import ThresholdScores

ranking = benchmark("ranking")
NAMES = ("lexical, default", "lexical, literal", "dense, default", "dense, literal", "BM25")


def judged(ndcgs: dict[str, list[float]], served: float, through: float) -> Any:
    """Return figures of 100 questions per set, of which so many are served and let through."""
    relevant = np.where(np.arange(100) < 100 * served, 50.0, 49.0)
    off_topic = np.where(np.arange(100) < 100 * through, 60.0, 59.0).reshape(1, -1)
    return ranking.Judged(
        {name: np.tile(values, 50) for name, values in ndcgs.items()},
        dict.fromkeys(ndcgs, ThresholdScores(relevant, off_topic)),
    )


def verdicts(default: Any, rival: Any) -> list[str]:
    by_name = {name: default if "default" in name else rival for name in NAMES}
    return [met for _, _, met in ranking.goals(by_name)]


RIVAL = judged({"a": [0.4, 0.6], "b": [0.4, 0.6]}, 0, 0)


@pytest.mark.slow
def test_all_goals_can_be_met() -> None:
    """Better on the whole, nowhere worse, and both shares at their goals."""
    default = judged({"a": [0.5, 0.7], "b": [0.4, 0.6]}, 0.83, 0.10)
    assert verdicts(default, RIVAL) == ["yes"] * 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("served", "through", "lexical", "dense"),
    [(0.82, 0.10, "yes", "**no**"), (0.83, 0.11, "yes", "**no**"), (0.79, 0.0, *["**no**"] * 2)],
)
def test_both_shares_have_to_be_reached(
    served: float, through: float, lexical: str, dense: str
) -> None:
    """Serving more by letting more through is no way out."""
    default = judged({"a": [0.5, 0.7], "b": [0.4, 0.6]}, served, through)
    assert verdicts(default, RIVAL)[4:] == [lexical, dense]


@pytest.mark.slow
@pytest.mark.parametrize(
    "ndcgs",
    [
        {"a": [0.9, 0.1], "b": [0.4, 0.6]},  # the same in the mean
        {"a": [0.9, 0.9], "b": [0.3, 0.5]},  # better in the mean, worse on one set
    ],
)
def test_better_in_the_mean_of_all_and_worse_on_no_set(ndcgs: dict[str, list[float]]) -> None:
    """By the interval: neither a difference that may be none, nor one bought on one set."""
    assert verdicts(judged(ndcgs, 1, 0), RIVAL)[:4] == ["**no**"] * 4
