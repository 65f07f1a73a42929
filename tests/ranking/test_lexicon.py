"""Languages, stems and full-text queries."""

from __future__ import annotations

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.languages import LANGUAGES, vocabulary
from collection_search.ranking.lexicon import (
    find_stems,
    index_text,
    language_of,
    match_query,
    question_terms,
    stems,
    terms,
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How do I cancel a task?", "en"),
        ("Wie breche ich eine Aufgabe ab?", "de"),
        ("Wer gewann den Super Bowl?", "de"),
        ("Wärmepumpe Förderung", "de"),
        ("Wetter heute Abend", "de"),
        ("Wann entdeckte Carl Wilhelm Scheele Sauerstoff?", "de"),
        ("weather forecast tomorrow", "en"),
        ("asyncio", "en"),
        ("", "en"),
    ],
)
def test_language(text, language):
    """Stop words decide, then umlauts and common words; without a sign it is English."""
    assert language_of(text) == language


def test_terms_and_stems():
    """Stop words go, inflected forms fall together, in both languages."""
    assert terms("What is the capital of France?") == ["capital", "france"]
    assert stems("cancelled cancelling cancels") == ["cancel"] * 3
    assert stems("die Häuser und das Haus") == ["haus", "haus"]
    assert stems("the time", "de") == ["the", "tim"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_wanted_stems_are_found(language):
    """Every listed word is found by its stem, and it alone; umlauts lose their dots."""
    listed = [words for each in LANGUAGES for words in vocabulary(each)[1:]]
    for word in terms(" ".join([*listed, "Äpfel über öde dying"]), language):
        (stem,) = stems(word, language)
        assert find_stems({stem}, language, ["zzz", word]) == {word: stem}
    among = ["the", "cancelled", "tasks", "taskforce"]
    assert find_stems({"task"}, language, among) == {"tasks": "task"}
    assert find_stems(set(), language, ["task"]) == {}


def test_long_words_are_stemmed_too():
    """A word too long to be remembered has a stem all the same."""
    word = "donaudampfschifffahrtsgesellschaftskapitän" * 2
    assert stems(word + "e", "de") == stems(word, "de") == [word.replace("ä", "a")]


def test_question_terms_weigh_by_rarity():
    """Common words weigh less than rare ones, names and numbers a little more, each stem once."""
    found = {term.word: term.rarity for term in question_terms("Many tasks of Tesla: task 42?")}
    assert found == {"many": 1.0, "tasks": 1.0, "tesla": 3.5, "42": 3.5}
    assert [term.rarity for term in question_terms("ubiquitous")] == [3.0]
    assert [term.rarity for term in question_terms("hypothesis")] == [2.0]


def test_question_of_stop_words_keeps_them():
    """A question that is all stop words is asked for by these, one without words by nothing."""
    assert [term.word for term in question_terms("To be or not to be")] == ["to", "be", "or", "not"]
    assert question_terms("\U0001f600 !?") == ()


def test_match_query_form():
    """Stems stand in quotes, joined by OR; a German question also looks for English stems."""
    assert match_query("Cancel the tasks!") == '"cancel" OR "task"'
    assert match_query("Was ist Caching?") == '"cach" OR "caching"'
    assert match_query("the and of") == match_query("?!") == ""


@pytest.fixture
def pages():
    """A full-text table as the stores have it."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE page USING fts5(t, tokenize='unicode61 remove_diacritics 2')")
    yield db
    db.close()


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Running tasks were cancelled.", "How do I cancel a running task?"),
        ("Die Häuser der Städte", "Haus in einer Stadt"),
        ("Müller wohnt in der Straße.", "Strasse von Muller"),
        ("Templates in C++ and generics in C#", "generics in C#"),
        ("The timeouts of asyncio", "Wie setze ich ein asyncio Timeout?"),
        ('A word like "NEAR" or AND', 'NEAR("word", 2) AND -x:y*'),
    ],
)
def test_indexed_text_is_found(pages, text, question):
    """What `index_text` stores, `match_query` finds: inflected, accented, quoted, cross-language."""
    pages.execute("INSERT INTO page VALUES (?)", (index_text(text),))
    found = pages.execute("SELECT count(*) FROM page WHERE page MATCH ?", (match_query(question),))
    assert found.fetchone() == (1,)


def test_long_question_stays_a_query(pages):
    """A question of thousands of words makes a query that FTS5 accepts."""
    question = " ".join(f"word{i}" for i in range(5000))
    pages.execute("INSERT INTO page VALUES (?)", (index_text("word7"),))
    found = pages.execute("SELECT count(*) FROM page WHERE page MATCH ?", (match_query(question),))
    assert found.fetchone() == (1,)


def test_threads_stem_alike():
    """Many threads get the stems that one gets."""
    texts = [f"cancelling{i} running{i} houses{i} tasks" for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: stems(text, "en"), texts))
    assert found == [stems(text, "en") for text in texts]


def test_word_lists_are_tidy():
    """Each word stands once in its list, in one list only, and the lists are in order."""
    for language in LANGUAGES:
        split = [each.split() for each in vocabulary(language)]
        assert all(len(each) == len(set(each)) for each in split)
        assert len(set().union(*split)) == sum(map(len, split))
        assert all(each == sorted(each) for each in split[1:])


def test_stemmer_is_loaded_at_first_use():
    """Importing the module loads no stemmer."""
    code = "import sys, collection_search.ranking.lexicon; sys.exit('Stemmer' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


ASCII_WORDS = [
    "die",
    "man",
    "der",
    "the",
    "of",
    "in",
    "was",
    "task",
    "cancelled",
    "haus",
    "x2",
    ".",
]


@given(
    before=st.integers(0, 20) | st.integers(980, 1010),
    text=st.lists(st.sampled_from(ASCII_WORDS), max_size=30).map(" ".join),
)
def test_ascii_is_indexed_by_its_stems(before, text):
    """In the language of its head, whichever votes it has, also where a word is cut there."""
    text = ("zz " * 340)[:before] + text
    assert index_text(text) == " ".join(stems(text))
