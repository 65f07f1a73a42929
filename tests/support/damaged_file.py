"""A SQLite file of which one table cannot be read any more."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def damage_table(path: Path, table: str) -> None:
    """Overwrite the first page of a table, as a failing disk would; the others stay readable."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?"
        number = connection.execute(query, (table,)).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((number - 1) * size)
        file.write(b"\xff" * size)
