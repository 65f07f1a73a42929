"""Schema 4 gives every stored page the key that its URL has today, and loses none of them."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from collection_search.adapters.stores.sqlite import COLLECTIONS, SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.text.loose_keys import loose_url_key
from collection_search.text.urls import url_key

VERSION_3 = Path(__file__).with_name("schemas") / "collections_3.sql"
SCOPE = TenantScope("local", "docs")
MANY = 20_000
PAGES = {
    "https://example.com/a": "example.com/a",
    "http://example.com/b": "http://example.com/b",
    "https://www.example.com/c/": "www.example.com/c/",
    "https://example.com/d/index.html": "example.com/d/index.html",
    "https://example.com/": "example.com/",
    # the old key of each of these is the new key of another
    "https://www.example.net/": "www.example.net/",
    "https://www.www.example.net//": "www.www.example.net//",
    "https://example.net/e/": "example.net/e/",
    "https://example.net/e//": "example.net/e//",
}


class Version3:
    """A file of version 3 that is written row by row."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.executescript(VERSION_3.read_text())
        self.database.execute(
            "INSERT INTO collections (id, tenant_id, name) VALUES (1, 'local', 'docs')"
        )
        self.database.execute("INSERT INTO tickets (id, collection_id) VALUES ('ticket', 1)")

    def document(self, url: str, key: str | None = None, text: str = "tea") -> None:
        key = loose_url_key(url) if key is None else key
        run = self.database.execute
        page = run(
            "INSERT INTO documents (collection_id, url_key, url, title, content_hash, provenance,"
            " stored_at) VALUES (1, ?, ?, 'T', ?, '{}', 0)",
            (key, url, f"hash of {url}"),
        ).lastrowid
        chunk = run(
            'INSERT INTO chunks (document_id, ordinal, start, "end", text) VALUES (?, 0, 0, 3, ?)',
            (page, text),
        ).lastrowid
        run(
            "INSERT INTO chunk_words (rowid, part, title, body) VALUES (?, 'c1', 't', ?)",
            (chunk, text),
        )

    def row(self, url: str, key: str | None = None, state: str = "stored") -> None:
        key = loose_url_key(url) if key is None else key
        row = self.database.execute(
            "INSERT INTO ledger (collection_id, url_key, url, title, provenance, state)"
            " VALUES (1, ?, ?, 'T', '{}', ?)",
            (key, url, state),
        ).lastrowid
        self.database.execute("INSERT INTO ticket_rows VALUES ('ticket', ?, ?)", (row, row))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file lies."""
    return tmp_path / "collections.db"


def keys(store: SQLiteStore, name: str = "url_key") -> dict[str, str]:
    """Return the keys of the ticket's rows by URL."""
    status = store.ledger.status("local", "ticket")
    assert status is not None
    return {row.url: getattr(row, name) for row in status.rows}


def test_pages_get_the_keys_of_today(path: Path) -> None:
    """Documents and rows alike, also where the new key of one is the old key of another."""
    old = Version3(path)
    with closing(old.database):
        for url in PAGES:
            old.document(url)
            old.row(url)
        old.row("https://www.example.org/waiting/", state="to_fetch")
    store = SQLiteStore(path)
    assert {one["url"]: one["url_key"] for one in store.collections.export(SCOPE)} == PAGES
    waiting = {"https://www.example.org/waiting/": "www.example.org/waiting/"}
    assert keys(store) == {**PAGES, **waiting}
    assert set(keys(store, "state").values()) == {"stored", "to_fetch"}
    found = store.collections.search(SCOPE, "tea")
    assert {one.document.url_key for one in found} == set(PAGES.values())
    store.close()


def test_a_page_keeps_one_key_in_document_and_ledger(path: Path) -> None:
    """That of the document's URL, where the ledger has another way to write it."""
    old = Version3(path)
    with closing(old.database):
        old.document("https://www.example.com/a/")
        old.row("http://example.com/a")
        old.row("http://example.com/b", state="dead")
    store = SQLiteStore(path)
    assert keys(store) == {
        "https://www.example.com/a/": "www.example.com/a/",
        "http://example.com/b": "http://example.com/b",
    }
    assert store.collections.hashes(SCOPE).keys() == {"www.example.com/a/"}
    store.close()


def test_nothing_is_taken_from_a_caller(path: Path) -> None:
    """A caller's own key stays, and a page whose new key it would be keeps its old one."""
    old = Version3(path)
    with closing(old.database):
        old.document("https://www.example.com/a/")  # its new key is taken
        old.document("langchain:www.example.com/a/", "www.example.com/a/")
        old.document("https://www.example.com/own", "my id")
        old.document("https://example.net/e/")  # so is this one, by a page that keeps its own
        old.document("https://example.net/e//")
        old.document("langchain:example.net/e//", "example.net/e//")
    before = {"example.com/a", "www.example.com/a/", "my id"}
    before |= {"example.net/e", "example.net/e/", "example.net/e//"}
    store = SQLiteStore(path)
    assert store.collections.hashes(SCOPE).keys() == before
    store.close()


def test_questions_and_candidates_follow(path: Path) -> None:
    """A question's pages in their order, and candidates that were not ingested yet."""
    old = Version3(path)
    with closing(old.database) as database:
        old.document("https://www.example.com/a/")
        record = {"question": "Tea?", "url_keys": ["z", "example.com/a", "example.com/unknown"]}
        database.execute(
            "INSERT INTO questions (collection_id, question, record, first_asked_at,"
            " last_asked_at) VALUES (1, 'Tea?', ?, 0, 0)",
            (json.dumps(record),),
        )
        database.execute("INSERT INTO sessions VALUES ('s', 'local', 'docs', 0, '{}')")
        candidates: list[dict[str, Any]] = [
            {"url": "http://example.com/b", "url_key": "example.com/b", "score": 0.1},
            {"url_key": "c"},
            {"url": 7, "url_key": "d"},
        ]
        database.executemany(
            "INSERT INTO session_candidates (session_id, position, candidate) VALUES ('s', ?, ?)",
            [(n, json.dumps(one)) for n, one in enumerate(candidates)],
        )
    store = SQLiteStore(path)
    (question,) = store.collections.questions(SCOPE)
    assert question.url_keys == ["z", "www.example.com/a/", "example.com/unknown"]
    session = store.staging.session("local", "s")
    assert session is not None
    assert session.candidates == [
        {**candidates[0], "url_key": "http://example.com/b"},
        *candidates[1:],
    ]
    store.close()


@pytest.mark.slow
def test_a_large_file_is_migrated_in_seconds(path: Path) -> None:
    """Twenty thousand documents with their rows, a third of which get another key."""
    old = Version3(path)
    with closing(old.database) as database:
        database.execute("BEGIN")
        for n in range(MANY):
            url = f"http{'s' * (n % 3 > 0)}://example{n % 50}.com/pages/{n}"
            old.document(url, text=f"tea {n}")
            old.row(url)
        database.execute("COMMIT")
    began = time.process_time()
    store = SQLiteStore(path)
    assert time.process_time() - began < 20
    hashes = store.collections.hashes(SCOPE)
    assert len(hashes) == MANY
    assert {url_key(url) for url in keys(store)} == hashes.keys()
    store.close()


def test_files_of_version_3_can_be_migrated() -> None:
    """Each earlier version has its way here."""
    assert [len(COLLECTIONS.steps(version)) for version in range(1, 7)] == [6, 5, 4, 3, 2, 1]
