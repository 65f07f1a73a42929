"""The limit of the file of cached answers: the oldest make room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .opening import read_pragma
from .space import free_pages

if TYPE_CHECKING:
    from .database import Database
    from .opening import SQLiteConnection

FULL: Final = 0.9
"""Share of the limit from which answers are deleted."""
KEPT: Final = 0.8
"""Share of the limit that is left in use then."""
LEFT: Final = 0.5
"""Share of the answers that one call leaves, however much the spending fills the file."""
_ROWS: Final = 256
"""Answers of one deletion."""
_FREE_S: Final = 1.0
"""Longest time of giving pages back; the next call goes on."""


def make_room(database: Database, new_bytes: int, max_bytes: int) -> None:
    """Delete the oldest answers if the new ones bring the file near its limit. Raises StoreError.

    Deleted pages are used again, so that the file does not grow. One that is larger already, since
    its limit was higher, gives its free pages back. What was spent is never deleted.
    """
    with database.connected() as connection:
        size, used = _sizes(connection)
        if used + new_bytes <= FULL * max_bytes and size <= max_bytes:
            return
        count = int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    spare = count - int(LEFT * count)
    while used + new_bytes > KEPT * max_bytes and spare > 0:
        with database.write() as connection:
            rows = min(_ROWS, max(1, spare // 4), spare)
            spare -= max(1, connection.execute(_DELETE, (rows,)).rowcount)
            used = _sizes(connection)[1]
    if size > max_bytes:
        free_pages(database, within_s=_FREE_S)


_DELETE: Final = (
    "DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY stored_at LIMIT ?)"
)


def _sizes(connection: SQLiteConnection) -> tuple[int, int]:
    """Return the bytes of the file, and those in use."""
    names = ("page_size", "page_count", "freelist_count")
    page, pages, free = (read_pragma(connection, name) for name in names)
    return page * pages, page * (pages - free)
