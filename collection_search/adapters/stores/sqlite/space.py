"""Deletion in short transactions, and the return of the space to the system."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from ....errors import StoreError
from ....runtime.disk_room import missing_room
from .opening import read_pragma

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from .database import Database
    from .opening import SQLiteConnection

ROWS: Final = 128
"""Most rows that one transaction deletes: about 12 ms on two shared cores."""
_STEP_S: Final = 0.03
"""Time that one step of rewriting the word index should take."""
_LEAST_PAGES: Final = 16
_MAX_PAGES: Final = 1024
"""Pages of the word index that one transaction writes; it may read many more that are deleted."""
_FREED_PAGES: Final = 128
_MAX_REST_S: Final = 0.05
COPIED_BYTES: Final = 64 * 1024 * 1024
"""Most bytes in use of a file that is copied to shrink it."""
STEPS_BYTES: Final = 16 * 1024 * 1024
"""Most free bytes that are always given back in steps."""
_LOG_ATTEMPTS: Final = 20
_INCREMENTAL: Final = 2
"""SQLite's number for a file that gives free pages back in steps."""
_GONE_REFS: Final = "SELECT value FROM json_each(:keys)"


class RowGroup(NamedTuple):
    """Rows of one table that are deleted in batches."""

    table: str
    key: str
    """Column that tells the rows apart that fit the condition."""
    condition: str
    """SQL with named parameters."""
    rows: int = ROWS
    """Most rows of a batch."""
    refs: str | None = None
    """Query for staged texts that the rows with `:keys` name; where they are unused, they go."""


def delete_group(
    database: Database,
    group: RowGroup,
    of: Mapping[str, Any],
    after: Callable[[SQLiteConnection, Sequence[Any]], None] | None = None,
) -> Iterator[int]:
    """Delete the rows batch by batch, each in its own transaction; yield how many were deleted.

    The keys are read before. A row that does not fit any more when its turn comes stays. `after`
    is called in the transaction of each batch with the staged texts that its rows named.
    """
    with database.read() as connection:
        query = f"SELECT {group.key} FROM {group.table} WHERE {group.condition}"
        keys = [row[0] for row in connection.execute(query, of)]
    chosen = f"{group.table} WHERE {group.key} IN ({_GONE_REFS}) AND ({group.condition})"
    for first in range(0, len(keys), group.rows):
        batch = {**of, "keys": json.dumps(keys[first : first + group.rows])}
        with rested(), database.write() as connection:
            connection.enable_secure_delete()
            refs = [row[0] for row in connection.execute(group.refs, batch)] if group.refs else []
            deleted = connection.execute(f"DELETE FROM {chosen}", batch).rowcount
            if after is not None:
                after(connection, refs)
        yield deleted


class rested:  # noqa: N801 - used as a statement
    """Rest for as long as the block took, so that writers that wait get their turn."""

    took_s = 0.0

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.took_s = time.monotonic() - self._began
        time.sleep(min(self.took_s, _MAX_REST_S))


def rewrite_word_index(database: Database) -> Iterator[None]:
    """Write the word index anew in steps: the old one contains the words of what was deleted."""
    pages, sign = _LEAST_PAGES, -1  # the first step puts all parts on one level, the others go on
    while True:
        with rested() as step, database.write() as connection:
            connection.enable_secure_delete()
            before = connection.total_changes
            connection.execute(
                "INSERT INTO chunk_words (chunk_words, rank) VALUES ('merge', ?)", (sign * pages,)
            )
            is_done = connection.total_changes - before < 2  # noqa: PLR2004 - SQLite's own rule
        yield
        if is_done:
            return
        # Pages of which little is left take longer, since more of them have to be read.
        pages = pages * 2 if step.took_s < _STEP_S / 2 else pages
        pages = pages // 2 if step.took_s > _STEP_S else pages
        pages, sign = min(max(pages, _LEAST_PAGES), _MAX_PAGES), 1


def free_pages(database: Database, *, within_s: float = math.inf) -> None:
    """Cut free pages off the end of the file in steps, where the file was made for that.

    What is left after `within_s` is used by new rows, or freed by the next call. A large file with
    little in it is copied instead, which takes about a second.
    """
    with database.connected() as connection:
        if _is_nearly_empty(connection) and _missing_room(database.path, connection) is None:
            connection.execute("VACUUM")
    ends_at = time.monotonic() + within_s
    while time.monotonic() < ends_at:
        with database.connected() as connection:
            if read_pragma(connection, "auto_vacuum") != _INCREMENTAL:
                return
            if not read_pragma(connection, "freelist_count"):
                return
            with rested():  # Python would stop a plain statement after its first page
                connection.executescript(f"PRAGMA incremental_vacuum({_FREED_PAGES})")


def erase_rest(database: Database, *, within_s: float) -> None:
    """Leave nothing of deleted rows in free pages, where there is time for that, and in the log."""
    free_pages(database, within_s=within_s)
    database.truncate_log()


def give_back(database: Database) -> int:
    """Give all free space to the system; return the bytes of the files that are left.

    A file of an earlier version is written anew, which keeps others from writing meanwhile; later
    ones shrink in steps. Raises StoreError when the disk has no room for that.
    """
    with database.connected() as connection:
        if read_pragma(connection, "auto_vacuum") != _INCREMENTAL:
            if (missing := _missing_room(database.path, connection)) is not None:
                raise StoreError(missing)
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("VACUUM")
    free_pages(database)
    attempts = iter(range(_LOG_ATTEMPTS))  # a copy stands in the log until it can be emptied
    while not database.truncate_log() and next(attempts, None) is not None:
        time.sleep(_MAX_REST_S)
    return size_of(database.path)


def size_of(path: Path) -> int:
    """Return the bytes of a database with its write-ahead log."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _is_nearly_empty(connection: SQLiteConnection) -> bool:
    free = read_pragma(connection, "freelist_count")
    used = read_pragma(connection, "page_count") - free
    size = read_pragma(connection, "page_size")
    is_ours = read_pragma(connection, "auto_vacuum") == _INCREMENTAL
    return is_ours and used < free and used * size < COPIED_BYTES and free * size > STEPS_BYTES


def _missing_room(path: Path, connection: SQLiteConnection) -> str | None:
    """Return what is missing for a copy of the file."""
    used = read_pragma(connection, "page_count") - read_pragma(connection, "freelist_count")
    return missing_room(path, used * read_pragma(connection, "page_size"))
