"""Figures of reviews over time."""

from __future__ import annotations

from support.decided_reviews import (
    COLLECTION,
    TENANT,
    decide_review,
    decide_strictly,
    open_gate,
    shown_page,
)

from collection_search.tools.decisions.review_figures import (
    BandFigures,
    PeriodFigures,
    count_reviews,
    count_score_bands,
    learn_current_scores,
)

DAY_S = 86_400


def test_a_period_has_the_reviews_that_were_opened_in_it(store, clock):
    """By day; the figures of pages are those of people, shown pages those of all."""
    decide_review(
        store, "g1", {"a": (90, True), "b": (70, False)}, added=("https://x.example/",), after_s=60
    )
    decide_review(store, "g2", {"c": (90, False)}, after_s=180)
    decide_review(store, "late", {"d": (90, True)}, decided_by="deadline")
    store.gates.open(open_gate("open", [shown_page("e", 50)]))
    clock.advance(DAY_S)
    decide_review(store, "next", {"a": (90, True)}, collection="other")
    first, second = count_reviews(store.gates.gates(TENANT), by="day")
    assert second == PeriodFigures("software_docs", "2023-11-14", 4, 2, 1, 5, 1, 2, 1, 120.0)
    assert second.is_open == 1
    assert (first.collection, first.period, first.opened) == ("other", "2023-11-15", 1)


def test_a_week_is_one_period(store, clock):
    for name in ("g1", "g2", "g3"):
        store.gates.open(open_gate(name, []))
        clock.advance(3 * DAY_S)
    weeks = count_reviews(store.gates.gates(TENANT), by="week")
    assert [(each.period, each.opened) for each in weeks] == [("2023-W46", 2), ("2023-W47", 1)]
    assert weeks[0].median_decision_s is None


def test_bands_have_what_people_decided_by_score(store):
    decide_review(store, "g1", {"a": (100, True), "b": (70, False), "c": (69.9, True)})
    decide_review(store, "late", {"d": (90, True)}, decided_by="deadline")
    assert count_score_bands(store.gates.gates(TENANT)) == [
        BandFigures(COLLECTION, "lexical", None, 60, 70, approved=1, rejected=0),
        BandFigures(COLLECTION, "lexical", None, 70, 80, approved=0, rejected=1),
        BandFigures(COLLECTION, "lexical", None, 90, 100, approved=1, rejected=0),
    ]


def test_learnt_scores_are_told_per_scale(store):
    """Enough decisions on one scale do not count for another."""
    decide_strictly(store)
    decide_review(store, "dense", {"a": (90, True)}, explanation={"scale": "dense", "model": "m"})
    dense, lexical = learn_current_scores(store.gates, TENANT, [COLLECTION])
    assert (dense.scale, dense.model, dense.min_score, dense.is_learnt) == ("dense", "m", 60, False)
    assert (lexical.scale, lexical.is_learnt) == ("lexical", True)
    assert lexical.min_score > 60
