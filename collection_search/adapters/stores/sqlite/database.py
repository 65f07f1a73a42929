"""Connections to a SQLite file, its schema, and clear messages for sqlite3's failures."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from ....errors import StoreError
from ....runtime.disk_room import has_room
from .forks import CALLS
from .opening import connect, find_file_id, has_log, is_unwritable, read_pragma, reading_way
from .shared_commits import SharedCommits
from .store_errors import ELSEWHERE, translate_failure, unwritable_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ..sql.connection import Whose
    from .opening import FileId, SQLiteConnection, Way

BUSY_TIMEOUT_S: Final = 30.0
_LOG_WAIT_MS: Final = 200
MAX_IDLE: Final = 8
"""Connections kept open between calls."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of a file, with the migrations of older files.

    Scripts are SQL without BEGIN and COMMIT. `script` makes the newest version in an empty file,
    `migrations[n]` makes version n + 1 out of version n; it may call the `functions` by their
    names.
    """

    application_id: int
    version: int
    script: Path
    migrations: Mapping[int, Path] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def steps(self, version: int) -> list[Path]:
        """Return the migrations from that version to the newest, in order; [] if one is missing."""
        steps = range(version, self.version)
        has_all = all(step in self.migrations for step in steps)
        return [self.migrations[step] for step in steps] if has_all else []


class Database:
    """A SQLite file in WAL mode, safe for many threads and processes at once.

    A failure of sqlite3 becomes a StoreError that names the file and what to do. With
    `synchronous="NORMAL"` a power cut may lose the last transactions; a killed process loses none.
    A file that cannot be written, or on a volume that cannot, is read; writing to it raises
    ReadOnlyStoreError.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
    ) -> None:
        self.path = path
        self._schema = schema
        self._busy_timeout_s = busy_timeout_s
        self._synchronous = synchronous
        self._idle: list[SQLiteConnection] = []
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._commits, self._commits_pid = self._new_commits(), self._pid
        self._way: Way = "rw"
        self._was_full = False
        weakref.finalize(self, _close_all, self._idle)
        self._file: FileId | None = None
        with self._translated():
            self._open_file()
        self._file = find_file_id(path)

    @contextmanager
    def read(self, _whose: Whose = None) -> Iterator[SQLiteConnection]:
        """Open a transaction that sees one state of the database from beginning to end."""
        with self.connected() as connection, _committed(connection, "BEGIN"):
            yield connection

    @contextmanager
    def write(self, _whose: Whose = None) -> Iterator[SQLiteConnection]:
        """Open a transaction that has the right to write from its beginning.

        One that began as a read could be refused at its first write without waiting. The block is
        undone as a whole when it raises; when it returns, it is committed, perhaps together with
        those of other threads.
        """
        self._leave_full_disk()
        if self._way != "rw":
            raise unwritable_error(self.path)
        with self._translated(), CALLS.one(), self._own_commits().member() as connection:
            yield connection

    @contextmanager
    def connected(self) -> Iterator[SQLiteConnection]:
        """Yield a connection outside any transaction."""
        with self._translated(), self._connection() as connection:
            yield connection

    def truncate_log(self) -> bool:
        """Empty the write-ahead log, which still contains deleted rows, if nobody reads it now."""
        with self.connected() as connection:
            connection.execute(f"PRAGMA busy_timeout = {_LOG_WAIT_MS}")
            try:
                return not read_pragma(connection, "wal_checkpoint(TRUNCATE)")
            finally:
                connection.execute(f"PRAGMA busy_timeout = {round(self._busy_timeout_s * 1000)}")

    def close(self) -> None:
        """Close the connections that no call uses; the next call opens another."""
        with CALLS.one(), self._lock:
            _close_all(self._idle)

    def _own_commits(self) -> SharedCommits:
        """Return those of this process: a forked child has none of its parent's threads."""
        with self._lock:
            if self._commits_pid != os.getpid():
                self._commits_pid, self._commits = os.getpid(), self._new_commits()
            return self._commits

    def _new_commits(self) -> SharedCommits:
        return SharedCommits(self._begin_write, self._give_back, wait_s=self._busy_timeout_s)

    def _begin_write(self) -> SQLiteConnection:
        self._refuse_another_file()
        connection = self._take() or self._open()
        try:
            connection.execute("BEGIN IMMEDIATE")
            if read_pragma(connection, "user_version") != self._schema.version:
                self._refuse("was migrated by a newer program meanwhile; start this one anew")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._give_back(connection)
            raise
        return connection

    @contextmanager
    def _connection(self) -> Iterator[SQLiteConnection]:
        self._leave_full_disk()
        with CALLS.one():
            connection = self._take() or self._open()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _take(self) -> SQLiteConnection | None:
        with self._lock:
            if self._pid != os.getpid():  # a forked child must not touch its parent's connections
                self._pid, self._idle = os.getpid(), []
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: SQLiteConnection) -> None:
        with self._lock:
            is_usable = connection.way == self._way and not connection.in_transaction
            if is_usable and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _open(self) -> SQLiteConnection:
        self._refuse_another_file()
        connection = connect(self.path, self._way, self._busy_timeout_s)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA secure_delete = FAST")  # deletions on request take no chance
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_file(self) -> None:
        """Create, migrate or check the file; where it cannot be written, only check it."""
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            if not is_unwritable(self.path, error):
                raise
            way, self._was_full = reading_way(self.path), not has_room(self.path.parent)
            if way is None and has_log(self.path) and not self._was_full:
                self._refuse(
                    "is read-only, and the log beside it cannot be read there. Open it once where"
                    " it can be written"
                )
            if way is None:
                raise
            self.close()
            self._way = way
            with self._connection() as connection:
                if self._version(connection) != self._schema.version:
                    if self._was_full:
                        raise
                    self._refuse(
                        "was written by an earlier version of collection-search and cannot be"
                        " migrated, since it is read-only. Open it once where it can be written"
                    )

    def _leave_full_disk(self) -> None:
        """Write again once a disk that was full has room; the file is as it was."""
        if self._was_full and self._way != "rw" and has_room(self.path.parent):
            self.close()
            self._way = "rw"

    def _prepare(self) -> None:
        with self._connection() as connection:
            with _committed(connection, "BEGIN"):
                version = self._version(connection)
            if version == self._schema.version:
                return
            if version is None:
                # It stands in the first page.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                self._switch_to_wal(connection)
            connection.execute("PRAGMA foreign_keys = OFF")  # else a rebuilt table loses its rows
            self._build(connection)
            connection.execute("PRAGMA foreign_keys = ON")

    def _version(self, connection: SQLiteConnection) -> int | None:
        """Return the file's version, None when it is empty. Raises StoreError for other files."""
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            return None
        if read_pragma(connection, "application_id") != self._schema.application_id:
            self._refuse(f"belongs to another program; {ELSEWHERE}")
        version, ours = read_pragma(connection, "user_version"), self._schema.version
        if version != ours and not self._schema.steps(version):
            self._refuse(
                f"was written by another version of collection-search (schema {version}, not"
                f" {ours}); install that version, or {ELSEWHERE}"
            )
        return version

    def _build(self, connection: SQLiteConnection) -> None:
        """Create or migrate the schema in one transaction, unless another process just did."""
        for name, function in self._schema.functions.items():
            connection.create_function(name, -1, function)
        with _committed(connection, "BEGIN IMMEDIATE"):
            version = self._version(connection)
            scripts = [self._schema.script] if version is None else self._schema.steps(version)
            for script in scripts:
                for statement in _statements(script.read_text("utf-8")):
                    connection.execute(statement)
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise sqlite3.IntegrityError("the migrated rows refer to rows that do not exist")
            connection.execute(f"PRAGMA application_id = {self._schema.application_id}")
            connection.execute(f"PRAGMA user_version = {self._schema.version}")

    def _switch_to_wal(self, connection: SQLiteConnection) -> None:
        """Switch the journal mode, for which SQLite does not wait by itself."""
        deadline = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _refuse_another_file(self) -> None:
        """Raise StoreError where the file that was opened has been moved, replaced or deleted.

        SQLite would go on writing to it, and nobody would find the rows.
        """
        if self._file is not None and find_file_id(self.path) != self._file:
            self._refuse(
                "was moved, replaced or deleted while this program had it open. Put it back, or"
                " start the program anew"
            )

    def _refuse(self, reason: str) -> None:
        raise StoreError(f"The database {self.path} {reason}.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise translate_failure(self.path, error) from error


@contextmanager
def _committed(connection: SQLiteConnection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """Yield the statements one by one, since sqlite3's executescript ends the transaction."""
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _close_all(connections: list[SQLiteConnection]) -> None:
    while connections:
        connections.pop().close()
