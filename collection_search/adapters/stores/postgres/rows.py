"""Rows with their columns by name and by position, as SQLite's are."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.rows import RowMaker


class NamedRow(tuple[Any, ...]):
    """A row of a result; a subclass for each result has the names of its columns."""

    __slots__ = ()
    places: dict[str, int]

    def keys(self) -> list[str]:
        """Return the names of the columns in order."""
        return list(self.places)

    def __getitem__(self, key: Any) -> Any:
        """Return a column by its name or position."""
        return super().__getitem__(self.places[key] if isinstance(key, str) else key)


def named_rows(cursor: Cursor[Any]) -> RowMaker[NamedRow]:
    """Make rows of a cursor's result: a row factory of psycopg."""
    return _row_of(tuple(column.name for column in cursor.description or ()))


@lru_cache(maxsize=512)
def _row_of(columns: tuple[str, ...]) -> RowMaker[NamedRow]:
    places = {column: place for place, column in enumerate(columns)}
    row = type("NamedRow", (NamedRow,), {"__slots__": (), "places": places})
    return cast("RowMaker[NamedRow]", row)
