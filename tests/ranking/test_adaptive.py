"""The minimum score that is learnt from approved and rejected pages."""

from __future__ import annotations

import pytest

from collection_search.ranking.adaptive import DecidedScores, learn_threshold

CLEAR = DecidedScores([92.0, 88.0, 81.0], [74.0, 66.0, 55.0, 30.0])
"""People approve from about 78 on."""
EASY = DecidedScores([92.0, 71.0, 58.0, 54.0], [40.0, 31.0, 20.0])
"""They approve from about 50 on."""


def test_it_rises_where_people_reject_more():
    learnt = learn_threshold([CLEAR] * 10, default=60)
    assert 62 <= learnt.min_score <= 75
    assert learnt.is_learnt
    assert learnt.fallback_score == 50 + learnt.min_score - 60
    moved = f"60 -> {learnt.min_score:g}"
    assert learnt.reason == f"learnt from 10 decisions of people in this collection: {moved}"


def test_it_falls_where_people_approve_more():
    """The fall-back stays at its place then: it is the lowest score that is taken at all."""
    learnt = learn_threshold([EASY] * 10, default=60)
    assert 50 <= learnt.min_score < 60
    assert learnt.fallback_score == 50


def test_what_agrees_with_the_default_leaves_it():
    decided = DecidedScores([66.0, 63.0], [57.0, 54.0])
    learnt = learn_threshold([decided] * 10, default=60)
    assert (learnt.min_score, learnt.is_learnt) == (60, True)
    assert learnt.reason == "learnt from 10 decisions of people in this collection: 60 stays"


@pytest.mark.parametrize(
    "decisions",
    [
        [],
        [CLEAR] * 4,
        [DecidedScores([90.0], [70.0, 50.0])] * 6,
        [DecidedScores([90.0] * 4, [])] * 6,
        [DecidedScores([], [70.0] * 4)] * 6,
        [DecidedScores([], [])] * 50 + [CLEAR] * 4,
    ],
    ids=["none", "few decisions", "few pages", "none rejected", "none approved", "empty ones"],
)
def test_too_few_decisions_leave_the_default(decisions):
    learnt = learn_threshold(decisions, default=60)
    assert (learnt.min_score, learnt.fallback_score, learnt.is_learnt) == (60, 50, False)
    assert learnt.reason.startswith("the default: people decided ")


def test_one_odd_decision_moves_it_by_three_points_at_most():
    """Somebody rejects forty good pages, or approves forty bad ones."""
    usual = learn_threshold([CLEAR] * 20, default=60).min_score
    for odd in (DecidedScores([], [95.0] * 40), DecidedScores([61.0] * 40, [])):
        assert abs(learn_threshold([*[CLEAR] * 20, odd], default=60).min_score - usual) <= 3


def test_a_large_review_counts_no_more_than_one_of_ten_pages():
    ten = DecidedScores([90.0] * 5, [62.0] * 5)
    forty = DecidedScores([90.0] * 20, [62.0] * 20)
    rest = [CLEAR] * 8
    one, other = ([*rest, large] for large in (ten, forty))
    assert learn_threshold(one, default=60) == learn_threshold(other, default=60)
