"""What counts as a decision of a person about a page."""

from __future__ import annotations

import pytest
from support.decided_reviews import (
    COLLECTION,
    LEXICAL,
    TENANT,
    decide_review,
    open_gate,
    shown_page,
)

from collection_search.ranking.adaptive import DecidedScores, scale_key
from collection_search.ranking.rejudging import explain_judgement
from collection_search.tools.decisions.history import list_decisions
from collection_search.tools.decisions.review_figures import count_score_bands
from collection_search.tools.decisions.run_threshold import on_scale


def verdicts(decision):
    return {page.title.removeprefix("About "): page.is_approved for page in decision.pages}


def test_what_was_not_approved_was_rejected(store):
    decide_review(store, "g1", {"a": (90, True), "b": (70, False)}, added=("https://a.example/x",))
    (decision,) = list_decisions(store.gates, TENANT)
    assert verdicts(decision) == {"a": True, "b": False}
    assert [page.score for page in decision.pages] == [90, 70]
    assert decision.pages[0].scale == ("lexical", None)
    assert (decision.approver, decision.added_urls) == ("ann", ("https://a.example/x",))
    assert (decision.question, decision.collection) == ("What is g1?", COLLECTION)


def test_a_whole_rejection_rejects_each_page(store):
    decide_review(store, "g1", {"a": (90, False), "b": (70, False)})
    (decision,) = list_decisions(store.gates, TENANT)
    assert verdicts(decision) == {"a": False, "b": False}


def test_a_page_that_is_there_already_is_not_rejected(store):
    """Not to approve it again says nothing about it; to approve it does."""
    pages = {"a": (90, True), "b": (70, False)}
    decide_review(store, "g1", pages, in_collection=True)
    (decision,) = list_decisions(store.gates, TENANT)
    assert verdicts(decision) == {"a": True, "b": None}


def test_only_people_decide(store):
    """Neither a deadline nor an open review counts."""
    decide_review(store, "late", {"a": (90, True)}, decided_by="deadline")
    store.gates.open(open_gate("open", [shown_page("a", 90)]))
    assert list_decisions(store.gates, TENANT) == []


def test_other_tenants_and_collections_do_not_count(store):
    decide_review(store, "theirs", {"a": (90, True)}, tenant="theirs")
    decide_review(store, "other", {"a": (90, True)}, collection="other")
    decide_review(store, "mine", {"a": (90, True)})
    found = list_decisions(store.gates, TENANT, collection=COLLECTION)
    assert [each.gate_id for each in found] == ["mine"]
    found = list_decisions(store.gates, TENANT)
    assert {each.gate_id for each in found} == {"mine", "other"}


def test_the_last_ones_are_read(store, clock):
    for number in range(4):
        decide_review(store, f"g{number}", {"a": (90, True)})
        clock.advance(1)
    assert [each.gate_id for each in list_decisions(store.gates, TENANT, limit=2)] == ["g3", "g2"]


@pytest.mark.parametrize(
    "facts",
    [
        {"criteria": {"refused": True, "reason": "It names no price."}},
        {"explanation": {**LEXICAL, "refused": "the host docs.example.com is blocked"}},
    ],
)
def test_a_page_that_is_refused_is_not_rejected(store, facts):
    """To approve all leaves it out without a word about it; to approve it by name is a label."""
    gate = decide_review(store, "g1", {"a": (90, True), "b": (70, False)}, **facts)
    (decision,) = list_decisions(store.gates, TENANT)
    assert verdicts(decision) == {"a": True, "b": None}
    assert on_scale([decision], ("lexical", None)) == [DecidedScores([90], [])]
    (band,) = count_score_bands([gate])
    assert (band.approved, band.rejected) == (1, 0)


def test_a_score_that_a_judge_changed_has_a_scale_of_its_own(store):
    """Neither it nor a plain score counts for the other."""
    judged = explain_judgement(LEXICAL, 12.0, relevance=1.0, reason="It answers.", model="m")
    decide_review(store, "g1", {"a": (90, True)}, explanation=judged)
    decide_review(store, "g2", {"b": (70, False)})
    decisions = list_decisions(store.gates, TENANT)
    judged_only = on_scale(decisions, scale_key(judged))
    assert [page for each in judged_only for page in (*each.approved, *each.rejected)] == [90]
    plain = on_scale(decisions, scale_key(LEXICAL))
    assert [page for each in plain for page in (*each.approved, *each.rejected)] == [70]
