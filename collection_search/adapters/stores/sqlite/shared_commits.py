"""Write transactions of several threads that are committed together, with one flush to the disk.

The threads of a process take turns in one transaction of the file, each with a savepoint of its
own, for as long as another one waits. Each is told the outcome of the commit. SQLite alone would
let every thread try again and again for the lock of the file, and flush for each.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .opening import SQLiteConnection

MAX_MEMBERS: Final = 32
MAX_S: Final = 0.05
"""After this time a transaction takes no further member, so that other processes get the file."""
FREE_S: Final = 0.01
"""The file is then left alone so long: SQLite lets other processes only look for it at times."""
_LOOK_S: Final = 0.2
"""A member looks so often whether the one after it ended without a commit."""


@dataclass(slots=True)
class _Batch:
    """A transaction of the file with its members; whoever has the turn uses it."""

    connection: SQLiteConnection
    until: float = field(default_factory=lambda: time.monotonic() + MAX_S)
    members: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    """Why nothing of it was stored."""

    @contextmanager
    def member(self) -> Iterator[SQLiteConnection]:
        """Yield the connection; an error undoes what was done with it within the block."""
        self.connection.execute("SAVEPOINT member")
        try:
            yield self.connection
            self.connection.execute("RELEASE member")
        except BaseException as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO member")
                self.connection.execute("RELEASE member")
            else:  # SQLite has undone all of it, as it does when the disk is full
                self.error = error
            raise
        self.members += 1

    def end(self) -> None:
        """Commit, and tell the members."""
        try:
            if self.error is None:
                self.connection.execute("COMMIT" if self.members else "ROLLBACK")
        except BaseException as error:  # noqa: BLE001 - the members raise it
            self.error = error
            with suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
        self.ended.set()


class SharedCommits:
    """The write transactions of a process on one file.

    `begin` returns a connection with an open transaction, `give_back` takes the connection. Whoever
    waits longer than `wait_s` for a turn gets the error of a locked file.
    """

    def __init__(
        self,
        begin: Callable[[], SQLiteConnection],
        give_back: Callable[[SQLiteConnection], None],
        *,
        wait_s: float,
    ) -> None:
        self._begin = begin
        self._give_back = give_back
        self._wait_s = wait_s
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._open: _Batch | None = None
        self._held_since = self._ended_at = -math.inf
        """When transactions began to follow each other, and when the last one ended."""
        self._is_contended = False
        """Whether several threads wanted the last transaction."""

    @contextmanager
    def member(self) -> Iterator[SQLiteConnection]:
        """Yield a connection within a transaction that is committed when the block has returned.

        Blocks until then. Raises sqlite3.Error when nothing of the block was stored.
        """
        batch = self._enter()
        try:
            with batch.member() as connection:
                yield connection
        finally:
            self._leave(batch)
        while not batch.ended.wait(_LOOK_S):
            if self._turn.acquire(blocking=False):
                self._leave(batch)
        if batch.error is not None:
            raise batch.error

    def _enter(self) -> _Batch:
        """Wait for the turn; return the open transaction, or a new one."""
        self._count_waiting(1)
        try:
            has_turn = self._turn.acquire(timeout=self._wait_s)
        finally:
            self._count_waiting(-1)
        if not has_turn:
            raise sqlite3.OperationalError("database is locked")
        try:
            self._open = self._open or self._new()
        except BaseException:
            self._turn.release()
            raise
        return self._open

    def _new(self) -> _Batch:
        """Begin a transaction; whoever calls this has the turn.

        One comes straight after the other where many threads write. Other processes would never
        find the file free.
        """
        now = time.monotonic()
        free_at = self._ended_at + FREE_S
        is_long = self._is_contended and now - self._held_since >= MAX_S
        if is_long and now < free_at:
            time.sleep(free_at - now)
        batch = _Batch(self._begin())
        if is_long or now >= free_at:
            self._held_since = time.monotonic()
        return batch

    def _leave(self, batch: _Batch) -> None:
        """Leave the transaction to the next one that waits, or end it; give up the turn."""
        try:
            if self._open is batch and not self._goes_on(batch):
                self._open = None
                self._is_contended = self._waiting > 0 or batch.members > 1
                batch.end()
                self._give_back(batch.connection)
                self._ended_at = time.monotonic()
        finally:
            self._turn.release()

    def _goes_on(self, batch: _Batch) -> bool:
        has_room = batch.members < MAX_MEMBERS and time.monotonic() < batch.until
        return self._waiting > 0 and has_room and batch.error is None

    def _count_waiting(self, change: int) -> None:
        with self._counting:
            self._waiting += change
