"""The matrices of collections are kept within limits of memory and disk, and never stale."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collection_search.adapters.stores.sqlite import COLLECTIONS, SQLiteStore, vector_cache
from collection_search.adapters.stores.sqlite.chunk_search import find_chunks
from collection_search.adapters.stores.sqlite.database import Database
from collection_search.adapters.stores.sqlite.vector_cache import VectorCache
from collection_search.contracts.collection import TenantScope
from collection_search.errors import StoreError
from collection_search.testing.stores.suite import axes, chunks, document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACTS = 2 * (8 + 8 + 4)
"""Two chunks: each its id, its document's id and its vector's length."""
IDS = 2 * (8 + 8)
"""The same where no vector is kept."""
ROWS = 2 * 4
"""Each four bytes."""
MATRIX = FACTS + ROWS
LOAD = "WHERE collection_id = "
COPY = "SELECT vector FROM chunks"


def fill(store: SQLiteStore, name: str, *numbers: int) -> None:
    scope = TenantScope("local", name)
    store.collections.bind_embedder(scope, "model:4")
    texts = [f"{name} {number}" for number in numbers]
    page = document("page", "".join(texts))
    store.collections.replace_document(scope, page, chunks(*texts, vectors=axes(*numbers)))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Three collections of two chunks."""
    store = SQLiteStore(tmp_path / "collections.db")
    for name in ("a", "b", "c"):
        fill(store, name, 0, 1)
    with opened(tmp_path) as connection:
        yield connection
    store.close()


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "collections.db", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def loads(connection: sqlite3.Connection) -> list[str]:
    """Return a list that fills with the matrices that are read."""
    read: list[str] = []

    def note(query: str) -> None:
        if query.startswith("SELECT chunks.id, document_id") and LOAD in query:
            read.append(query)

    connection.set_trace_callback(note)
    return read


def ask(cache: VectorCache, connection: sqlite3.Connection, name: str) -> None:
    row = connection.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()
    assert len(cache.compare(connection, row["id"], axes(1), limit=2).cosines().best(1)) == 1


@pytest.mark.parametrize("small", [100, 0])
def test_what_is_kept_fits(connection: sqlite3.Connection, small: int) -> None:
    """Those searched longest ago make room, in memory and on the disk."""
    size = MATRIX if small else FACTS
    cache = VectorCache(small_bytes=small, max_bytes=2 * size, max_filed_bytes=2 * ROWS)
    read = loads(connection)
    for name in "abac":
        ask(cache, connection, name)
        assert cache.bytes <= 2 * size
        assert cache.filed_bytes <= 2 * ROWS
    assert len(read) == 3
    ask(cache, connection, "a")
    assert len(read) == 3
    ask(cache, connection, "b")
    assert len(read) == 4


def test_files_make_room_for_files(connection: sqlite3.Connection) -> None:
    """What is in memory may stay."""
    cache, read = VectorCache(small_bytes=0, max_filed_bytes=2 * ROWS), loads(connection)
    for name, files in zip("abca", [1, 2, 2, 2], strict=True):
        ask(cache, connection, name)
        assert cache.filed_bytes == files * ROWS
    assert len(read) == 4


def test_the_last_one_is_kept_whatever_its_size(connection: sqlite3.Connection) -> None:
    """It is asked again more often than not."""
    cache, read = VectorCache(max_bytes=1), loads(connection)
    for name in "aabb":
        ask(cache, connection, name)
        assert cache.bytes == MATRIX
    assert len(read) == 2


