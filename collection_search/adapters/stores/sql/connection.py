"""What the shared statements need of an engine: rows, connections and transactions."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from ....contracts.collection import TenantScope

    Values: TypeAlias = Mapping[str, Any] | Sequence[Any]
    Whose: TypeAlias = "TenantScope | str | WriteLock | None"
    """A collection, a tenant, a named lock, or None for what excludes all other writers."""

Row: TypeAlias = Any
"""A row has its columns by name and by position, and unpacks as both."""


class WriteLock(Enum):
    """A lock of work on all tenants that runs beside the writers of collections, one at a time."""

    CLAIM = "claim"


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Return the number of rows that were written."""
        ...

    def fetchone(self) -> Row:
        """Return the next row, None after the last."""
        ...

    def fetchall(self) -> list[Row]:
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows that are left."""
        ...


class Connection(Protocol):
    """An open transaction; `:name` and `?` stand for values in a statement."""

    def execute(self, statement: str, values: Values = ..., /) -> Cursor:
        """Run one statement."""
        ...

    def executemany(self, statement: str, values: Iterable[Values], /) -> object:
        """Run one statement with each of these values."""
        ...

    def enable_secure_delete(self) -> None:
        """Overwrite what the transaction deletes from now on, where the engine would keep it."""
        ...


class Database(Protocol):
    """Transactions, each committed as a whole when its block returns, undone when it raises.

    Whose rows a transaction may see is said when it is opened. A failure of the engine becomes a
    StoreError that says what to do.
    """

    def read(self, whose: Whose, /) -> AbstractContextManager[Connection]:
        """Open a transaction that sees one state of the database from beginning to end."""
        ...

    def write(self, whose: Whose, /) -> AbstractContextManager[Connection]:
        """Open a transaction that writes; no other one of the same collection runs beside it."""
        ...

    def truncate_log(self) -> bool:
        """Empty the log where it still has deleted rows; False when somebody reads it now."""
        ...
