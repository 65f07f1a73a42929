"""Which pages score high enough to be ingested."""

from __future__ import annotations

import pytest

from collection_search.errors import QualityThresholdError
from collection_search.ranking.threshold import select_for_ingestion


def test_a_score_that_falls_short_is_rounded_down():
    """The best never reads as if it sufficed."""
    with pytest.raises(
        QualityThresholdError, match=r"scores 50 or more: the best of 2 scores 49.9"
    ):
        select_for_ingestion([49.97, 12.0], min_score=60, top_k=10)


def test_selection_takes_what_reaches_the_score():
    """Three or more at the wanted score: these, best first, at most top_k."""
    scores = [61.0, 90.0, 60.0, 59.9, 75.0]
    assert select_for_ingestion(scores, min_score=60, top_k=10)[:2] == ([1, 4, 0, 2], 60)
    assert select_for_ingestion(scores, min_score=60, top_k=2)[:2] == ([1, 4], 60)


def test_selection_falls_back_to_fifty():
    """Fewer than three at the wanted score: everything from 50 on."""
    assert select_for_ingestion([80, 65, 50, 49.9], min_score=60, top_k=9)[:2] == ([0, 1, 2], 50)
    assert select_for_ingestion([49, 45], min_score=45, top_k=9)[:2] == ([0, 1], 45)


@pytest.mark.parametrize(
    ("scores", "min_score", "said"),
    [
        ([49.94, 12.0], 60.0, "no result scores 50 or more: the best of 2 scores 49.9"),
        ([39.0], 40.0, "no result scores 40 or more: the best of 1 scores 39.0"),
        ([], 60.0, "no result scores 50 or more: there is none"),
    ],
)
def test_selection_refuses(scores, min_score, said):
    """When nothing is good enough the error says how far it was and what to do."""
    with pytest.raises(QualityThresholdError, match="lower the minimum score") as refused:
        select_for_ingestion(scores, min_score=min_score, top_k=10)
    assert str(refused.value).startswith(said)


def test_the_fallback_is_told():
    """Only where the threshold fell."""
    assert select_for_ingestion([80, 55], min_score=60, top_k=9).fallback_used
    assert not select_for_ingestion([80, 70, 61], min_score=60, top_k=9).fallback_used
    assert not select_for_ingestion([49], min_score=45, top_k=9).fallback_used


def test_a_refused_search_says_so():
    """With the mean and what is needed, rounded down."""
    scores = [70.0, 20.0, 19.99, 10.0, 10.0]
    with pytest.raises(QualityThresholdError, match=r"score 25.9 on average, and 28 are needed"):
        select_for_ingestion(scores, min_score=60, top_k=9, scale="lexical", pool_size=20)
    for whole in ({"scale": "dense"}, {"scale": "literal"}, {"pool_size": 19}):
        given = {"scale": "lexical", "pool_size": 20} | whole
        assert select_for_ingestion(scores, min_score=60, top_k=9, **given).positions == [0]


def test_rules_and_judges_do_not_refuse_a_search():
    """The whole search is judged by the scores before them; only a page to ingest lifts that."""
    whole = {"scale": "lexical", "pool_size": 20, "min_score": 60, "top_k": 9}
    before = [63.0, 60.0, 55.0, 50.0, 40.0]
    blocked = [63.0, 0.0, 0.0, 0.0, 0.0]
    with pytest.raises(QualityThresholdError, match="missed its subject"):
        select_for_ingestion(blocked, **whole)
    assert select_for_ingestion(blocked, pool_scores=before, **whole).positions == [0]
    with pytest.raises(QualityThresholdError, match="missed its subject"):
        select_for_ingestion(
            [85.0, 62.0, 1.0, 1.0, 1.0],
            eligible=[1],
            **{**whole, "pool_size": 30},
            pool_scores=[62.0, 1.0, 1.0, 1.0, 1.0],
        )


def test_a_refusal_tells_the_threshold():
    """Also that it fell."""
    with pytest.raises(QualityThresholdError) as refusal:
        select_for_ingestion([49.0], min_score=60, top_k=9)
    assert (refusal.value.threshold, refusal.value.fallback_used) == (50.0, True)