@pytest.mark.parametrize("small", [10_000, 0])
def test_a_change_updates_what_is_kept(tmp_path: Path, small: int) -> None:
    """Nothing is read anew; what was replaced or deleted is gone, what came is there."""
    cache = VectorCache(small_bytes=small)
    store, scope = SQLiteStore(tmp_path / "collections.db", vectors=cache), TenantScope("l", "a")
    store.collections.bind_embedder(scope, "model:4")
    for n in range(20):
        store.collections.replace_document(
            scope, document(f"{n}"), chunks(f"{n} x", f"{n} y", vectors=axes(0, 1))
        )
    with opened(tmp_path) as connection:
        read = loads(connection)
        ask(cache, connection, "a")
        for n, number in ((3, 2), (19, 3), (20, 2)):  # in the middle, the last one, a new one
            page = document(f"{n}")
            store.collections.replace_document(scope, page, chunks("z", vectors=axes(number)))
            near = cache.compare(connection, 1, axes(number), limit=2).cosines()
            stored = connection.execute("SELECT id, vector FROM chunks ORDER BY id").fetchall()
            assert len(near) == len(stored)
            exact = [float(np.frombuffer(row["vector"], "<f4")[number]) for row in stored]
            assert near.of([row["id"] for row in stored]) == pytest.approx(exact, abs=0.01)
        connection.execute("DELETE FROM documents WHERE url_key = 'example.com/5'")
        connection.execute("UPDATE collections SET changes = changes + 1")
        assert len(cache.compare(connection, 1, axes(1), limit=2).cosines()) == 37
    assert len(read) == 1
    assert cache.bytes == 37 * (24 if small else 20)
    if small:
        assert cache.filed_bytes == 0
    else:
        assert 37 * 4 <= cache.filed_bytes <= 3 * 40 * 4  # with the places of former blocks
    store.close()


@pytest.mark.parametrize(("most", "spare"), [(200, 1000), (1000, -150)])
def test_a_file_that_an_update_made_too_large_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, spare: int
) -> None:
    """What is between its blocks takes the disk as well: 40 vectors before, 39 after."""
    monkeypatch.setattr(vector_cache, "SPARE_BYTES", spare)
    cache = VectorCache(small_bytes=0, max_filed_bytes=most)
    store, scope = SQLiteStore(tmp_path / "collections.db", vectors=cache), TenantScope("l", "a")
    store.collections.bind_embedder(scope, "model:4")
    for n in range(20):
        rows = chunks(f"{n} x", f"{n} y", vectors=axes(0, 1))
        store.collections.replace_document(scope, document(f"{n}"), rows)
    with opened(tmp_path) as connection:
        read = loads(connection)
        ask(cache, connection, "a")
        store.collections.replace_document(scope, document("3"), chunks("z", vectors=axes(1)))
        ask(cache, connection, "a")
    assert (len(read), cache.filed_bytes) == (2, 39 * 4)
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("small", [100, 0])
def test_a_forked_child_begins_with_nothing(tmp_path: Path, small: int) -> None:
    """Neither with matrices, whose files its parent writes to, nor with locks of its threads."""
    cache = VectorCache(small_bytes=small)
    store = SQLiteStore(tmp_path / "collections.db", vectors=cache)
    fill(store, "a", 0, 1)
    scope = TenantScope("local", "a")
    store.collections.search(scope, "", vector=axes(1))
    kept, child = cache.filed_bytes, os.fork()
    if child == 0:
        is_empty, status = cache.bytes == cache.filed_bytes == 0, 8
        with suppress(Exception):
            (found, _) = store.collections.search(scope, "", vector=axes(1))
            status = 7 if is_empty and found.chunk.text == "a 1" else 9
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert cache.filed_bytes == kept
    assert store.collections.search(scope, "", vector=axes(1))[0].chunk.text == "a 1"
    store.close()


@pytest.mark.parametrize("small", [100, 0])
def test_new_vectors_are_read_anew(tmp_path: Path, small: int) -> None:
    """Those of another model, all at once."""
    cache, scope = VectorCache(small_bytes=small), TenantScope("local", "a")
    store = SQLiteStore(tmp_path / "collections.db", vectors=cache)
    fill(store, "a", 0, 1)
    assert store.collections.search(scope, "", vector=axes(1))[0].chunk.text == "a 1"
    pending = store.collections.pending_vectors(scope, "other:4").chunks
    store.collections.prepare_vectors(scope, "other:4", pending, axes(1, 0))
    assert store.collections.change_embedder(scope, "other:4")
    assert store.collections.search(scope, "", vector=axes(1))[0].chunk.text == "a 0"
    store.close()


def test_what_came_to_another_collection_drops_nothing(tmp_path: Path) -> None:
    """What it lost, does: at the next search, of whatever collection."""
    cache = VectorCache()
    store = SQLiteStore(tmp_path / "collections.db", vectors=cache)
    for name in ("a", "b"):
        fill(store, name, 0, 1)
        store.collections.search(TenantScope("local", name), "", vector=axes(1))
    scope = TenantScope("local", "a")
    store.collections.replace_document(scope, document("new"), chunks("x", vectors=axes(1)))
    store.collections.search(TenantScope("local", "b"), "", vector=axes(1))
    assert cache.bytes == 2 * MATRIX
    store.collections.replace_document(scope, document("new"), chunks("y", vectors=axes(1)))
    store.collections.search(scope, "", vector=axes(1))
    store.collections.replace_document(scope, document("new"), chunks("z", vectors=axes(1)))
    store.collections.search(TenantScope("local", "b"), "", vector=axes(1))
    assert cache.bytes == MATRIX
    store.close()


