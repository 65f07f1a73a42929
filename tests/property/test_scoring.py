"""What holds for every question and pool."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.errors import QualityThresholdError
from collection_search.ranking.lexicon import index_text, match_query, question_terms, stems
from collection_search.ranking.scoring import PageText, rank
from collection_search.ranking.threshold import select_for_ingestion
from collection_search.ranking.tokenization import words

WORDS = st.sampled_from(
    ["task", "asyncio", "Haus", "Häuser", "the", "die", "C++", "Tesla", "42", "cancelled", "x"]
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=12).map(" ".join))
URLS = st.one_of(st.text(max_size=30), st.sampled_from(["https://a.example/1", "https://x.com/2"]))
PAGES = st.lists(st.builds(PageText, TEXTS, TEXTS, URLS), max_size=8)
PROFILES = st.sampled_from(["default", "literal"])
SCORES = st.lists(st.floats(0, 100), max_size=30)


@pytest.fixture(scope="module")
def table():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE page USING fts5(t, tokenize='unicode61 remove_diacritics 2')")
    yield db
    db.close()


@pytest.mark.slow
@given(text=st.one_of(st.text(), st.text(alphabet="\"'*:^-+(){}AND OR NEAR,c#\x00\ud800ä")))
def test_any_question_is_a_valid_query(table, text):
    """FTS5 accepts the query made of any text, and indexes any text."""
    query = match_query(text)
    if query:
        table.execute("SELECT count(*) FROM page WHERE page MATCH ?", (query,)).fetchone()
    table.execute("INSERT INTO page VALUES (?)", (index_text(text),))
    table.execute("DELETE FROM page")


@pytest.mark.slow
@given(text=TEXTS)
def test_words_are_settled(text):
    """Reading the words again changes nothing."""
    once = words(text)
    assert words(" ".join(once)) == once


LONG = st.lists(st.one_of(WORDS, st.text(" .#+_aZ1\n", max_size=9)), max_size=400).map(" ".join)


@pytest.mark.slow
@given(text=LONG)
def test_what_is_indexed_of_latin_text_is_its_stems(text):
    """However long it is: the words of its beginning decide the language, and are not cut."""
    assert index_text(text) == " ".join(stems(text))


@pytest.mark.slow
@given(text=TEXTS)
def test_every_question_with_words_asks_for_something(text):
    """A question with words has terms, each stem once, each with a weight."""
    asked = question_terms(text)
    assert bool(asked) == bool(words(text))
    assert len({term.stem for term in asked}) == len(asked)
    assert all(1 <= term.rarity <= 3.5 for term in asked)


@pytest.mark.slow
@given(question=TEXTS, pages=PAGES, profile=PROFILES, data=st.data())
def test_scores_are_bounded_and_ordered(question, pages, profile, data):
    """Every page is ranked once, within the ranges, by score and then by address."""
    cosines = st.one_of(st.none(), st.lists(st.floats(), min_size=len(pages), max_size=len(pages)))
    similarities = data.draw(cosines)
    found = rank(question, pages, similarities=similarities, profile=profile)
    assert sorted(each.index for each in found) == list(range(len(pages)))
    for each in found:
        assert 0 <= each.embedding_rank_score <= 100
        assert -1 <= each.embedding_similarity <= 1
        assert 0 <= each.heuristic_score <= (100 if profile == "default" else 75)
    keys = [(-each.embedding_rank_score, pages[each.index].url) for each in found]
    assert keys == sorted(keys)


@pytest.mark.slow
@given(question=TEXTS, pages=PAGES, profile=PROFILES, data=st.data())
def test_scores_do_not_depend_on_the_order(question, pages, profile, data):
    """A page has the same score wherever it stands in the pool."""
    order = data.draw(st.permutations(range(len(pages))))
    scores = {each.index: each for each in rank(question, pages, profile=profile)}
    mixed = rank(question, [pages[place] for place in order], profile=profile)
    for each in mixed:
        there = scores[order[each.index]].embedding_rank_score
        assert each.embedding_rank_score == pytest.approx(there, abs=0.011)


@pytest.mark.slow
@given(question=TEXTS, pages=PAGES, limit=st.integers(0, 10))
def test_limit_keeps_the_best(question, pages, limit):
    """A limit returns the beginning of the whole order."""
    assert rank(question, pages, limit=limit) == rank(question, pages, limit=99)[:limit]


@pytest.mark.slow
@given(scores=SCORES, min_score=st.floats(0, 100), top_k=st.integers(1, 20))
def test_selection_follows_the_rule(scores, min_score, top_k):
    """Selected are the best scores at the threshold, which is 50 when three do not reach it."""
    enough = sum(score >= min_score for score in scores) >= 3
    expected = min_score if enough else min(min_score, 50)
    good = sorted((score for score in scores if score >= expected), reverse=True)
    if not good:
        with pytest.raises(QualityThresholdError):
            select_for_ingestion(scores, min_score=min_score, top_k=top_k)
        return
    selection = select_for_ingestion(scores, min_score=min_score, top_k=top_k)
    assert (selection.threshold, selection.fallback_used) == (expected, expected < min_score)
    assert [scores[place] for place in selection.positions] == good[:top_k]
