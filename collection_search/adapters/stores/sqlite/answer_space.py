"""The limit of the file of cached answers: the oldest make room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .space import free_pages

if TYPE_CHECKING:
    import sqlite3

    from .database import Database

FULL: Final = 0.9
"""Share of the limit from which answers are deleted."""
KEPT: Final = 0.8
"""Share of the limit that is left in use then."""
_STEPS: Final = 20
"""Parts of the answers, by age, that are deleted one after the other."""


def make_room(database: Database, new_bytes: int, max_bytes: int) -> None:
    """Delete the oldest answers if the new ones bring the file near its limit. Raises StoreError.

    Deleted pages are used again, so that the file does not grow. One that is larger already, since
    its limit was higher, gives its free pages back.
    """
    with database.connected() as connection:
        size, used = _sizes(connection)
    used += new_bytes
    if used <= FULL * max_bytes and size <= max_bytes:
        return
    while used > KEPT * max_bytes:
        with database.write() as connection:
            if not _delete_oldest(connection):
                break
            used = new_bytes + _sizes(connection)[1]
    if size > max_bytes:
        free_pages(database)


def _sizes(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the bytes of the file, and those in use."""
    page, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "page_count", "freelist_count")
    )
    return page * pages, page * (pages - free)


def _delete_oldest(connection: sqlite3.Connection) -> int:
    """Delete a part of the answers; return how many."""
    first, last = connection.execute("SELECT min(id), max(id) FROM answers").fetchone()
    if first is None:
        return 0
    border = first + (last - first) // _STEPS
    return connection.execute("DELETE FROM answers WHERE id <= ?", (border,)).rowcount
