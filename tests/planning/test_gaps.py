"""Queries for gaps: other words, never the same search twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.planning.fallback import query_variants
from collection_search.planning.gaps import gap_queries
from collection_search.text.clean import normalize_query

QUESTION = "How do I cancel an asyncio task?"


def test_without_gaps_nothing_is_searched() -> None:
    """Whatever a model proposes."""
    assert gap_queries([], [], purpose="search", proposed=["tea"]) == []


def test_a_gap_that_was_not_searched_comes_first_in_its_own_words() -> None:
    """Then its key words, and these with kinds of pages."""
    assert gap_queries([QUESTION], [], purpose="search", count=3) == [
        QUESTION,
        "cancel asyncio task",
        "cancel asyncio task documentation",
    ]


def test_every_gap_has_its_turn() -> None:
    """The first variants of all gaps, then the second ones."""
    assert gap_queries(["green tea", "black tea"], ["green tea"], purpose="search", count=3) == [
        "green tea documentation",
        "black tea",
        "green tea guide",
    ]


def test_the_model_s_proposals_come_first() -> None:
    """Without those that were searched, are no queries or command an engine."""
    proposed = ["Cancel asyncio task", "!g abort coroutine", 7, "  "]
    assert gap_queries(
        [QUESTION], ["cancel asyncio task"], purpose="search", proposed=proposed, count=2
    ) == ["abort coroutine", QUESTION]


def test_a_gap_that_is_a_variant_itself_gets_no_second_kind_of_page() -> None:
    """`documentation guide` finds less than `guide`."""
    searched = ["green tea", "green tea documentation"]
    assert gap_queries(searched, searched, purpose="search") == [
        "green tea guide",
        "green tea examples",
        "green tea reference",
        "green tea tutorial",
    ]


def test_a_kind_of_page_that_was_asked_for_stays() -> None:
    """The question names it."""
    assert gap_queries(["Python tutorial"], [], purpose="search", count=2) == [
        "Python tutorial",
        "Python tutorial documentation",
    ]


def test_when_every_variant_was_searched_there_is_nothing_left() -> None:
    """A loop that closes gaps ends by itself."""
    searched = query_variants(QUESTION, purpose="search")
    assert gap_queries([QUESTION], searched, purpose="search") == []


GAPS = st.lists(st.sampled_from([QUESTION, "asyncio", "Wie koche ich Tee?", "C++"]), unique=True)
QUERIES = st.lists(st.sampled_from(["asyncio", "asyncio guide", "Tee Anleitung", "tea", "TEA"]))


@given(GAPS, QUERIES, QUERIES, st.integers(1, 8))
def test_any_gaps_end_in_new_and_valid_queries(
    gaps: list[str], searched: list[str], proposed: list[str], count: int
) -> None:
    """At most as many as wanted, each once, none searched before, the same at every call."""

    def found() -> list[str]:
        return gap_queries(gaps, searched, purpose="search", proposed=proposed, count=count)

    queries = found()
    assert found() == queries
    assert len(queries) <= count
    folded = [query.casefold() for query in queries]
    assert len(set(folded)) == len(folded)
    assert not {query.casefold() for query in searched}.intersection(folded)
    assert [normalize_query(query) for query in queries] == queries


@pytest.mark.parametrize("question", [QUESTION, "tea", "Wie sichere ich eine Datenbank?"])
def test_rounds_come_to_an_end(question: str) -> None:
    """Each round searches for something new until all variants are used."""
    searched = [question]
    while following := gap_queries([question], searched, purpose="search", count=2):
        searched += following
    assert len(searched) == len({query.casefold() for query in searched})
    assert set(query_variants(question, purpose="search")) <= set(searched)
