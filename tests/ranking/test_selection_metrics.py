"""The figures of the rule of automatic ingestion over labelled pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.errors import QualityThresholdError
from collection_search.ranking.metrics import Pool
from collection_search.ranking.scoring import PageText
from collection_search.ranking.selection_metrics import (
    SHOWN,
    TOP_K,
    Band,
    IngestedPages,
    SelectionFigures,
    ingested,
    measure_scored_pools,
    measure_selection,
    reliability,
)
from collection_search.ranking.threshold import select_for_ingestion

if TYPE_CHECKING:
    from collections.abc import Sequence

SCORES = st.lists(st.floats(0, 100, allow_nan=False), max_size=60)


def pool(grades: Sequence[int]) -> Pool:
    return Pool("question", [PageText("", "", "")] * len(grades), grades)


@given(SCORES)
def test_what_is_ingested_is_what_a_run_ingests(scores: list[float]) -> None:
    """The best 20 results go through the selection of a run."""
    chosen = ingested(np.array(scores))
    shown = sorted(scores, reverse=True)[:SHOWN]
    try:
        selection = select_for_ingestion(shown, min_score=60, top_k=TOP_K)
    except QualityThresholdError:
        assert chosen == []
    else:
        assert [scores[place] for place in chosen] == [shown[n] for n in selection.positions]


def test_a_search_that_missed_its_subject_is_refused() -> None:
    """One lucky page among unrelated ones; not where its score is excellent, the pool small."""
    astray = np.array([70.0, *[5.0] * 29])
    assert ingested(astray) == [0]
    assert ingested(astray, scale="lexical") == []
    assert ingested(astray + np.array([20.0, *[0.0] * 29]), scale="lexical") == [0]
    assert ingested(astray[:10], scale="lexical") == [0]
    assert ingested(astray, scale="lexical", min_score=40) == [0]


def test_figures_of_known_pools() -> None:
    """By hand: one served with a wrong page beside, one missed, one empty-handed."""
    scores = {
        (1, 0, 0): np.array([90.0, 70.0, 10.0]),
        (0, 0, 1): np.array([90.0, 10.0, 20.0]),
        (0, 0): np.array([55.0, 10.0]),
    }
    found = measure_selection(
        lambda one: scores[tuple(one.grades)],
        [pool(grades) for grades in scores],
        [pool((0, 0))] * 3,
        pairings=1,
    )
    assert found.questions == [
        IngestedPages(2, 1, 1),
        IngestedPages(1, 0, 1),
        IngestedPages(1, 0, 0),
    ]
    figures = (
        found.precision,
        found.precision_answerable,
        found.recall,
        found.recall_by_question,
        found.served,
        found.empty_handed,
        found.let_through,
    )
    assert [one and round(one.mean, 3) for one in figures] == [0.25, 0.333, 0.5, 0.5, 0.5, 1.0, 1.0]
    for one in figures:
        assert one is not None
        assert 0 <= one.low <= one.mean <= one.high <= 1


def test_off_topic_pools_count_by_question() -> None:
    """Of the three pools of a question one is let through."""
    scored = [np.array([90.0]), np.array([1.0]), np.array([1.0])]
    found = measure_scored_pools([], scored, pairings=3)
    assert found.off_topic.tolist() == pytest.approx([1 / 3])


def test_nothing_judged_has_no_figures() -> None:
    """None instead of a number that means nothing."""
    none = SelectionFigures([], np.array([]))
    assert (none.precision, none.recall, none.served, none.empty_handed) == (None,) * 4
    assert none.let_through is None


@given(st.lists(SCORES.filter(bool), max_size=5))
def test_each_page_is_in_one_band(pools: list[list[float]]) -> None:
    """The bands hold all pages and all relevant ones."""
    scored = [(np.array(scores), [n % 2 for n in range(len(scores))]) for scores in pools]
    bands = reliability(scored)
    assert sum(band.pages for band in bands) == sum(map(len, pools))
    assert sum(band.relevant for band in bands) == sum(sum(grades) for _, grades in scored)
    for band in bands:
        inside = [
            score
            for scores in pools
            for score in scores
            if band.low <= score < band.high or score == band.high == 100
        ]
        assert band.pages == len(inside)


def test_a_band_without_pages_has_no_share() -> None:
    """No division by zero."""
    assert Band(0, 10, 0, 0).share is None
    assert Band(0, 10, 4, 1).share == 0.25
