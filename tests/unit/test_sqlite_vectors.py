"""The matrices of collections are kept within a limit of bytes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.vectors import VectorCache
from collection_search.records import TenantScope
from collection_search.testing.stores.base import axes, chunks, document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MATRIX = 2 * (8 + 8 + 4 * 4)
"""Two chunks: each its id, its document's id and four float32."""


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
    with closing(sqlite3.connect(tmp_path / "collections.db")) as connection:
        connection.row_factory = sqlite3.Row
        yield connection
    store.close()


def loads(connection: sqlite3.Connection) -> list[str]:
    """Return a list that fills with the matrices that are read."""
    read: list[str] = []
    connection.set_trace_callback(lambda query: read.append(query) if "count(*)" in query else None)
    return read


def ask(cache: VectorCache, connection: sqlite3.Connection, name: str) -> None:
    row = connection.execute("SELECT id FROM collections WHERE name = ?", (name,)).fetchone()
    assert len(cache.cosines(connection, row["id"], axes(1)).best(1)) == 1


def test_what_is_kept_fits(connection: sqlite3.Connection) -> None:
    """Those searched longest ago make room."""
    cache, read = VectorCache(2 * MATRIX), loads(connection)
    for name in "abac":
        ask(cache, connection, name)
        assert cache.bytes <= 2 * MATRIX
    assert len(read) == 3
    ask(cache, connection, "a")
    assert len(read) == 3
    ask(cache, connection, "b")
    assert len(read) == 4


def test_the_last_one_is_kept_whatever_its_size(connection: sqlite3.Connection) -> None:
    """It is asked again more often than not."""
    cache, read = VectorCache(1), loads(connection)
    for name in "aabb":
        ask(cache, connection, name)
        assert cache.bytes == MATRIX
    assert len(read) == 2


def test_a_changed_collection_is_read_anew(connection: sqlite3.Connection) -> None:
    """In place of the matrix that was kept."""
    cache, read = VectorCache(), loads(connection)
    ask(cache, connection, "a")
    connection.execute("UPDATE collections SET changes = changes + 1")
    ask(cache, connection, "a")
    assert (len(read), cache.bytes) == (2, MATRIX)
