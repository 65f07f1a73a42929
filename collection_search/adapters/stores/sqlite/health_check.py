"""A check of the collections' file and of those beside it: runs, spending and runs that wait."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Final

from ....errors import StoreError
from .opening import connect, has_log
from .store_errors import translate_failure

if TYPE_CHECKING:
    from pathlib import Path

    from .database import Database
    from .opening import SQLiteConnection, Way

NEIGHBOURS: Final = ("runs.db", "usage.db", "checkpoints.db")
_CHECK_S: Final = 2.0
"""How long the pages of one file are looked at; a large file is not read to its end."""
_STEPS: Final = 10_000
"""Steps of SQLite between two looks at the time."""
_DAMAGED: Final = "database disk image is malformed"


def check_files(database: Database) -> None:
    """Read the database and those files beside it that are there; nothing is made or changed.

    Blocks. Raises StoreError that names each damaged file and what to do.
    """
    folder = database.path.parent
    problems = [_own_problem(database), *(_problem_of(folder / name) for name in NEIGHBOURS)]
    told = [str(problem) for problem in problems if problem is not None]
    if told:
        raise StoreError(" ".join(told))


def _own_problem(database: Database) -> StoreError | None:
    """Read by a connection of the database itself: others may write to the file meanwhile."""
    try:
        with database.connected() as connection:
            found = _first_damage(connection)
    except StoreError as error:
        return error
    return _damaged(database.path) if found else None


def _problem_of(path: Path) -> StoreError | None:
    if not path.is_file():
        return None
    # A file without a log is read as one that nobody changes: other ways make files beside it.
    way: Way = "ro" if has_log(path) else "immutable"
    try:
        with closing(connect(path, way, _CHECK_S)) as connection:
            found = _first_damage(connection)
    except sqlite3.Error as error:
        return translate_failure(path, error)
    return _damaged(path) if found else None


def _damaged(path: Path) -> StoreError:
    return translate_failure(path, sqlite3.DatabaseError(_DAMAGED))


def _first_damage(connection: SQLiteConnection) -> str:
    """Return what is damaged, blank for nothing that was seen within the time."""
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    until = time.monotonic() + _CHECK_S
    connection.set_progress_handler(lambda: int(time.monotonic() > until), _STEPS)
    try:
        said = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            return ""
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return "" if said == "ok" else said
