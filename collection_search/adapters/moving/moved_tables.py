"""The tables that are carried over, in an order in which each refers to earlier ones only."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..stores.postgres.document_rows import to_halfvec
from ..stores.postgres.words import index_stems

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOOLEANS: Final = frozenset({"refresh"})
"""Columns that SQLite has as 0 and 1."""
_DERIVED: Final = ("near", "words", "length")
"""Columns of chunks that are made from others, and not read back."""
ADDED: Final = ("part", *_DERIVED)
"""Columns of chunks that only PostgreSQL has."""
_ROOM: Final = 1 << 128


class Table(NamedTuple):
    """A table that both engines have under one name."""

    name: str
    key: tuple[str, ...] = ("id",)
    has_sequence: bool = True
    """True where the server gives the ids."""


def _named(name: str, *key: str) -> Table:
    return Table(name, key, has_sequence=False)


COLLECTIONS: Final = (
    Table("staged"),
    Table("collections"),
    Table("documents"),
    Table("chunks"),
    Table("prepared_vectors"),
    Table("ledger"),
    _named("tickets", "id"),
    _named("ticket_rows", "ticket_id", "row_id"),
    Table("questions"),
    _named("sessions", "id"),
    _named("session_candidates", "session_id", "position"),
    Table("gates"),
    _named("gate_contents", "gate", "position"),
    _named("addresses", "collection_id", "url_key"),
    Table("crawls"),
    _named("host_turns", "collection_id", "host"),
    _named("pauses", "cause"),
    Table("comparisons"),
)
USAGE: Final = (
    _named("quotas", "provider", "key_id", "period"),
    Table("answers"),
    Table("spend"),
    _named("run_questions", "tenant_id", "run_id"),
)
RUNS: Final = (Table("runs"), _named("events", "run", "number"))
TABLES: Final = (*COLLECTIONS, *USAGE, *RUNS)


def target_columns(table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are written, for those of the file."""
    return (*columns, *ADDED) if table.name == "chunks" else tuple(columns)


def compared_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that are read back and compared."""
    return [name for name in columns if name not in _DERIVED]


def to_target(table: Table, columns: Sequence[str], row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of the file as PostgreSQL stores it."""
    values = to_compared(table, columns, row)
    if table.name != "chunks":
        return values
    title, body = row[len(columns) + 1 :]
    near = to_halfvec(values[columns.index("vector")])
    return (*values, near, *index_stems(title or "", body or ""))


def to_compared(table: Table, columns: Sequence[str], row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of the file as it is read back, without what is made from other columns."""
    names = (*columns, "part") if table.name == "chunks" else columns
    return tuple(_value(name, value) for name, value in zip(names, row, strict=False))


def _value(name: str, value: Any) -> Any:
    """Return a value of a column; PostgreSQL cannot store the character NUL in texts."""
    if name in _BOOLEANS:
        return bool(value)
    if name == "payload" and isinstance(value, str):  # of old files
        return value.encode()
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class Digest:
    """Number and hash of rows, in whatever order they come.

    >>> one, other = Digest(), Digest()
    >>> one.add(("a", 1)), one.add(("b", 2)), other.add(("b", 2)), other.add(("a", True))
    (None, None, None, None)
    >>> one == other
    True
    """

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, row: Sequence[Any]) -> None:
        """Count one row."""
        plain = tuple(int(value) if isinstance(value, bool) else value for value in row)
        hashed = hashlib.blake2b(repr(plain).encode("utf-8", "surrogatepass"), digest_size=16)
        self._sum = (self._sum + int.from_bytes(hashed.digest(), "big")) % _ROOM
        self.rows += 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Digest):
            return NotImplemented
        return (self.rows, self._sum) == (other.rows, other._sum)

    def __hash__(self) -> int:
        return hash((self.rows, self._sum))
