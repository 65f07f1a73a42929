"""A database of an earlier version becomes one of this version, and keeps what it holds.

`collections_1.sql` is the schema of version 1, which `fill` fills. `collections_2.zip` holds a
database that version 2 wrote, and `expected.json`: what that version said of it.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from collection_search.adapters.stores.sqlite import COLLECTIONS, SQLiteStore
from collection_search.adapters.stores.sqlite.database import Database
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.page import Validators
from collection_search.errors import StoreError

SCHEMAS = Path(__file__).with_name("schemas")
VERSION_1 = SCHEMAS / "collections_1.sql"
VERSION_2 = SCHEMAS / "collections_2.zip"
WORLD = TenantScope("acme", "world")
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


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """What version 2 said of the file that it wrote, which is at `path_2`."""
    with zipfile.ZipFile(VERSION_2) as files:
        (tmp_path / "two.db").write_bytes(files.read("collections.db"))
        return json.loads(files.read("expected.json"))


@pytest.fixture
def path_2(tmp_path: Path, written: Any) -> Path:
    """A file that version 2 wrote."""
    assert written
    return tmp_path / "two.db"


def fields_of(value: Any) -> Any:
    return TypeAdapter(type(value)).dump_python(value, mode="json")


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


def test_a_migrated_file_has_the_schema_of_a_new_one(
    path: Path, path_2: Path, tmp_path: Path
) -> None:
    """Column by column, and every rule about deletion."""
    new = tmp_path / "new.db"
    for file in (path, path_2, new):
        SQLiteStore(file).close()
    assert schema(path) == schema(path_2) == schema(new)


def test_a_migration_that_fails_changes_nothing(path_2: Path, written: Any) -> None:
    """The next start begins it anew."""

    def fail(*_: Any) -> str:
        raise ValueError("a bad day")

    before = path_2.read_bytes()
    with pytest.raises(StoreError):
        Database(path_2, replace(COLLECTIONS, functions={"stems_of": fail}))
    assert path_2.read_bytes() == before
    store = SQLiteStore(path_2)
    assert [fields_of(one) for one in store.ledger.dead_letters("local")] == written["dead"]
    store.close()


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
    claims = [store.ledger.claim("me", lease_s=60, fetch=True) for _ in range(2)]
    (claim,) = (claim for claim in claims if claim and claim.url_key == "stored")
    assert claim.is_refresh
    assert (claim.validators, claim.text_hash) == (Validators(), "hash")
    store.ledger.enqueue(
        IngestionRequest(SCOPE, [IngestionItem("https://new.example/n", "n", "N")])
    )
    newest = store.ledger.claim("me", lease_s=60, fetch=True)
    assert newest is not None
    assert newest.row_id > 99
    assert store.collections.purge("local", 3600).documents == 0
    assert store.collections.delete_tenant("local").documents == 2
    store.close()


def found(store: SQLiteStore, question: str, scope: TenantScope = WORLD, **search: Any) -> Any:
    chunks = store.collections.search(scope, question, **search)
    return [[one.document.url_key, one.chunk.ordinal] for one in chunks]


def test_what_version_2_wrote_is_read(path_2: Path, written: Any) -> None:
    """Collections, ledger, tickets, staged texts, sessions and questions."""
    store = SQLiteStore(path_2, clock=lambda: written["now"])
    for tenant, infos in written["infos"].items():
        assert [fields_of(info) for info in store.collections.collections(tenant)] == infos
    for known in written["tickets"]:
        status = fields_of(store.ledger.status("local", known["ticket_id"]))
        for row in status["rows"]:
            del row["put_off_until"]  # new since then
        assert status == known
    assert store.ledger.retired(SCOPE) == written["retired"]
    for tenant, staged in written["staged"].items():
        assert {ref: store.staging.get(tenant, ref) for ref in staged} == staged
    assert store.staging.session("acme", written["session"]) is not None
    for one, known in zip(store.collections.questions(WORLD), written["questions"], strict=True):
        assert fields_of(one).items() >= known.items()
    for question, chunks in written["found"].items():
        assert found(store, question) == chunks
    near = np.array([[1, 0]], dtype=np.float32)
    assert found(store, "tea", SCOPE, vector=near) == written["tea"]
    pending = store.collections.pending_vectors(SCOPE, "model:4@4")
    assert [pending.total, pending.left] == written["pending"]
    store.close()


def test_the_work_of_version_2_goes_on(path_2: Path, written: Any) -> None:
    """Its rows are claimed and its validators sent; a stored page can be stored again."""
    store = SQLiteStore(path_2, clock=lambda: written["now"] + 7200)
    taken = []
    while claim := store.ledger.claim("me", lease_s=60, fetch=True):
        taken.append(claim.url_key.removeprefix("docs.example/"))
        store.ledger.fail(claim, "bad page", retry_in_s=None)
    assert sorted(taken) == ["fresh", "postponed", "waiting", "working"]
    store.ledger.refetch(SCOPE, url_keys=["docs.example/fetched"])
    refreshed = store.ledger.claim("me", lease_s=60, fetch=True)
    assert refreshed is not None
    assert refreshed.validators == Validators('"e"', None)
    store.close()


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("富士山の高さは", "ja"),
        ("茶", "ja"),
        ("长城", "zh"),
        ("猫", "zh"),
        ("지하철은 몇 개", "ko"),
        ("서울에서", "ko"),
        ("ช้างป่า", "th"),
        ("กุ้ง", "th"),
        ("भाषा", "hi"),
        ("लड़की", "hi"),
        ("дерево", "ru"),
        ("кошка", "ru"),
        ("مكتبة", "ar"),
        ("كتاب", "ar"),
        ("Häuser", "de"),
    ],
)
def test_words_of_all_scripts_are_found(path_2: Path, question: str, page: str) -> None:
    """In texts that were stored before, without storing them again."""
    store = SQLiteStore(path_2)
    assert found(store, question)[0][0] == f"docs.example/{page}"
    store.close()
