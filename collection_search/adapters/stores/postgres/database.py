"""Connections to PostgreSQL: a pool, transactions of a tenant, and clear messages for failures."""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import ConnectionPool

from ....contracts.collection import TenantScope
from ..sql.connection import WriteLock
from .dialect import has_typed_values, translate
from .first_connection import WAIT_S as FIRST_WAIT_S
from .first_connection import connect_first
from .reconnection import RECONNECT_S, reconnect
from .rows import named_rows
from .schema import migrate_schema
from .store_errors import server_of, translate_failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..sql.connection import Values, Whose

SCHEMA: Final = "collection_search"
"""Name of the schema in the database."""
MAX_CONNECTIONS: Final = 10
"""Connections of one process; a call waits for a free one."""
WAIT_S: Final = 30.0
"""Longest wait for a connection."""
GROUPS: Final = ("collections", "usage", "runs")
"""Groups of tables whose writers do not wait for those of the others."""
_READ: Final = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SELECT set_config('collection_search.tenant', %s, true)"
)
_WRITE: Final = "BEGIN; SELECT set_config('collection_search.tenant', %s, true);"
# Work over all tenants runs alone; that of two collections runs side by side.
_ALONE: Final = " SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || %s, 0))"
_BESIDE: Final = (
    " SELECT pg_advisory_xact_lock_shared(hashtextextended(current_schema() || %s, 0)),"
    " pg_advisory_xact_lock(hashtextextended(current_schema() || %s, 1))"
)

_NOW: Final = "SELECT extract(epoch FROM clock_timestamp())"
_SWEEPS: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema(), 5))"


