"""Connections to PostgreSQL: a pool, transactions of a tenant, and clear messages for failures."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, LiteralString, cast

import psycopg
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import ConnectionPool, PoolTimeout

from ....contracts.collection import TenantScope
from .dialect import translate
from .failures import translate_failure
from .rows import named_rows
from .schema import migrate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..sql.connection import Values, Whose

MAX_CONNECTIONS: Final = 10
"""Connections of one process; a call waits for a free one."""
WAIT_S: Final = 30.0
"""Longest wait for a connection."""
_READ: Final = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SELECT set_config('collection_search.tenant', %s, true)"
)
_WRITE: Final = "BEGIN; SELECT set_config('collection_search.tenant', %s, true);"
# Work over all tenants runs alone; that of two collections runs side by side.
_ALONE: Final = " SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))"
_BESIDE: Final = (
    " SELECT pg_advisory_xact_lock_shared(hashtextextended(current_schema(), 0)),"
    " pg_advisory_xact_lock(hashtextextended(current_schema() || %s, 1))"
)


class PostgresConnection:
    """An open transaction, for the shared statements."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.raw = connection

    def execute(self, statement: str, values: Values = (), /) -> psycopg.Cursor[Any]:
        """Run one statement."""
        return self.raw.execute(_query(statement), values)

    def executemany(self, statement: str, values: Iterable[Values], /) -> None:
        """Run one statement with each of these values."""
        many = list(values)
        if many:
            self.raw.cursor().executemany(_query(statement), many)

    def enable_secure_delete(self) -> None:
        """Do nothing: what is deleted goes with the next vacuum."""


class PostgresDatabase:
    """A schema of a PostgreSQL database, safe for many threads, processes and hosts at once.

    A transaction sees the rows of the tenant that it is opened for, and no others, by row-level
    security. It is undone as a whole when its block raises.
    """

    def __init__(self, url: str, *, schema: str = "collection_search") -> None:
        self.schema = schema
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=WAIT_S,
            open=False,
            configure=_configure,
            kwargs={
                "autocommit": True,
                "cursor_factory": psycopg.ClientCursor,
                "row_factory": named_rows,
                "options": f"-c search_path={schema},public",
                "application_name": "collection-search",
            },
        )
        with self._failures():
            self._pool.open()
            with self._pool.connection() as connection:
                migrate(connection, schema)

    @contextmanager
    def read(self, whose: Whose, /) -> Iterator[PostgresConnection]:
        """Open a transaction that sees one state of the database from beginning to end."""
        with self._transaction(_READ, [_tenant_of(whose)]) as connection:
            yield connection

    @contextmanager
    def write(self, whose: Whose, /) -> Iterator[PostgresConnection]:
        """Open a transaction that writes; no other one of the same collection runs beside it."""
        begin, values = (_WRITE + _ALONE, [""])
        if whose is not None:
            begin, values = (_WRITE + _BESIDE, [_tenant_of(whose), _key_of(whose)])
        with self._transaction(begin, values) as connection:
            yield connection

    def close(self) -> None:
        """Close the connections; the next call fails."""
        self._pool.close()

    @contextmanager
    def _transaction(self, begin: str, values: list[str]) -> Iterator[PostgresConnection]:
        with self._failures(), self._pool.connection() as connection:
            connection.execute(cast("LiteralString", begin), values)
            try:
                yield PostgresConnection(connection)
                connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, PoolTimeout) as error:
            raise translate_failure(self._pool.conninfo, error) from error


class _TextDumper(StrDumperUnknown):
    """Texts without the character NUL, which PostgreSQL cannot store."""

    def dump(self, obj: str) -> bytes | None:
        return super().dump(obj.replace("\0", "\ufffd"))  # type: ignore[return-value]


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(str, _TextDumper)


def _query(statement: str) -> LiteralString:
    """Return the statement in PostgreSQL's dialect; values never stand in it."""
    return cast("LiteralString", translate(statement))


def _tenant_of(whose: Whose) -> str:
    return whose.tenant_id if isinstance(whose, TenantScope) else whose or ""


def _key_of(whose: TenantScope | str) -> str:
    """Return the name of the lock: that of a collection, or of what a tenant has beside these."""
    names = (whose.tenant_id, whose.collection) if isinstance(whose, TenantScope) else (whose,)
    return "".join(f"\x1f{name}" for name in names)
