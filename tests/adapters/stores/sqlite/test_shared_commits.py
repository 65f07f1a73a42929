"""Writes of several threads in one transaction: each is stored or not, and knows which."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from support.waiting import wait_until

from collection_search.adapters.stores.sqlite import shared_commits
from collection_search.adapters.stores.sqlite.shared_commits import MAX_MEMBERS, SharedCommits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class File:
    """A table of numbers; it notes its commits and can fail."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.begun = 0
        self.gaps: list[float] = []
        """How long nobody had the file before each transaction but the first."""
        self.ended_at: float | None = None
        self.fails_to_commit = False
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE numbers (n INTEGER CHECK (n >= 0))")
        connection.close()
        self.commits = SharedCommits(self.begin, self.give_back, wait_s=60.0)

    def begin(self) -> sqlite3.Connection:
        self.begun += 1
        if self.ended_at is not None:
            self.gaps.append(time.monotonic() - self.ended_at)
        connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, factory=_Connection
        )
        connection.file = self
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def give_back(self, connection: sqlite3.Connection) -> None:
        connection.close()
        self.ended_at = time.monotonic()

    def write(self, number: int) -> None:
        with self.commits.member() as connection:
            connection.execute("INSERT INTO numbers VALUES (?)", (number,))

    def numbers(self) -> list[int]:
        connection = sqlite3.connect(self.path)
        try:
            return sorted(n for (n,) in connection.execute("SELECT n FROM numbers"))
        finally:
            connection.close()


class _Connection(sqlite3.Connection):
    file: File

    def execute(self, sql: str, *more: object) -> sqlite3.Cursor:
        if sql == "COMMIT" and self.file.fails_to_commit:
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *more)  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "numbers.db")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(50) as pool:
        yield pool


def test_all_are_stored(file: File, pool: ThreadPoolExecutor) -> None:
    """Whoever returned has written, in fewer transactions than there were writes."""
    list(pool.map(file.write, range(400)))
    assert file.numbers() == [*range(400)]
    assert file.begun < 400


def test_an_error_is_of_one_alone(file: File, pool: ThreadPoolExecutor) -> None:
    """The others of its transaction are stored; it leaves no trace."""

    def write(number: int) -> bool:
        try:
            with file.commits.member() as connection:
                connection.execute("INSERT INTO numbers VALUES (?)", (number,))
                connection.execute("INSERT INTO numbers VALUES (?)", (-(number % 5 == 0),))
        except sqlite3.IntegrityError:
            return False
        return True

    stored = list(pool.map(write, range(1, 200)))
    assert stored == [number % 5 != 0 for number in range(1, 200)]
    assert [n for n in file.numbers() if n] == [n for n in range(1, 200) if n % 5]


def test_a_commit_that_fails_is_told_to_all(file: File, pool: ThreadPoolExecutor) -> None:
    """None of them may believe that it is stored; later ones are."""
    file.fails_to_commit = True
    for write in [pool.submit(file.write, number) for number in range(40)]:
        with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
            write.result()
    file.fails_to_commit = False
    file.write(7)
    assert file.numbers() == [7]


def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    """A thread that writes within its own write gets the error of a locked file."""
    file = File(tmp_path / "numbers.db")
    file.commits = SharedCommits(file.begin, file.give_back, wait_s=0.05)

    def write_within_a_write() -> None:
        with file.commits.member() as connection:
            connection.execute("INSERT INTO numbers VALUES (1)")
            file.write(2)

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_within_a_write()
    file.write(3)
    assert file.numbers() == [3]


def test_a_transaction_has_an_end(file: File, pool: ThreadPoolExecutor) -> None:
    """Other processes get their turn, however many threads write."""
    is_held = threading.Event()

    def hold() -> None:
        with file.commits.member():
            is_held.wait()

    holding = pool.submit(hold)
    writes = [pool.submit(file.write, number) for number in range(MAX_MEMBERS + 10)]
    is_held.set()
    for one in (holding, *writes):
        one.result()
    assert file.begun > 1


def test_others_find_the_file_free(
    file: File, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many threads whose transactions follow each other leave it alone now and then."""
    monkeypatch.setattr(shared_commits, "MAX_S", 0.0)
    monkeypatch.setattr(shared_commits, "FREE_S", 0.2)
    is_holding, is_held = threading.Event(), threading.Event()

    def hold() -> None:
        with file.commits.member():
            is_holding.set()
            is_held.wait()

    holding = pool.submit(hold)
    is_holding.wait()
    writes = [holding, *(pool.submit(file.write, number) for number in range(3))]
    wait_until(lambda: file.commits._waiting == 3)
    is_held.set()
    for one in writes:
        one.result()
    assert len(file.gaps) == 3
    assert min(file.gaps) >= 0.2


def test_one_thread_waits_for_nobody(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transactions follow each other as SQLite lets them."""
    monkeypatch.setattr(shared_commits, "MAX_S", 0.0)
    monkeypatch.setattr(shared_commits, "FREE_S", 3600.0)
    for number in range(3):
        file.write(number)
    assert file.numbers() == [0, 1, 2]
