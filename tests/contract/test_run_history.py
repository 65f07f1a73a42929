"""The embedded store of the server's runs passes the shipped suite."""

from __future__ import annotations

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