class PostgresConnection:
    """An open transaction, for the shared statements."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.raw = connection

    def execute(self, statement: str, values: Values = (), /) -> psycopg.Cursor[Any]:
        """Run one statement."""
        return self._cursor(statement).execute(translate(statement).encode(), values)

    def executemany(self, statement: str, values: Iterable[Values], /) -> None:
        """Run one statement with each of these values."""
        many = list(values)
        if many:
            self._cursor(statement).executemany(translate(statement).encode(), many)

    def enable_secure_delete(self) -> None:
        """Do nothing: what is deleted goes with the next vacuum."""

    def _cursor(self, statement: str) -> psycopg.Cursor[Any]:
        """Return a cursor whose repeated statements the server plans once, where it can."""
        if not has_typed_values(statement):
            return self.raw.cursor()
        cursor = psycopg.Cursor(self.raw)
        cursor.format = psycopg.pq.Format.BINARY  # vectors as bytes, not as twice as many digits
        return cursor


class PostgresDatabase:
    """A schema of a PostgreSQL database, safe for many threads, processes and hosts at once.

    A transaction sees the rows of the tenant that it is opened for, and no others, by row-level
    security. It is undone as a whole when its block raises. `tables` is one of `GROUPS`.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = SCHEMA,
        tables: str = GROUPS[0],
        max_connections: int = MAX_CONNECTIONS,
        wait_s: float = WAIT_S,
    ) -> None:
        self.schema = schema
        self._tables = tables
        self._url = url
        self._max_connections = max_connections
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._pool: ConnectionPool[psycopg.Connection[Any]] | None = None
        self._pid = os.getpid()
        with self._first_connected() as connection:
            self.found_version = migrate_schema(connection, schema)

    @property
    def name(self) -> str:
        """Return the name of the server with the database and schema, without a password."""
        return f"{server_of(self._url)}/{self.schema}"

    def clock(self) -> float:
        """Return the Unix time of the database's server. Raises StoreError."""
        with ExitStack() as stack:
            row: Any = self._first(stack, _NOW).fetchone()
        return float(row[0])

    @contextmanager
    def read(self, whose: Whose, /) -> Iterator[PostgresConnection]:
        """Open a transaction that sees one state of the database from beginning to end."""
        with self._transaction(_READ, [_tenant_of(whose)]) as connection:
            yield connection

    @contextmanager
    def write(self, whose: Whose, /) -> Iterator[PostgresConnection]:
        """Open a transaction that writes; no other one of the same collection runs beside it."""
        begin, values = (_WRITE + _ALONE, ["", self._tables])
        if whose is not None:
            key = self._tables + _key_of(whose)
            begin, values = (_WRITE + _BESIDE, [_tenant_of(whose), self._tables, key])
        with self._transaction(begin, values) as connection:
            yield connection

    @contextmanager
    def outside_transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection for statements that PostgreSQL refuses in a transaction."""
        with self._connected() as connection:
            yield connection

    @contextmanager
    def sweeping(self) -> Iterator[bool]:
        """Open a block that tells True to one process at a time.

        The lock ends with the process or its connection, so that another one can take over.
        """
        with self._transaction(_READ, [""]) as connection:
            row: Any = connection.execute(_SWEEPS).fetchone()
            yield bool(row[0])

    def truncate_log(self) -> bool:
        """Do nothing: the server keeps its log for itself."""
        return True

    def close(self) -> None:
        """Close the connections; the next call opens others."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            _close(pool, self._pid)

    @contextmanager
    def _transaction(self, begin: str, values: Sequence[str]) -> Iterator[PostgresConnection]:
        with ExitStack() as stack:
            connection = self._first(stack, begin, values).connection
            try:
                yield PostgresConnection(connection)
                connection.execute("COMMIT")
            except psycopg.errors.FeatureNotSupported:
                connection.close()  # its plans are of tables as they were before a migration
                raise
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise

    def _first(
        self, stack: ExitStack, statement: str, values: Sequence[str] = ()
    ) -> psycopg.Cursor[Any]:
        """Run the first statement on a connection of the pool, which the stack gives back.

        A restart of the server has ended the connections that nobody used: they are replaced once.
        """
        connection = stack.enter_context(self._connected())
        try:
            return connection.execute(statement.encode(), values)
        except psycopg.OperationalError:
            if not connection.broken:
                raise
            stack.close()
        self._opened().check()
        connection = stack.enter_context(self._connected())
        return connection.execute(statement.encode(), values)

    @contextmanager
    def _first_connected(self) -> Iterator[psycopg.Connection[Any]]:
        wait_s = min(self._wait_s, FIRST_WAIT_S)
        with (
            translate_failures(self._url),
            connect_first(self._url, self._options(), wait_s=wait_s) as connection,
        ):
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        with translate_failures(self._url), self._opened().connection() as connection:
            yield connection

    def _opened(self) -> ConnectionPool[psycopg.Connection[Any]]:
        """Return the pool of this process: a forked child must not use its parent's connections."""
        with self._lock:
            if self._pool is None or self._pid != os.getpid():
                self._pid, self._pool = os.getpid(), self._new_pool()
            return self._pool

    def _new_pool(self) -> ConnectionPool[psycopg.Connection[Any]]:
        pool: ConnectionPool[psycopg.Connection[Any]] = ConnectionPool(
            self._url,
            min_size=0,
            max_size=self._max_connections,
            timeout=self._wait_s,
            open=True,
            configure=_configure,
            reconnect_timeout=RECONNECT_S,
            reconnect_failed=reconnect,
            kwargs=self._options(),
        )
        weakref.finalize(self, _close, pool, self._pid)  # also when the process ends
        return pool

    def _options(self) -> dict[str, Any]:
        return {
            "autocommit": True,
            "cursor_factory": psycopg.ClientCursor,
            "row_factory": named_rows,
            "options": f"-c search_path={self.schema},public",
            "application_name": "collection-search",
        }


class _TextDumper(StrDumperUnknown):
    """Texts without the character NUL, which PostgreSQL cannot store."""

    def dump(self, obj: str) -> bytes | None:
        return super().dump(obj.replace("\0", "\ufffd"))  # type: ignore[return-value]


def _close(pool: ConnectionPool[Any], pid: int) -> None:
    """Close the pool, unless this is a forked child: the connections are its parent's."""
    if pid == os.getpid():
        pool.close()


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(str, _TextDumper)


def _tenant_of(whose: Whose) -> str:
    if isinstance(whose, WriteLock):
        return ""
    return whose.tenant_id if isinstance(whose, TenantScope) else whose or ""


def _key_of(whose: TenantScope | str | WriteLock) -> str:
    """Return the name of the lock: of a collection, or of what a tenant has beside these."""
    if isinstance(whose, WriteLock):
        return f"\x1e{whose.value}"
    names = (whose.tenant_id, whose.collection) if isinstance(whose, TenantScope) else (whose,)
    return "".join(f"\x1f{name}" for name in names)
