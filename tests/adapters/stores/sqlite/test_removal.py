"""What was deleted cannot be read from the file any more."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sql.collection_ids import find_id
from collection_search.adapters.stores.sqlite import SQLiteStore, removal, space
from collection_search.adapters.stores.sqlite.database import Database
from collection_search.contracts.collection import (
    Chunk,
    Document,
    QuestionRecord,
    TenantScope,
)
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.errors import StoreError
from collection_search.runtime import disk_room
from collection_search.testing.clock import FakeClock
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCOPE = TenantScope("local", "docs")
SECRETS = ("zanzibar", "quetzal", "xylophone", "wolframite")


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["document", "collection", "tenant", "purge"])
def test_no_word_of_it_stays_in_the_file(tmp_path: Path, way: str) -> None:
    """Neither in free pages nor in the word index nor beside the file."""
    clock = FakeClock()
    store = SQLiteStore(tmp_path / "collections.db", clock=clock.time)
    collections = store.collections
    for n in range(30):
        page = document(f"page{n}", f"ordinary {n}")
        collections.replace_document(TenantScope("other", "docs"), page, chunks("ordinary tea"))
    title, body, question, staged = SECRETS
    page = document(title, body, question=question)
    collections.replace_document(SCOPE, page, chunks(f"{body} {title}"))
    if way != "document":
        collections.remember_question(SCOPE, QuestionRecord(question=question))
        store.staging.put(SCOPE.tenant_id, [staged])
    store.close()
    before = bytes_of(tmp_path)
    assert all(word.encode() in before for word in (title, body, question))
    if way == "document":
        assert collections.delete_document(SCOPE, page.url_key)
    elif way == "collection":
        collections.delete_collection(SCOPE)
        store.staging.prune(0)
    elif way == "tenant":
        collections.delete_tenant(SCOPE.tenant_id)
    else:
        clock.advance(10)
        collections.purge(SCOPE.tenant_id, 5)
    store.close()
    after = bytes_of(tmp_path)
    assert [word for word in SECRETS if word.encode() in after] == []
    assert b"ordinary" in after


def test_what_was_deleted_stands_in_no_file(tmp_path: Path) -> None:
    """Neither in the database nor in its write-ahead log."""
    path = tmp_path / "collections.db"
    store = SQLiteStore(path)
    scope = TenantScope("acme", "notes")
    text = "a sentence that nobody may read any more"
    document = Document("https://a.org/x", "a.org/x", "Secret", "0" * 64)
    store.collections.replace_document(scope, document, [Chunk(0, text, 0, len(text))])
    files = [path, path.with_name("collections.db-wal")]
    assert any(text.encode() in file.read_bytes() for file in files)
    assert store.collections.delete_document(scope, "a.org/x")
    assert not any(text.encode() in file.read_bytes() for file in files if file.exists())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "collections.db"


def fill(store: SQLiteStore, scope: TenantScope = SCOPE, *, documents: int, size: int) -> None:
    """Store documents of so many chunks, each with a page that waits."""
    for n in range(documents):
        page = document(f"page{n}", f"{n}")
        texts = [f"Green tea {n} {chunk}. " * 20 for chunk in range(size)]
        store.collections.replace_document(scope, page, chunks(*texts))
    (ref,) = store.staging.put(scope.tenant_id, ["A text that waits."])
    items = [IngestionItem(f"https://e.com/{n}", f"e.com/{n}", "", ref) for n in range(5)]
    store.ledger.enqueue(IngestionRequest(scope, items))
    store.staging.open_session(scope, [{"url_key": "e.com/1", "content_ref": ref}], {})


def begin(store: SQLiteStore) -> None:
    """Begin to delete the collection as a process that dies after two transactions."""
    database = store._database
    with database.write() as connection:
        begun, _ = removal.mark_collection(
            connection, SCOPE, find_id(connection, SCOPE), store.collections._clock()
        )
    erased = removal.erase(database, begun)
    next(erased)
    erased.close()


def rows_in(path: Path, *tables: str) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT count(*) FROM {}"
        return {one: connection.execute(query.format(one)).fetchone()[0] for one in tables}


@pytest.mark.parametrize("way", ["collection", "tenant", "purge"])
def test_no_transaction_deletes_many_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Others may write between two of them."""
    clock, drops = FakeClock(), list[int]()
    store = SQLiteStore(path, clock=clock.time)
    fill(store, documents=9, size=60)
    write = Database.write

    @contextmanager
    def watched(database: Database, *_whose: object) -> Iterator[sqlite3.Connection]:
        count = "SELECT count(*) FROM chunks"
        with write(database) as connection:
            before = connection.execute(count).fetchone()[0]
            yield connection
            drops.append(before - connection.execute(count).fetchone()[0])

    monkeypatch.setattr(Database, "write", watched)
    clock.advance(10)
    if way == "collection":
        assert store.collections.delete_collection(SCOPE) == 9
    elif way == "tenant":
        assert store.collections.delete_tenant(SCOPE.tenant_id).documents == 9
    else:
        assert store.collections.purge(SCOPE.tenant_id, 5).documents == 9
    assert (sum(drops), max(drops) <= space.ROWS) == (540, True)
    store.close()


