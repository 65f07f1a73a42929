"""`collection-search corpus`: add, list and remove folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from collection_search.adapters.corpus.corpus import Corpus
from collection_search.adapters.corpus.entry import CorpusSource
from collection_search.cli.corpus import app
from collection_search.errors import InputError
from collection_search.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """A corpus without Python's own pages."""
    return Corpus(Settings(home=tmp_path / "home"), CorpusSource("1", list))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with one note and one empty file."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "soup.md").write_text("# Soup\n\nPotatoes and onions.")
    (folder / "empty.md").touch()
    return folder


def run(corpus: Corpus, *arguments: str) -> tuple[str, str]:
    result = CliRunner().invoke(app, arguments, obj=corpus, catch_exceptions=False)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout, result.stderr


def test_add_reads_the_folder_and_says_what_was_left_out(corpus: Corpus, notes: Path) -> None:
    """After the command the pages are found, under the address that it printed."""
    out, err = run(corpus, "add", str(notes), "--base-url", "https://example.org/n")
    assert out == f"Added {notes} as 'notes': 1 page at https://example.org/n/\n"
    assert "left out empty.md: The document holds no text." in err
    assert [hit.url for hit in corpus.search("onions", 5)] == ["https://example.org/n/soup.md"]


def test_long_reports_are_cut(corpus: Corpus, notes: Path) -> None:
    """Of many unusable files the first are named and the rest counted."""
    for number in range(30):
        (notes / f"empty{number}.md").touch()
    _, err = run(corpus, "add", str(notes))
    assert err.count("left out empty") == 20
    assert "and 11 more files" in err


def test_the_list_as_json(corpus: Corpus, notes: Path) -> None:
    """One object, also without folders."""
    assert json.loads(run(corpus, "list", "--json")[0]) == {"folders": []}
    run(corpus, "add", str(notes), "--base-url", "https://example.org/n")
    assert json.loads(run(corpus, "list", "--json")[0])["folders"] == [
        {"name": "notes", "path": str(notes), "base_url": "https://example.org/n/", "pages": 1}
    ]


def test_list_shows_the_folders(corpus: Corpus, notes: Path) -> None:
    """Name, size, path and address; without folders the way to add one."""
    assert "corpus add PATH" in run(corpus, "list")[0]
    run(corpus, "add", str(notes), "--name", "kitchen")
    line = f"kitchen  1 page  {notes}  https://kitchen.corpus.invalid/\n"
    assert run(corpus, "list")[0] == run(corpus)[0] == line


def test_remove_takes_a_folder_out(corpus: Corpus, notes: Path) -> None:
    """After the command its pages are no longer found."""
    run(corpus, "add", str(notes))
    assert run(corpus, "remove", "notes")[0] == "Removed 'notes' from the offline search.\n"
    assert corpus.search("onions", 5) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "/no/such/folder"], "There is no folder /no/such/folder"),
        (["add", ".", "--name", "Not Good"], "small letters"),
        (["add", ".", "--base-url", "nowhere"], "--base-url 'nowhere' cannot be used"),
        (["remove", "x"], "No folder is called 'x'"),
    ],
)
def test_wrong_input_is_told(corpus: Corpus, arguments: list[str], message: str) -> None:
    """The command's own error reaches the one who reports it."""
    with pytest.raises(InputError, match=message):
        run(corpus, *arguments)
