"""Candidates of a review as lines."""

from __future__ import annotations

from typing import Any

from collection_search.cli.shared.review_view import format_candidate


def lines(score: float, **explanation: Any) -> list[str]:
    candidate: Any = {
        "url": "https://a.example/",
        "title": "Tasks",
        "snippet": "Cancel it.",
        "is_pdf": False,
        "in_collection": False,
        "embedding_rank_score": score,
        "explanation": explanation,
    }
    return list(format_candidate(1, candidate, threshold=60, width=60))


def test_a_candidate_says_why_it_has_its_score() -> None:
    """The sentence of its explanation, wrapped, before the snippet."""
    why = "It has all the question's 2 words, 1 in the title; by wording it is close."
    shown = lines(92.06, sentence=why)
    assert shown[0] == "  1   92.0  Tasks"
    assert " ".join(line.strip() for line in shown[2:-1]) == why
    assert shown[-1].strip() == "Cancel it."
    assert max(map(len, shown)) <= 60


def test_a_score_just_below_the_threshold_does_not_seem_to_reach_it() -> None:
    """It is rounded down, as the mark says."""
    assert lines(59.96)[0] == "  1   59.9  Tasks  [below threshold]"
    assert lines(60.0)[0] == "  1   60.0  Tasks"


def test_a_blocked_host_is_marked() -> None:
    """A person may approve the page all the same."""
    shown = lines(0.0, refused="the host a.example is blocked")
    assert shown[0].endswith("[below threshold]  [host blocked]")


def test_a_review_of_an_older_version_has_no_sentence() -> None:
    """Nothing stands in its place."""
    assert len(lines(70.0)) == 3