@pytest.mark.parametrize("by", ["removal", "compaction", "worker"])
def test_an_interrupted_deletion_is_finished(path: Path, by: str) -> None:
    """Meanwhile the collection is gone for everybody, and its name may be used again."""
    clock = FakeClock()
    store = SQLiteStore(path, clock=clock.time)
    fill(store, documents=9, size=60)
    taken = store.ledger.claim("worker", lease_s=900)
    assert taken is not None
    begin(store)
    assert rows_in(path, "chunks") == {"chunks": 540}
    assert store.collections.collections("local") == []
    assert store.collections.search(SCOPE, "tea") == []
    assert store.ledger.claim("worker", lease_s=15, fetch=True) is None
    assert store.ledger.pending_in_s(fetch=True) is None
    assert not store.ledger.renew(taken, lease_s=15)
    assert store.staging.sessions("local") == []
    later = document("later", "later")
    store.collections.replace_document(SCOPE, later, chunks("later tea"))
    assert store.ledger.sweep() == 0  # its process may be at it
    clock.advance(removal.ABANDONED_S)
    if by == "removal":
        store.collections.delete_collection(TenantScope("acme", "nothing"))
    elif by == "compaction":
        store.collections.compact()
    else:
        assert store.ledger.sweep() == 1
        assert store.ledger.sweep() == 0
    left = rows_in(path, "collections", "documents", "chunks", "chunk_words", "ledger", "staged")
    assert left == {
        "collections": 1,
        "documents": 1,
        "chunks": 1,
        "chunk_words": 1,
        "ledger": 0,
        "staged": 0,
    }
    assert [one.chunk.text for one in store.collections.search(SCOPE, "tea")] == ["later tea"]
    store.close()


def test_texts_staged_after_a_tenants_deletion_stay(path: Path) -> None:
    """The rest of an interrupted deletion is what was there when it began."""
    clock = FakeClock()
    store = SQLiteStore(path, clock=clock.time)
    store.staging.put("local", ["old"])
    with store._database.write() as connection:
        removal.mark_tenant(connection, "local", clock.time())
    clock.advance(removal.ABANDONED_S)
    store.staging.put("local", ["new"])
    store.collections.compact()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT text FROM staged").fetchall() == [("new",)]
        assert connection.execute("SELECT count(*) FROM collections").fetchone() == (0,)
    store.close()


