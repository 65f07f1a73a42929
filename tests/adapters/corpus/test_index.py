"""The full-text index: what is found, in which order, and what a damaged file does."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from support.offline_index import write_index

from collection_search.adapters.corpus.entry import CorpusPage
from collection_search.adapters.corpus.index import (
    DAMAGE,
    Hit,
    read_fingerprint,
    search_index,
)
from collection_search.adapters.corpus.snippet import best_excerpt

if TYPE_CHECKING:
    from pathlib import Path

FILLER = "Soup is made of potatoes, onions and water. Let it simmer gently for an hour. " * 30

PAGES = [
    CorpusPage("https://a.org/tasks", "Tasks", "A task can be cancelled. It then cleans up."),
    CorpusPage(
        "https://a.org/queues", "Queues", "A queue hands items from one thread to the next."
    ),
    CorpusPage("https://a.org/soup", "Potato soup", FILLER),
    CorpusPage("https://a.org/umlaut", "Größen", "Die Größe der Dateien wird in Bytes gemessen."),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index of the pages above."""
    write_index(tmp_path / "corpus.db", "print-1", PAGES)
    return tmp_path / "corpus.db"


def urls(hits: list[Hit]) -> list[str]:
    return [hit.url.rpartition("/")[2] for hit in hits]


def test_a_page_is_found_by_other_forms_of_its_words(path: Path) -> None:
    """Stems meet: the question's and the page's forms of a word need not be the same."""
    assert urls(search_index(path, "How do I cancel tasks?", 10)) == ["tasks"]
    assert urls(search_index(path, "Groesse einer Datei", 10)) == ["umlaut"]


def test_a_hit_carries_the_whole_page(path: Path) -> None:
    """Address, title and text come back as they were given."""
    (hit,) = search_index(path, "cancel", 10)
    assert (hit.url, hit.title, hit.text) == (PAGES[0].url, PAGES[0].title, PAGES[0].text)
    assert hit.snippet == PAGES[0].text


def test_nothing_in_common_finds_nothing(path: Path) -> None:
    """Unknown words and stop words alone give an empty list."""
    assert search_index(path, "qzxv vbnqx", 10) == []
    assert search_index(path, "how is it", 10) == []


@pytest.mark.parametrize(
    "question", ['"', "NEAR(a b)", "title:x", "a* OR -b", "(((", "x AND", "'; --"]
)
def test_a_question_is_never_read_as_query_syntax(path: Path, question: str) -> None:
    """Signs that mean something to the engine are words or nothing."""
    assert isinstance(search_index(path, question, 10), list)


def test_the_limit_counts_pages(tmp_path: Path) -> None:
    """A page with many matching passages is one hit."""
    write_index(
        tmp_path / "c.db",
        "",
        [CorpusPage(f"https://a.org/{n}", "Soup", FILLER) for n in range(5)],
    )
    assert len(search_index(tmp_path / "c.db", "potato soup", 3)) == 3
    assert len(search_index(tmp_path / "c.db", "potato soup", 10)) == 5


def test_scores_lie_between_zero_and_one_and_fall(path: Path) -> None:
    """The best page has 1, the others less, in order."""
    scores = [hit.score for hit in search_index(path, "thread task item cancelled", 10)]
    assert scores[0] == 1
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len(scores) == 2


def test_a_title_counts_more_than_the_text(tmp_path: Path) -> None:
    """The page about a subject comes before the one that mentions it."""
    write_index(
        tmp_path / "c.db",
        "",
        [
            CorpusPage("https://a.org/mention", "Other things", "A queue is used in this text."),
            CorpusPage("https://a.org/subject", "Queue", "It hands items on, in this text."),
            *(CorpusPage(f"https://a.org/{n}", "Filler", "No words in common.") for n in range(9)),
        ],
    )
    assert urls(search_index(tmp_path / "c.db", "queue", 2)) == ["subject", "mention"]


def test_a_long_page_does_not_hide_the_one_that_answers(tmp_path: Path) -> None:
    """A page that names everything somewhere loses to a short page about the question."""
    scattered = f"cancel {FILLER} task {FILLER} timeout {FILLER} asyncio {FILLER}"
    answer = "Cancel an asyncio task after a timeout."
    write_index(
        tmp_path / "c.db",
        "",
        [
            CorpusPage("https://a.org/long", "Everything", scattered * 5),
            CorpusPage("https://a.org/short", "Some page", answer),
        ],
    )
    question = "How do I cancel an asyncio task after a timeout?"
    assert urls(search_index(tmp_path / "c.db", question, 2)) == ["short", "long"]


