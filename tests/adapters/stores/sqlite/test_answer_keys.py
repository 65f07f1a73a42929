"""What is known of a file of cached answers without a look at it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.stores.sql import answer_keys as answers
from collection_search.adapters.stores.sql.answer_keys import KeyIndex
from collection_search.adapters.stores.sqlite.database import Database
from collection_search.adapters.stores.sqlite.usage import USAGE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "usage.db", USAGE)


def execute(folder: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(folder / "usage.db")) as connection, connection:
        return connection.execute(statement, values).fetchall()


def insert(folder: Path, *hashes: bytes, tenant: str = "one") -> None:
    """Write as another process would."""
    for key_hash in hashes:
        statement = "INSERT INTO answers VALUES (NULL, ?, 'search', ?, x'31', 1e12)"
        execute(folder, statement, tenant, key_hash)


def test_only_what_was_read_can_be_lacking(database: Database, tmp_path: Path) -> None:
    """Not before it was read; then what another process wrote is there."""
    index = KeyIndex(database)
    assert not index.lacks([b"a"])
    insert(tmp_path, b"a")
    index.read_on()
    assert index.lacks([b"b", b"c"])
    assert not index.lacks([b"b", b"a"])
    insert(tmp_path, b"b")
    index.read_on()
    assert not index.lacks([b"b"])
    assert index.lacks([b"c"])


class Watched:
    """A database whose reads call `during` before they begin."""

    def __init__(self, database: Database, during: Callable[[], None]) -> None:
        self._database, self._during = database, during

    def read(self, whose: None, /) -> AbstractContextManager[Any]:
        self._during()
        return self._database.read(whose)


def test_an_index_that_is_built_anew_is_used_meanwhile(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is replaced as a whole: else a key could be missing for a moment, and be paid for again."""
    seen: list[tuple[bool, bool]] = []
    watched: Any = Watched(
        database, lambda: seen.append((index.lacks([b"a"]), index.lacks([b"b"])))
    )
    index = KeyIndex(watched)
    insert(tmp_path, b"a")
    monkeypatch.setattr(answers, "_RELOAD_S", -1)
    index.read_on()
    index.read_on()
    assert seen == [(False, False), (False, True)]
    assert not index.lacks([b"a"])


def test_what_was_read_is_soon_too_old(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have written since."""
    index = KeyIndex(database)
    index.read_on()
    monkeypatch.setattr(answers, "FRESH_S", 0)
    assert not index.lacks([b"a"])


def test_rows_in_place_of_deleted_ones_are_found(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest rows are gone, and as many new ones there; what is gone is known later."""
    index = KeyIndex(database)
    insert(tmp_path, b"a", b"b")
    index.read_on()
    execute(tmp_path, "DELETE FROM answers")
    insert(tmp_path, b"c", b"d")
    index.read_on()
    assert not index.lacks([b"c"])
    assert not index.lacks([b"d"])
    monkeypatch.setattr(answers, "_RELOAD_S", 0)
    index.read_on()
    assert index.lacks([b"a", b"b"])
    assert not index.lacks([b"d"])


def test_of_too_many_keys_there_is_no_index(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is looked at for each."""
    monkeypatch.setattr(answers, "MAX_INDEXED", 2)
    index = KeyIndex(database)
    insert(tmp_path, b"a", b"b")
    index.read_on()
    assert index.lacks([b"c"])
    insert(tmp_path, b"c")
    index.read_on()
    assert not index.lacks([b"d"])
    assert not index.is_stale  # it is not read again and again


def test_of_too_many_rows_there_is_no_index(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although tenants share the keys of the first ones: the last were not read."""
    monkeypatch.setattr(answers, "MAX_INDEXED", 3)
    for tenant in ("one", "two"):
        insert(tmp_path, b"a", b"b", tenant=tenant)
    insert(tmp_path, b"c")
    index = KeyIndex(database)
    index.read_on()
    assert not index.lacks([b"c"])


def test_an_index_of_many_keys_is_exact(database: Database, tmp_path: Path) -> None:
    """More than were read at a time once; none is missed, and none is invented."""
    hashes = [n.to_bytes(32, "big")[::-1] for n in range(1, 60_001)]
    with closing(sqlite3.connect(tmp_path / "usage.db")) as connection, connection:
        connection.executemany(
            "INSERT INTO answers VALUES (NULL, 'one', 'search', ?, x'31', 1e12)",
            [(one,) for one in hashes],
        )
    index = KeyIndex(database)
    index.read_on()
    index.add([b"recent" * 5])
    assert not any(index.lacks([one]) for one in [*hashes[::997], hashes[-1], b"recent" * 5])
    assert index.lacks([n.to_bytes(32, "big")[::-1] for n in range(60_001, 60_100)])
