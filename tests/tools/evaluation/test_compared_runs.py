"""The report of compared profiles, with the decisions of persons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from collection_search.contracts.comparison import ComparedPage, ProfileComparison
from collection_search.contracts.review import Gate
from collection_search.tools.evaluation.compared_runs import (
    report_comparisons,
    summarize_comparisons,
)

SELECTIONS = {"both": (True, True), "a": (True, False), "b": (False, True), "none": (False, False)}
PAGES = [
    ComparedPage(
        url=f"https://e.com/{name}",
        decided_rank=None if name == "b" else rank,
        decided_score=None if name == "b" else 70.0,
        decided_ingests=decided,
        compared_rank=rank,
        compared_score=65.0,
        compared_ingests=compared,
    )
    for rank, (name, (decided, compared)) in enumerate(SELECTIONS.items(), start=1)
]
RUN = ProfileComparison(
    tenant_id="local",
    collection="docs",
    run_id="r1",
    question="Q?",
    decided_by="default",
    compared="words",
    model=None,
    min_score=60,
    top10_overlap=0.5,
    rank_correlation=0.25,
    pages=PAGES,
)


def gate(*approved: str, decided_by: str = "person", run_id: str = "r1") -> Gate:
    shown = [{"url": page["url"]} for page in PAGES if not page["url"].endswith("none")]
    return Gate(
        gate_id="g",
        tenant_id="local",
        collection="docs",
        question="Q?",
        round=1,
        host="process",
        thread_id=None,
        run_id=run_id,
        trace_id="t",
        candidates=cast("Any", shown),
        threshold=60,
        deadline=0,
        policy="approve",
        decision={
            "decided_by": decided_by,
            "approved_urls": [f"https://e.com/{name}" for name in approved],
        },
    )


def test_selections_are_counted() -> None:
    """Over all runs of one pair of profiles; runs with another model are told apart."""
    other = replace(RUN, model="m", pages=PAGES[:1], rank_correlation=None)
    found, with_model = summarize_comparisons([RUN, other, replace(RUN, top10_overlap=1.0)])
    assert (found.runs, found.both, found.only_decided, found.only_compared) == (2, 2, 2, 2)
    assert (found.top10_overlap, found.rank_correlation) == (0.75, 0.25)
    assert found.selection_overlap == 1 / 3
    assert found.same_selection == 0
    assert (with_model.model, with_model.same_selection) == ("m", 1)
    assert (with_model.rank_correlation, with_model.examples) == (None, [])


def test_people_say_which_profile_was_right() -> None:
    """They approved what both had and what only the second one had."""
    (found,) = summarize_comparisons([RUN], [gate("both", "b")])
    assert (found.judged, found.agreed_decided, found.agreed_compared) == (3, 1, 3)
    assert (found.differing, found.differing_right_decided) == (2, 0)
    assert found.differing_right_compared == 2
    text = report_comparisons([found], of="local").to_markdown()
    assert "The profile words agreed with people more often, by 2 pages." in text
    assert "| https://e.com/b | words   | -       | 3, 65.0 |" in text


def test_only_persons_of_these_runs_count() -> None:
    """Neither a deadline's decision nor another run's."""
    gates = [gate("both", decided_by="deadline"), gate("b", run_id="r2")]
    (found,) = summarize_comparisons([RUN], gates)
    assert found.judged == 0
    text = report_comparisons([found], of="local").to_markdown()
    assert "No person has decided on pages of these runs yet" in text


def test_a_draw_is_told() -> None:
    """Approving what both had, and nothing else, is no vote for either."""
    (found,) = summarize_comparisons([RUN], [gate("both")])
    assert "Neither profile agreed" in report_comparisons([found], of="x").to_markdown()


def test_a_refused_page_that_nobody_approved_is_not_judged() -> None:
    """To approve all leaves it out without a word about it."""
    asked = gate("both")
    refused = {"criteria": {"refused": True, "reason": "It names no price."}}
    shown = [{**one, **refused} for one in asked.candidates]
    (found,) = summarize_comparisons([RUN], [replace(asked, candidates=cast("Any", shown))])
    assert (found.judged, found.agreed_decided, found.agreed_compared) == (1, 1, 1)
