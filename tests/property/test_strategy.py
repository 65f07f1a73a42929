"""Whatever is asked and whatever a model proposes: three to five valid, distinct queries."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collection_search.errors import InvalidQueryError
from collection_search.planning.fallback import complete_queries, fallback_queries
from collection_search.text.clean import normalize_query

WORDS = st.sampled_from([
    "how", "do", "I", "cancel", "asyncio.gather()", "C++", "wie", "ist", "die", "site:a.com",
    "-snake", "OR", "AND", "NOT", "near", "documentation", "guide", "examples", "reference",
    "tutorial", "Dokumentation", "Anleitung", "Beispiele", "Referenz", "Einführung", '"exact',
    'phrase"', "intitle:(a", "site:", ":", "(", '"', "-", "!g", ":de", "<3", "near:3",
    "ß", "İ", "図書館", "📚", "e\u0301", "\u200d", "\u3164",
])  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=2000),
    st.lists(WORDS, max_size=300).map(" ".join),
    st.builds(lambda word, count: word * count, WORDS, st.integers(1, 400)),
)
PURPOSES = st.one_of(st.just("collection_search"), st.text(min_size=1, max_size=200), WORDS)


def question_of(text: str) -> str:
    """Return the text as an accepted question, as the graph's input makes it."""
    try:
        question = normalize_query(text)
    except InvalidQueryError:
        assume(False)
    assume(len(question) <= 2000)
    return question


def assert_valid(queries: list[str]) -> None:
    assert len({query.casefold() for query in queries}) == len(queries)
    for query in queries:
        assert normalize_query(query) == query
        assert len(query) <= 400
        assert len(query.split()) <= 50


@pytest.mark.slow
@given(TEXTS, PURPOSES, st.integers(3, 5))
def test_the_fallback_always_gives_as_many_queries_as_wanted(text, purpose, count):
    """Each is valid, different and short enough, and a second call gives the same."""
    question = question_of(text)
    queries = fallback_queries(question, purpose=purpose, count=count)
    assert len(queries) == count
    assert_valid(queries)
    assert fallback_queries(question, purpose=purpose, count=count) == queries


@pytest.mark.slow
@given(TEXTS, PURPOSES, st.lists(st.one_of(TEXTS, st.none(), st.integers()), max_size=8))
def test_any_proposal_ends_in_three_to_five_queries(text, purpose, proposed):
    """No proposal, however broken, leaves fewer, more or invalid queries."""
    queries = complete_queries(proposed, question_of(text), purpose=purpose)
    assert 3 <= len(queries) <= 5
    assert_valid(queries)
