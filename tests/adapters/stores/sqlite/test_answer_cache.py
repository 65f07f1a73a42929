"""Answers on their way to the file."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.stores.sql import answer_cache as answers
from collection_search.adapters.stores.sql.deletion_marks import OLD
from collection_search.adapters.stores.sqlite.database import Database
from collection_search.adapters.stores.sqlite.usage import USAGE, SQLiteUsage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACE = ("one", "search")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteUsage]:
    store = SQLiteUsage(tmp_path / "usage.db")
    yield store
    store.close()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "usage.db", USAGE)


def execute(folder: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(folder / "usage.db")) as connection, connection:
        return connection.execute(statement, values).fetchall()


def test_a_thread_writes_it_soon(store: SQLiteUsage, tmp_path: Path) -> None:
    """Nobody asks for it."""
    written = threading.Event()

    def made() -> bytes:
        written.set()
        return b"1"

    store.put(*PLACE, "key", made)
    assert written.wait(60)
    store.flush()  # waits for the write under way
    assert execute(tmp_path, "SELECT payload FROM answers") == [(b"1",)]


def test_a_newer_answer_takes_its_place(store: SQLiteUsage, tmp_path: Path) -> None:
    """Also one that comes while the older one is being written."""

    def made() -> bytes:
        store.put(*PLACE, "key", b"newer")
        return b"older"

    store.put(*PLACE, "key", made)
    store.flush()
    store.flush()
    assert execute(tmp_path, "SELECT payload FROM answers") == [(b"newer",)]


def test_a_file_that_fails_is_complained_about_once(
    store: SQLiteUsage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Until it is well again; what could not be written is asked for again."""

    def warnings() -> int:
        return sum(record.levelno == logging.WARNING for record in caplog.records)

    execute(tmp_path, "ALTER TABLE answers RENAME TO away")
    for key in ("a", "b"):
        store.put(*PLACE, key, b"1")
        store.flush()
    assert warnings() == 1
    execute(tmp_path, "ALTER TABLE away RENAME TO answers")
    store.put(*PLACE, "c", b"1")
    store.flush()
    assert store.get_many(*PLACE, ["a", "b", "c"], max_age_s=60) == {"c": b"1"}
    execute(tmp_path, "DROP TABLE answers")
    store.put(*PLACE, "d", b"1")
    store.flush()
    assert warnings() == 2


def test_the_queue_has_an_end(
    store: SQLiteUsage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What comes on top is dropped, and the log says so."""
    read = threading.Event()

    def made() -> bytes:
        read.wait(60)
        return b"1"

    monkeypatch.setattr(answers, "MAX_QUEUED", 3)
    store.put_many(*PLACE, {"a": made, "b": b"1"})
    store.put_many(*PLACE, {"c": b"1", "d": b"1"})
    read.set()
    assert "3 answers wait" in caplog.text
    assert sorted(store.get_many(*PLACE, ["a", "b", "c", "d"], max_age_s=60)) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # its threads are our own
def test_a_forked_child_leaves_it_to_its_parent(store: SQLiteUsage, tmp_path: Path) -> None:
    """It has nothing of its own yet, and can begin."""
    store.put(*PLACE, "parent", lambda: str(os.getpid()).encode())
    child = os.fork()
    if child == 0:
        has_none = not store._answers.known(*PLACE, ["parent"], oldest=0)
        store.put(*PLACE, "child", b"1")
        store.flush()
        os._exit(7 if has_none else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    store.flush()
    found = dict(execute(tmp_path, "SELECT key_hash, payload FROM answers"))
    assert sorted(found.values()) == sorted([b"1", str(os.getpid()).encode()])


def test_a_file_has_one_queue(tmp_path: Path) -> None:
    """However its path is written."""
    (tmp_path / "sub").mkdir()
    other = tmp_path / "sub" / ".." / "usage.db"
    assert SQLiteUsage(tmp_path / "usage.db")._answers is SQLiteUsage(other)._answers


def test_texts_of_an_older_file_are_read(store: SQLiteUsage, tmp_path: Path) -> None:
    """Answers were text once."""
    store.put(*PLACE, "key", b"1")
    store.flush()
    execute(tmp_path, "UPDATE answers SET payload = ?", '{"\u00e4": 1}')
    assert store.get(*PLACE, "key", max_age_s=60) == '{"\u00e4": 1}'.encode()


def test_what_this_process_keeps_is_never_lacking(store: SQLiteUsage) -> None:
    """Neither while it waits, nor when it is written and the file not read again."""
    store._answers._index.read_on()
    assert store.lacks(*PLACE, ["missing"])
    store.put(*PLACE, "key", b"1")
    assert not store.lacks(*PLACE, ["missing", "key"])
    store.flush()
    assert not store.lacks(*PLACE, ["missing", "key"])
    assert store.lacks(*PLACE, ["missing"])


def test_old_answers_are_found_by_their_age(store: SQLiteUsage, tmp_path: Path) -> None:
    """A server looks for them after its runs: it may not read all answers for that."""
    store.put(*PLACE, "key", b"value")
    store.flush()
    plan = execute(tmp_path, f"EXPLAIN QUERY PLAN DELETE FROM {OLD}", 1.0, 1.0)
    assert "answers_by_age" in str(plan)
