"""Ways to open a database file, also one on a volume that cannot be written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ....runtime.private_files import create_private

if TYPE_CHECKING:
    from pathlib import Path

Way: TypeAlias = Literal["rw", "ro", "immutable"]
"""Read and write; read beside a write-ahead log; read a file that nobody changes."""
_OPTIONS: Final[dict[Way, str]] = {"ro": "mode=ro", "immutable": "immutable=1"}
_SIGNS: Final = ("unable to open", "readonly", "disk i/o")
"""Words of sqlite3's messages for a volume on which it cannot make its files."""


FileId: TypeAlias = tuple[int, int]
"""Device and number of a file; another file has another one, whatever its name."""


class SQLiteConnection(sqlite3.Connection):
    """A connection that the statements of `stores.sql` can use."""

    way: Way = "rw"

    def enable_secure_delete(self) -> None:
        """Overwrite what the connection deletes from now on."""
        self.execute("PRAGMA secure_delete = ON")


def connect(path: Path, way: Way, timeout_s: float) -> SQLiteConnection:
    """Return a connection; a file that is made for it belongs to its owner alone."""
    target = path if way == "rw" else f"{path.absolute().as_uri()}?{_OPTIONS[way]}"
    if way == "rw":
        create_private(path)
    connection = sqlite3.connect(
        target,
        factory=SQLiteConnection,
        uri=way != "rw",
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,  # one thread at a time, see Database
    )
    connection.way = way
    return connection


def read_pragma(connection: SQLiteConnection, name: str) -> int:
    """Return the number that a PRAGMA tells."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def find_file_id(path: Path) -> FileId | None:
    """Return what tells the file from another of the same name, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_unwritable(path: Path, error: sqlite3.Error) -> bool:
    """Return whether the error is that of a file that is there and cannot be opened for writing."""
    return path.is_file() and any(sign in str(error).lower() for sign in _SIGNS)


def reading_way(path: Path) -> Way | None:
    """Return the way to read a file that cannot be opened for writing, None when there is none.

    Beside a log of changes SQLite needs a third file, which it cannot make on such a volume. Where
    there is no log, the file alone holds everything and is read as one that nobody changes.
    """
    ways: tuple[Way, ...] = ("ro",) if has_log(path) else ("ro", "immutable")
    return next((way for way in ways if _can_read(path, way)), None)


def has_log(path: Path) -> bool:
    """Return whether changes stand beside the file that are not yet in it."""
    log = path.with_name(f"{path.name}-wal")
    return log.is_file() and log.stat().st_size > 0


def _can_read(path: Path, way: Way) -> bool:
    try:
        with closing(connect(path, way, 0)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        return False
    return True