@pytest.mark.slow
def test_a_killed_deletion_is_finished_by_another_process(path: Path) -> None:
    """The collection is gone at once, what is left of it with the next compaction."""
    store = SQLiteStore(path)
    fill(store, documents=20, size=100)
    script = (
        "import os, signal, sys; from pathlib import Path;"
        "from collection_search.adapters.stores.sqlite import SQLiteStore, removal;"
        "from collection_search.contracts.collection import TenantScope;"
        "erase = removal.delete_group; removal.delete_group = lambda database, group, *more:"
        " os.kill(os.getpid(), signal.SIGKILL) if group.table == 'documents'"
        " else erase(database, group, *more);"
        "SQLiteStore(Path(sys.argv[1])).collections.delete_collection(TenantScope('local', 'docs'))"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert store.collections.collections("local") == []
    assert rows_in(path, "collections", "documents") == {"collections": 1, "documents": 20}
    store.collections.compact()
    assert rows_in(path, "collections", "documents") == {"collections": 0, "documents": 0}
    store.close()


def test_the_file_shrinks_by_itself(path: Path) -> None:
    """After a deletion, in a database that was made by this version."""
    store = SQLiteStore(path)
    fill(store, documents=9, size=60)
    store._database.truncate_log()
    before = path.stat().st_size
    store.collections.delete_collection(SCOPE)
    assert path.stat().st_size < before / 3
    store.close()


def test_a_nearly_empty_file_is_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is faster than many steps; without room for the copy it stays as it is."""
    monkeypatch.setattr(space, "STEPS_BYTES", 0)
    monkeypatch.setattr(removal, "FREEING_S", 0)
    store = SQLiteStore(path)
    for free in (10**12, 1):
        fill(store, documents=9, size=60)
        store._database.truncate_log()
        before = path.stat().st_size
        monkeypatch.setattr(
            disk_room.shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free)
        )
        store.collections.delete_collection(SCOPE)
        assert (path.stat().st_size < before / 3) is (free > 1)
    store.close()


def old_file(path: Path) -> SQLiteStore:
    """Return a store as earlier versions made it, with deleted rows in it."""
    store = SQLiteStore(path)
    fill(store, documents=9, size=60)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
    store = SQLiteStore(path)
    store.collections.delete_collection(SCOPE)
    return store


def test_a_file_of_an_earlier_version_is_compacted_once(path: Path) -> None:
    """Later deletions shrink it by themselves."""
    store = old_file(path)
    done = store.collections.compact()
    assert done.bytes_after == space.size_of(path)
    assert done.bytes_after < done.bytes_before / 3
    fill(store, documents=9, size=60)
    store._database.truncate_log()
    before = path.stat().st_size
    store.collections.delete_collection(SCOPE)
    assert path.stat().st_size < before / 3
    store.close()


def test_a_compaction_without_room_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where how much is missing, and changes nothing."""
    store = old_file(path)
    before = path.read_bytes()
    full = SimpleNamespace(free=1000)
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: full)
    with pytest.raises(
        StoreError, match=r"not compacted: that needs [\d.,]+ MB in .*, where 0.0 MB"
    ):
        store.collections.compact()
    assert path.read_bytes() == before
    store.close()


def test_further_addresses_are_purged_with_their_document(path: Path) -> None:
    """Their pages can be ingested again, since no row says that they are stored."""
    clock = FakeClock()
    store = SQLiteStore(path, clock=clock.time)
    refs = store.staging.put("local", ["tea"] * 2)
    pages = [IngestionItem(f"https://e.com/{n}", f"e.com/{n}", "", refs[0]) for n in range(2)]
    for _ in range(2):
        store.ledger.enqueue(IngestionRequest(SCOPE, pages))
        while (claim := store.ledger.claim("worker", lease_s=15)) is not None:
            page = Document(claim.url, claim.url_key, claim.title, "0" * 64, claim.provenance)
            assert store.ledger.finish(claim, page, chunks("tea"))
        assert rows_in(path, "documents", "addresses") == {"documents": 1, "addresses": 1}
        clock.advance(10)
        deleted = store.collections.purge("local", 5)
        assert (deleted.documents, deleted.pages) == (1, 2)
        assert rows_in(path, "addresses", "ledger") == {"addresses": 0, "ledger": 0}
        refs = store.staging.put("local", ["tea"])
    store.close()