def test_too_large_for_the_disk(
    connection: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """Each search reads the vectors from the database then, and the log says why."""
    cache, read = VectorCache(small_bytes=0, max_filed_bytes=ROWS - 1), loads(connection)
    for _ in range(2):
        ask(cache, connection, "a")
    assert (len(read), cache.bytes, cache.filed_bytes) == (1, IDS, 0)
    (record,) = caplog.records
    assert "slower, since no file of" in record.getMessage()
    assert "all files together may take" in record.getMessage()
    assert "Divide the collection" in record.getMessage()


def test_no_room_for_a_file(
    connection: sqlite3.Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, and the answer is the same."""
    with closing(sqlite3.connect(":memory:")) as copy:
        connection.backup(copy)
        copy.row_factory = sqlite3.Row
        cache = VectorCache(small_bytes=0)
        for _ in range(2):
            ask(cache, copy, "a")
    assert cache.filed_bytes == 0
    (record,) = caplog.records
    assert "no file of" in record.getMessage()
    assert "COLLECTION_SEARCH_HOME" in record.getMessage()
    assert list(tmp_path.glob("tmp*")) == []


@pytest.mark.parametrize("small", [100, 0])
def test_who_asks_at_once_reads_once(tmp_path: Path, small: int) -> None:
    """The first reads, the others wait for it."""
    store = SQLiteStore(tmp_path / "collections.db")
    fill(store, "a", 0, 1)
    cache, start, read = VectorCache(small_bytes=small), threading.Barrier(4), []

    def search() -> None:
        with opened(tmp_path) as connection:
            mine = loads(connection)
            start.wait(timeout=60)
            ask(cache, connection, "a")
            read.extend(mine)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(search) for _ in range(4)]:
            done.result(timeout=120)
    store.close()
    assert len(read) == 1


@pytest.mark.slow
@pytest.mark.parametrize("small", [100, 0])
def test_searches_beside_changes(tmp_path: Path, small: int) -> None:
    """Each search sees the state that its transaction sees, whatever is kept meanwhile."""
    store = SQLiteStore(tmp_path / "collections.db")
    fill(store, "a", 0, 1)
    cache, ready, changed = VectorCache(small_bytes=small), threading.Barrier(4), threading.Event()

    def search() -> set[int]:
        counts = set()
        with opened(tmp_path) as connection:
            ready.wait(timeout=60)
            while True:
                last = changed.is_set()
                connection.execute("BEGIN")
                stored = connection.execute("SELECT id, vector FROM chunks ORDER BY id").fetchall()
                near = cache.compare(connection, 1, axes(1), limit=2).cosines()
                near.sharpen(connection, axes(1).reshape(-1), [])
                connection.execute("COMMIT")
                ids = [row["id"] for row in stored]
                cosines = [float(np.frombuffer(row["vector"], "<f4")[1]) for row in stored]
                assert (len(near), near.of(ids)) == (len(ids), cosines)
                counts.add(len(ids))
                if last:
                    return counts

    with ThreadPoolExecutor(3) as pool:
        searches = [pool.submit(search) for _ in range(3)]
        ready.wait(timeout=60)
        for n in range(30):
            fill(store, "a", *[i % 4 for i in range(n % 5 + 1)])
        changed.set()
        for done in searches:
            assert 5 in done.result(timeout=120)
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize(("small", "wait_s"), [(100, 60), (0, 0.5)])
def test_collections_read_at_once_fit_too(
    connection: sqlite3.Connection, tmp_path: Path, small: int, wait_s: float
) -> None:
    """Room is made among what came meanwhile; and files are made one by one, so nobody meets."""
    size = MATRIX if small else FACTS
    cache = VectorCache(small_bytes=small, max_bytes=2 * size, max_filed_bytes=ROWS)
    meeting = threading.Barrier(3)

    def meet(query: str) -> None:
        if COPY in query:  # room has been made, nothing is kept yet
            with suppress(threading.BrokenBarrierError):
                meeting.wait(wait_s)

    def search(name: str) -> None:
        with opened(tmp_path) as mine:
            mine.set_trace_callback(meet)
            ask(cache, mine, name)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(search, name) for name in "abc"]:
            done.result(timeout=120)
    assert meeting.broken == (not small)
    assert 0 < cache.bytes <= 2 * size
    assert cache.filed_bytes == (0 if small else ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("small", [100, 0])
@pytest.mark.parametrize("way", ["document", "collection", "tenant", "purge", "close"])
def test_what_is_deleted_is_not_kept(tmp_path: Path, small: int, way: str) -> None:
    """At once, without another search; the rest stays."""
    cache = VectorCache(small_bytes=small)
    store = SQLiteStore(tmp_path / "collections.db", vectors=cache)
    mine, theirs = TenantScope("local", "a"), TenantScope("other", "a")
    for scope in (mine, theirs):
        store.collections.bind_embedder(scope, "model:4")
        page = document("page", "tea")
        store.collections.replace_document(scope, page, chunks("x", "y", vectors=axes(0, 1)))
        assert len(store.collections.search(scope, "", vector=axes(1))) == 2
    kept = cache.bytes, cache.filed_bytes
    if way == "document":
        assert store.collections.delete_document(mine, "example.com/page")
    elif way == "collection":
        store.collections.delete_collection(mine)
    elif way == "tenant":
        store.collections.delete_tenant("local")
    elif way == "purge":
        store.collections.purge("local", 0)
    else:
        store.close()
    left = 0 if way == "close" else 1
    assert (cache.bytes, cache.filed_bytes) == (left * kept[0] // 2, left * kept[1] // 2)
    assert len(store.collections.search(theirs, "", vector=axes(1))) == 2
    store.close()


def test_what_another_process_deleted_goes_with_the_next_search(tmp_path: Path) -> None:
    """Of whatever collection."""
    path, cache = tmp_path / "collections.db", VectorCache()
    store, other = SQLiteStore(path, vectors=cache), SQLiteStore(path)
    for name in ("a", "b"):
        fill(store, name, 0, 1)
        assert len(store.collections.search(TenantScope("local", name), "", vector=axes(1))) == 2
    assert cache.bytes == 2 * MATRIX
    other.collections.delete_collection(TenantScope("local", "a"))
    store.collections.search(TenantScope("local", "b"), "", vector=axes(1))
    assert cache.bytes == MATRIX
    other.close()
    store.close()


@pytest.mark.slow
def test_a_search_that_began_before_a_deletion_leaves_nothing(tmp_path: Path) -> None:
    """It still sees what was deleted, and is the last to do so."""
    path, cache = tmp_path / "collections.db", VectorCache()
    store = SQLiteStore(path, vectors=cache)
    fill(store, "a", 0, 1)
    database = Database(path, COLLECTIONS)
    with cache.reading(database) as connection:
        assert connection.execute("SELECT count(*) FROM chunks").fetchone()[0] == 2
        store.collections.delete_tenant("local")
        ask(cache, connection, "a")
        assert cache.bytes == MATRIX
    assert cache.bytes == 0
    database.close()
    store.close()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e39])
def test_what_is_no_number_is_refused(tmp_path: Path, wrong: float) -> None:
    """Stored or asked for: it would stand before or behind everything."""
    store, scope = SQLiteStore(tmp_path / "collections.db"), TenantScope("local", "a")
    fill(store, "a", 0, 1)
    vectors: Any = axes(0, 1).astype(np.float64)
    vectors[1, 2] = wrong
    with pytest.raises(StoreError, match=r"no finite number.*embedder failed"):
        store.collections.replace_document(scope, document(), chunks("x", "y", vectors=vectors))
    with pytest.raises(StoreError, match="no finite number"):
        store.collections.search(scope, "tea", vector=vectors[1:])
    assert len(store.collections.search(scope, "", vector=axes(1))) == 2
    store.close()


def test_no_connection_keeps_who_was_asked_for(connection: sqlite3.Connection) -> None:
    """Idle ones would hold a byte for each chunk."""
    found = find_chunks(
        connection, 1, "a", axes(1), cache=VectorCache(), limit=5, filters={"host": "example.com"}
    )
    assert len(found) == 2
    with pytest.raises(sqlite3.OperationalError, match="function"):
        connection.execute("SELECT is_fit(1)")
