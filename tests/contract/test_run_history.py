"""The embedded store of the server's runs passes the shipped suite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.testing.stores.server_runs import RUN, RunStoreContract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class TestSQLiteRuns(RunStoreContract):
    """One file."""

    def open_runs(self, folder: Path, *, clock: Callable[[], float]) -> SQLiteRuns:
        return SQLiteRuns(folder / "runs.db", clock=clock)


def test_what_is_deleted_is_in_no_file(tmp_path: Path) -> None:
    """Neither the database nor its log has the question afterwards."""
    store = SQLiteRuns(tmp_path / "runs.db")
    store.add(RUN)
    store.append("one", "run-1", [{"type": "x", "text": "Which tea?"}], owner="me")
    store.delete("one")
    store.close()
    assert not any(b"Which tea" in path.read_bytes() for path in tmp_path.iterdir())


def test_a_file_of_version_1_gets_leases(tmp_path: Path) -> None:
    """Its runs stay."""
    path = tmp_path / "runs.db"
    first = SQLiteRuns(path)
    first.add(RUN)
    first.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE run_leases; PRAGMA user_version = 1")
    store = SQLiteRuns(path)
    store.renew("me", lease_s=60)
    assert store.lease_holders() == {"me"}
    assert store.get("one", "run-1") is not None
    store.close()
