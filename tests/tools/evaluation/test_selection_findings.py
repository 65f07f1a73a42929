"""What would be ingested: hand-made pools with known figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.metrics import Pool
from collection_search.ranking.scoring import PageText
from collection_search.tools.evaluation.selection_findings import (
    describe_selection,
    reliability_bands,
    trade_off_points,
    wilson_interval,
)

SCORED = [(np.array([95.0, 61.0, 30.0]), [1, 0, 0]), (np.array([62.0, 10.0]), [2, 1])]


def pool(scores: list[float], grades: list[int]) -> Pool:
    pages = [PageText(str(n), "", "") for n in range(len(scores))]
    return Pool("q", pages, grades, similarities=scores)


def test_the_rule_s_figures() -> None:
    """One good pool, one empty-handed that passes, and off-topic pools of each question."""
    own = [pool([95, 61, 30], [1, 0, 0]), pool([55, 20], [0, 0])]
    off_topic = [pool([70], [0]), pool([10], [0]), pool([10], [0]), pool([10], [0])]
    found = describe_selection(lambda each: np.array(each.similarities), own, off_topic, scale=None)
    assert found.ingested == 3
    assert found.precision is not None
    assert found.precision.mean == pytest.approx(1 / 3)
    assert found.served is not None
    assert found.served.mean == 1
    assert found.empty_pools == 1
    assert found.empty_let_through is not None
    assert found.empty_let_through.mean == 1
    assert found.off_topic_let_through is not None
    assert found.off_topic_let_through.mean == 0.25


def test_what_does_not_exist_has_no_figure() -> None:
    """Nothing ingested, nothing empty-handed, nothing off topic."""
    found = describe_selection(
        lambda each: np.array(each.similarities), [pool([5], [1])], [], scale=None
    )
    assert (found.ingested, found.precision) == (0, None)
    assert (found.empty_let_through, found.off_topic_let_through) == (None, None)


def test_bands_hold_the_pages_of_their_scores() -> None:
    """Those without a page are left out."""
    found = [(band.low, band.high, band.pages, band.relevant) for band in reliability_bands(SCORED)]
    assert found == [(0, 20, 1, 1), (20, 40, 1, 0), (60, 70, 2, 1), (90, 100, 1, 1)]


def test_a_threshold_trades_recall_for_precision() -> None:
    """By hand: at 60 two of three; above 95 nothing is left to be precise about."""
    points = {each.threshold: each for each in trade_off_points(SCORED)}
    assert points[60].precision == pytest.approx(2 / 3)
    assert points[60].recall == pytest.approx(2 / 3)
    assert points[95].precision == 1
    assert trade_off_points([(np.array([1.0]), [0])]) == []


@given(st.integers(0, 200), st.integers(1, 200))
def test_an_interval_holds_its_share(hits: int, count: int) -> None:
    """Within 0 and 1."""
    found = wilson_interval(min(hits, count), count)
    assert 0 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1
