"""The embedded files, read in the order of their keys while nobody else writes to them."""

from __future__ import annotations

import math
import sqlite3
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...errors import StoreError
from ...runtime.file_presence import has_file
from ..stores.sqlite import COLLECTIONS as COLLECTIONS_FILE
from ..stores.sqlite.database import Database
from ..stores.sqlite.removal import resume
from ..stores.sqlite.run_history import RUNS as RUNS_FILE
from ..stores.sqlite.store_errors import translate_failure
from ..stores.sqlite.usage import USAGE as USAGE_FILE
from .moved_tables import COLLECTIONS, RUNS, USAGE, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ..stores.sqlite.database import Schema
    from ..stores.sqlite.opening import SQLiteConnection

WAIT_S: Final = 5.0
"""Longest wait for another process that writes."""
_FILES: Final[dict[str, tuple[Schema, tuple[Table, ...]]]] = {
    "collections.db": (COLLECTIONS_FILE, COLLECTIONS),
    "usage.db": (USAGE_FILE, USAGE),
    "runs.db": (RUNS_FILE, RUNS),
}
_GATES: Final = next(table for table in COLLECTIONS if table.name == "gates")
_LEDGER: Final = next(table for table in COLLECTIONS if table.name == "ledger")
_CHUNKS: Final = (
    "SELECT {columns}, d.collection_id, w.title, w.body FROM chunks AS t"
    " JOIN documents AS d ON d.id = t.document_id LEFT JOIN chunk_words AS w ON w.rowid = t.id"
)


class PausedGate(NamedTuple):
    """An open review whose run is kept among the embedded checkpoints."""

    tenant_id: str
    gate_id: str
    thread_id: str | None


class _OpenFile(NamedTuple):
    """The file that a table is in."""

    path: Path
    connection: SQLiteConnection


class MigrationSource:
    """The files of a data folder; a missing one has no rows."""

    def __init__(self, home: Path, opened: dict[str, _OpenFile]) -> None:
        self.home = home
        self._opened = opened

    def columns(self, table: Table) -> list[str]:
        """Return the columns that are no function of others; [] where the file is missing."""
        if table.name not in self._opened:
            return []
        rows = self._rows(table, f"PRAGMA table_info({table.name})", ())
        return [row[1] for row in rows]

    def count(self, table: Table) -> int:
        """Return the number of rows."""
        if table.name not in self._opened:
            return 0
        return int(self._rows(table, f"SELECT count(*) FROM {table.name}", ())[0][0])

    def last_id(self, table: Table) -> int:
        """Return the greatest id that was ever given, as far as the file knows it."""
        if table.name not in self._opened:
            return 0
        greatest = self._rows(table, f"SELECT coalesce(max(id), 0) FROM {table.name}", ())[0][0]
        query = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?"
        return max(int(greatest), int(self._rows(table, query, (table.name,))[0][0]))

    def batch(
        self, table: Table, columns: Sequence[str], after: Sequence[Any] | None, size: int
    ) -> list[tuple[Any, ...]]:
        """Return the rows behind a key; those of chunks end with collection and stems."""
        listed = ", ".join(f't."{name}"' for name in columns)
        query = f"SELECT {listed} FROM {table.name} AS t"
        if table.name == "chunks":
            query = _CHUNKS.format(columns=listed)
        key = ", ".join(f"t.{name}" for name in table.key)
        if after is not None:
            query += f" WHERE ({key}) > ({', '.join('?' * len(after))})"
        query += f" ORDER BY {key} LIMIT {size}"
        return self._rows(table, query, tuple(after or ()))

    def waiting_gates(self) -> list[PausedGate]:
        """Return the open reviews of runs that this product resumes itself."""
        if _GATES.name not in self._opened:
            return []
        query = (
            "SELECT tenant_id, gate_id, thread_id FROM gates"
            " WHERE state = 'open' AND host != 'server' ORDER BY tenant_id, gate_id"
        )
        return [PausedGate(*row) for row in self._rows(_GATES, query, ())]

    def require_idle(self) -> None:
        """Raise StoreError while a worker holds pages."""
        query = "SELECT count(*), max(due) FROM ledger WHERE state = 'working' AND due > ?"
        now = time.time()
        held, until = self._rows(_LEDGER, query, (now,))[0]
        if held:
            raise StoreError(
                f"Workers hold {held} pages of the ledger. End 'collection-search worker' and"
                " 'serve', and try again; the pages of a killed worker are free in"
                f" {math.ceil(until - now)} s.",
                retryable=True,
            )

    def _rows(self, table: Table, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Return plain tuples. Raises StoreError that names the file of this table.

        All files are open at once, and the one that was opened last would name itself.
        """
        path, connection = self._opened[table.name]
        try:
            cursor = connection.cursor()
            cursor.row_factory = None
            return cursor.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise translate_failure(path, error) from error


@contextmanager
def open_source(home: Path, *, wait_s: float = WAIT_S) -> Iterator[MigrationSource]:
    """Open the files, migrated to the newest version; others may read them, not write to them.

    Raises StoreError when another process writes to them or works on pages of the ledger,
    ConfigError for a folder that this user may not read.
    """
    opened: dict[str, _OpenFile] = {}
    with ExitStack() as stack:
        for name, (schema, tables) in _FILES.items():
            if has_file(path := home / name):
                database = Database(path, schema, busy_timeout_s=wait_s)
                stack.callback(database.close)
                if name == "collections.db":
                    _finish_deletions(database)
                file = _OpenFile(path, stack.enter_context(_locked(database)))
                opened |= {table.name: file for table in tables}
        if "collections" not in opened:
            raise StoreError(
                f"The data folder {home} has no collections to carry over."
                " Set COLLECTION_SEARCH_HOME to the folder that has them."
            )
        source = MigrationSource(home, opened)
        source.require_idle()
        yield source


@contextmanager
def _locked(database: Database) -> Iterator[SQLiteConnection]:
    """Yield a connection that sees one state, and keeps others from writing where it may."""
    with database.connected() as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error):
                raise
            connection.execute("BEGIN")
        try:
            yield connection
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def _finish_deletions(database: Database) -> None:
    """Go on with deletions that were left unfinished: their rows are not carried over."""
    with database.read() as connection:
        query = "SELECT 1 FROM collections WHERE deleted_at IS NOT NULL"
        is_left = connection.execute(query).fetchone()
    while is_left and resume(database, math.inf):
        pass