def test_the_weight_of_a_page_counts(tmp_path: Path) -> None:
    """Of two equal texts the one that stands for a whole site comes second."""
    write_index(
        tmp_path / "c.db",
        "",
        [
            CorpusPage("https://a.org/site", "Queues", "Queues of items.", weight=0.8),
            CorpusPage("https://a.org/page", "Queues", "Queues of items."),
        ],
    )
    hits = search_index(tmp_path / "c.db", "queues", 2)
    assert urls(hits) == ["page", "site"]
    assert hits[1].score == pytest.approx(0.8)


def test_of_two_pages_with_one_address_the_first_is_kept(tmp_path: Path) -> None:
    """An address is one entry."""
    write_index(
        tmp_path / "c.db",
        "",
        [CorpusPage("https://a.org/", "One", "first words"), CorpusPage("https://a.org/", "Two", "second words")],
    )  # fmt: skip
    assert [hit.title for hit in search_index(tmp_path / "c.db", "words", 9)] == ["One"]


def test_broken_unicode_is_stored_as_question_marks(tmp_path: Path) -> None:
    """A lone surrogate in a docstring does not stop the index."""
    write_index(
        tmp_path / "c.db", "", [CorpusPage("https://a.org/", "T\ud800", "some words \udfff")]
    )
    (hit,) = search_index(tmp_path / "c.db", "words", 9)
    assert (hit.title, hit.text) == ("T?", "some words ?")


def test_the_snippet_is_the_passage_that_matches(tmp_path: Path) -> None:
    """Deep in a long page the sentence is found that has the question's words."""
    text = f"{FILLER}\n\nA task can be cancelled by its owner.\n\n{FILLER}"
    write_index(tmp_path / "c.db", "", [CorpusPage("https://a.org/", "Mixed", text)])
    (hit,) = search_index(tmp_path / "c.db", "cancel a task", 1)
    assert "A task can be cancelled by its owner." in hit.snippet
    assert len(hit.snippet) <= 240
    assert "\n" not in hit.snippet


def test_an_excerpt_without_a_match_is_the_beginning() -> None:
    """A page found by its title alone still shows readable text."""
    assert best_excerpt("One two three. " * 40, "zebra").startswith("One two three.")
    assert best_excerpt("", "zebra") == ""


class TestFile:
    """The file as a whole."""

    def test_it_knows_its_fingerprint(self, path: Path) -> None:
        """What the index was built from is written in it."""
        assert read_fingerprint(path) == "print-1"

    def test_it_is_replaced_in_one_step(self, path: Path) -> None:
        """A build that fails half-way leaves the old index as it was."""

        def failing() -> list[CorpusPage]:
            raise OSError("disk full")

        with pytest.raises(OSError, match="disk full"):
            write_index(path, "print-2", (page for page in failing()))
        assert read_fingerprint(path) == "print-1"
        assert urls(search_index(path, "cancel", 1)) == ["tasks"]
        assert [file.name for file in path.parent.iterdir()] == ["corpus.db"]

    def test_a_draft_of_a_killed_build_is_no_obstacle(self, path: Path) -> None:
        """What a killed process left behind is overwritten."""
        path.with_name("corpus.db.new").write_bytes(b"half a file")
        write_index(path, "print-2", PAGES)
        assert read_fingerprint(path) == "print-2"
        assert [file.name for file in path.parent.iterdir()] == ["corpus.db"]

    @pytest.mark.parametrize(
        "content", [b"", b"not a database at all", b"SQLite format 3\0" + b"\xff" * 5000]
    )
    def test_a_damaged_file_has_no_fingerprint(self, path: Path, content: bytes) -> None:
        """An empty, foreign or overwritten file counts as none."""
        path.write_bytes(content)
        assert read_fingerprint(path) is None

    def test_a_missing_file_is_not_created_by_reading(self, tmp_path: Path) -> None:
        """Looking does not leave a file behind."""
        assert read_fingerprint(tmp_path / "none.db") is None
        with pytest.raises(sqlite3.OperationalError):
            search_index(tmp_path / "none.db", "words", 1)
        assert list(tmp_path.iterdir()) == []

    def test_every_damage_is_reported_as_such(self, path: Path) -> None:
        """A file cut or overwritten anywhere answers, or raises what the caller expects."""
        sound = path.read_bytes()
        for position in range(100, len(sound), 997):
            path.write_bytes(sound[:position] + b"\xa5" * 300 + sound[position + 300 :])
            try:
                search_index(path, "cancel the queue of soup", 10)
            except DAMAGE:
                continue
