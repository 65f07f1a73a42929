"""A database of an earlier version becomes one of this version, and keeps what it holds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.page import Validators

VERSION_1 = Path(__file__).with_name("schemas") / "collections_1.sql"
SCOPE = TenantScope("local", "docs")
STATES = ("stored", "waiting", "to_fetch", "working", "dead")


def fill(database: sqlite3.Connection) -> None:
    """Write what version 1 wrote: one page of each state, and one document with a NaN."""
    run = database.execute
    run(
        "INSERT INTO collections (id, tenant_id, name, embedder) VALUES (3, 'local', 'docs', 'm:2')"
    )
    run("INSERT INTO staged VALUES (1, 'local', 'ref waiting', 'text', 0)")
    for n, name in enumerate(("stored", "odd")):
        provenance: dict[str, Any] = {"provider": "brave", "score": float("nan") if n else 1.5}
        page = (n + 5, name, f"https://Docs.example/{name}.pdf?x", json.dumps(provenance))
        run("INSERT INTO documents VALUES (?, 3, ?, ?, 'Title', 'hash', ?)", page)
        vector = np.array([1 - n, n], dtype="<f4").tobytes()
        run(
            "INSERT INTO chunks VALUES (:n, :n, 0, 0, 9, :vector, 'green tea')",
            {"n": n + 5, "vector": vector},
        )
        run(
            "INSERT INTO chunk_words (rowid, part, title, body) VALUES (?, 'c3', 'titl', 'green tea')",
            (n + 5,),
        )
    for n, state in enumerate(STATES):
        ref = None if state == "to_fetch" else f"ref {state}"
        run(
            "INSERT INTO ledger (id, collection_id, url_key, url, title, content_ref, provenance,"
            " state, owner, error) VALUES (:n, 3, :state, 'https://e.com/' || :state, 'T', :ref, '{}',"
            " :state, CASE :state WHEN 'working' THEN 'gone' END,"
            " CASE :state WHEN 'dead' THEN 'bad page' END)",
            {"n": n + 1, "state": state, "ref": ref},
        )
    run(
        "INSERT INTO ledger SELECT 99, collection_id, 'deleted', url, title, content_ref, provenance, state, due, owner, attempts, fence, error FROM ledger WHERE id = 1"
    )
    run("DELETE FROM ledger WHERE id = 99")
    run("INSERT INTO tickets VALUES ('ticket-1', 3)")
    run("INSERT INTO ticket_rows SELECT 'ticket-1', id, id FROM ledger")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that version 1 made and filled."""
    path = tmp_path / "collections.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(VERSION_1.read_text())
        fill(database)
    return path


def schema(path: Path) -> dict[str, Any]:
    """Return tables with their columns and keys, indexes with theirs, triggers."""
    with closing(sqlite3.connect(path)) as database:
        names = database.execute(
            "SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE 'prepared%'"
        ).fetchall()
        facts = ("table_xinfo", "foreign_key_list", "index_xinfo")
        return {
            name: [kind, *(database.execute(f"PRAGMA {fact}({name})").fetchall() for fact in facts)]
            for name, kind in names
        }


def test_a_migrated_file_has_the_schema_of_a_new_one(path: Path, tmp_path: Path) -> None:
    """Column by column, and every rule about deletion."""
    SQLiteStore(path).close()
    new = tmp_path / "new.db"
    SQLiteStore(new).close()
    assert schema(path) == schema(new)


def test_nothing_is_lost(path: Path) -> None:
    """Documents, vectors, words, rows and tickets are what they were."""
    store = SQLiteStore(path)
    (info,) = store.collections.collections("local")
    assert (info.documents, info.chunks, info.waiting, info.failed) == (2, 2, 3, 1)
    found = store.collections.search(SCOPE, "tea", vector=np.array([[1, 0]], dtype=np.float32))
    assert [one.document.url_key for one in found] == ["stored", "odd"]
    assert found[1].document.provenance == {"provider": "brave", "score": None}
    only = {"host": "docs.example", "provider": "brave"}
    assert len(store.collections.search(SCOPE, "tea", filters=only)) == 2
    status = store.ledger.status("local", "ticket-1")
    assert status is not None
    assert [row.state for row in status.rows] == list(STATES)
    assert (status.stored, status.pending, status.to_fetch, status.failed) == (1, 2, 1, 1)
    (letter,) = store.ledger.dead_letters("local")
    assert (letter.error, letter.failed_at > 1_700_000_000) == ("bad page", True)
    store.close()


def test_the_work_goes_on(path: Path) -> None:
    """Rows are claimed, refreshed and deleted as new ones are; ids are never used twice."""
    store = SQLiteStore(path)
    assert store.ledger.sweep(is_gone=lambda owner: owner == "gone") == 1
    claims = [store.ledger.claim("me", lease_s=60, fetch=True) for _ in range(3)]
    assert {claim.url_key for claim in claims if claim} == {"waiting", "working", "to_fetch"}
    assert store.ledger.refetch(SCOPE).count == 5
    claim = store.ledger.claim("me", lease_s=60, fetch=True)
    assert claim is not None
    assert (claim.url_key, claim.is_refresh) == ("stored", True)
    assert (claim.validators, claim.text_hash) == (Validators(), "hash")
    store.ledger.enqueue(IngestionRequest(SCOPE, [IngestionItem("https://e.com/n", "n", "N")]))
    newest = [store.ledger.claim("me", lease_s=60, fetch=True) for _ in range(2)]
    assert max(claim.row_id for claim in newest if claim) > 99
    assert store.collections.purge("local", 3600).documents == 0
    assert store.collections.delete_tenant("local").documents == 2
    store.close()
