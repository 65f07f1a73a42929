"""The rule by which a judgement changes a score."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.planning.quality import QUALITY
from collection_search.ranking.rejudging import explain_judgement, judged_addend, rejudge
from collection_search.ranking.scoring import PageText, rank

SCORES = st.floats(0, 100).map(lambda score: round(score, 2))
RELEVANCE = st.floats(0, 1)
ASKED = "How do I cancel an asyncio task?"


@given(SCORES, RELEVANCE)
def test_the_new_score_is_a_score(score: float, relevance: float) -> None:
    """0-100, whatever is judged."""
    assert 0 <= rejudge(score, relevance) <= 100


@given(st.tuples(SCORES, SCORES), st.tuples(RELEVANCE, RELEVANCE))
def test_the_new_score_rises_with_both(
    scores: tuple[float, float], relevance: tuple[float, float]
) -> None:
    """A better page is never below a worse one, nor a more relevant one below a less relevant."""
    assert rejudge(min(scores), min(relevance)) <= rejudge(max(scores), max(relevance))


@given(SCORES, RELEVANCE)
def test_in_the_band_the_judgement_decides_about_the_gate(score: float, relevance: float) -> None:
    """From two thirds on a page passes 60; up to one third it falls below 50."""
    band = QUALITY["premium"].judged_band
    assert band is not None
    score = band.least + (band.most - band.least) * score / 100
    if relevance >= 2 / 3:
        assert rejudge(score, relevance) >= 60
    if relevance <= 1 / 3:
        assert rejudge(score, relevance) < 50


PAGES = [
    PageText("Cancel a task", "How to cancel an asyncio task, with an example.", "https://a.org/1"),
    PageText("Tea", "How to brew tea.", "https://a.org/2"),
    PageText("asyncio", "Tasks of asyncio are cancelled by a timeout.", "https://a.org/3"),
]


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=3) | st.none(),
    st.sampled_from(["default", "literal"]),
    RELEVANCE,
)
def test_the_addends_still_sum_to_the_score(
    similarities: list[float] | None, profile: Any, relevance: float
) -> None:
    """The judgement is one more of them; the texts say who judged, and claim no measured share."""
    for page in rank(ASKED, PAGES, similarities=similarities, profile=profile):
        before, score = page.explanation, page.embedding_rank_score
        after = rejudge(score, relevance)
        told = explain_judgement(
            before, after - score, relevance=relevance, reason="It fits.", model="m"
        )
        assert told["scale"] == before["scale"]
        assert told["addends"][:-1] == before["addends"]
        assert math.fsum(one["points"] for one in told["addends"]) == pytest.approx(after, abs=1e-6)
        assert told["meaning"] == (
            "judged by m; no share of relevant pages was measured for such scores"
        )
        assert told["sentence"].startswith(before["sentence"].removesuffix(".") + "; the judge m ")
        assert told["sentence"].endswith(": It fits.")
        points = told["addends"][-1]["points"]
        word = "gave" if points > 0 else "took" if points else "changed nothing"
        assert f"the judge m {word}" in told["sentence"]


@pytest.mark.parametrize(
    ("points", "reason", "end"),
    [
        (1.0, None, "the judge m gave 1 point."),
        (-2.5, "", "the judge m took 2.5 points."),
        (0.0, "Same", "the judge m changed nothing: Same."),
        (3.0, "a\x1b[31m\u202eb\nc", "the judge m gave 3 points: a[31mb c."),
        (3.0, 7, "the judge m gave 3 points."),
    ],
)
def test_a_reason_is_one_printable_line(points: float, reason: Any, end: str) -> None:
    """It may repeat what a page says."""
    told = explain_judgement({}, points, relevance=0.5, reason=reason, model="m")
    assert told["sentence"] == end
    assert told["sentence"].isprintable()


def test_a_long_reason_is_cut() -> None:
    """The addend has all of it."""
    told = explain_judgement({}, 1.0, relevance=1.0, reason="word " * 100, model="m")
    assert len(told["sentence"]) < 200
    assert told["sentence"].endswith("word…")
    addend = judged_addend(told)
    assert addend is not None
    assert addend["reason"] == "word " * 100


def test_a_page_without_a_judgement_has_none() -> None:
    """Neither where there are no addends."""
    assert judged_addend({}) is None
    assert judged_addend({"addends": [{"name": "title", "points": 3.0}]}) is None
