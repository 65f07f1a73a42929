"""The embedded store of the server's runs passes the shipped suite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.testing.stores.server_runs import RUN, RunStoreContract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from collection_search.contracts.server_run import RunChange


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


LONG = "Which tea? " * 2000


def fill_long(store: SQLiteRuns) -> None:
    """Store a run that has changed, and ended, with texts that take pages of their own."""
    store.add(RUN)
    store.append("one", "run-1", [{"type": "x", "text": LONG}], owner="me")
    pages: RunChange = {"pages": [{"text": LONG}]}
    store.change("one", "run-1", pages, expected={"running"})
    ended: RunChange = {"status": "done", "owner": "", "output": {"text": "x"}, "pages": []}
    store.change("one", "run-1", ended, expected={"running"})


def is_readable(folder: Path) -> bool:
    """Return whether any file has words of the question."""
    return any(b"Which tea" in path.read_bytes() for path in folder.iterdir())


def test_what_a_change_replaced_is_in_no_file(tmp_path: Path) -> None:
    """Texts that a later change replaced are overwritten as well, while a server has it open."""
    store = SQLiteRuns(tmp_path / "runs.db")
    fill_long(store)
    store.delete("one")
    assert not is_readable(tmp_path)
    store.close()


def test_forgotten_runs_are_overwritten(tmp_path: Path) -> None:
    """The oldest ones go without a request, and later ones may be deleted much later."""
    store = SQLiteRuns(tmp_path / "runs.db")
    fill_long(store)
    assert store.forget_oldest("one", keep=0) == 1
    store.close()
    assert not is_readable(tmp_path)


@pytest.mark.parametrize("action", ["delete", "compact"])
def test_what_earlier_versions_left_goes(tmp_path: Path, action: str) -> None:
    """They freed pages without overwriting them: free pages leave the file."""
    path = tmp_path / "runs.db"
    store = SQLiteRuns(path)
    fill_long(store)
    store.add(replace(RUN, run_id="run-2", question="Which cup?", given={}))
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM runs WHERE run_id = 'run-1'")
    assert is_readable(tmp_path)
    store = SQLiteRuns(path)
    if action == "delete":
        store.delete("one")
    else:
        store.compact()
        assert store.get("one", "run-2") is not None
    assert not is_readable(tmp_path)
    store.close()


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
