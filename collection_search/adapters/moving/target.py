"""The PostgreSQL database that takes the rows, and how far it has got."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import sql

from ...errors import ConfigError, InputError, StoreError
from ...settings.engine_addresses import is_postgres_address
from ..stores.postgres.database import GROUPS, SCHEMA
from ..stores.postgres.schema import migrate_schema
from ..stores.postgres.store_errors import server_of, translate_failure
from .moved_tables import TABLES, Digest, compared_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .moved_tables import Table

CONNECT_S: Final = 10
_CHECKPOINTS: Final = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
_PROGRESS: Final = """
    CREATE TABLE IF NOT EXISTS migration (
        source text NOT NULL, begun_at double precision NOT NULL, finished_at double precision);
    CREATE TABLE IF NOT EXISTS migrated_tables (
        name text PRIMARY KEY, last_key text NOT NULL, rows bigint NOT NULL);
"""
_REACHED: Final = (
    "INSERT INTO migrated_tables AS t VALUES (%s, %s, %s) ON CONFLICT (name)"
    " DO UPDATE SET last_key = excluded.last_key, rows = t.rows + excluded.rows"
)
_READ_AT_ONCE: Final = 1_000


class MigrationTarget:
    """A schema that takes rows; each batch is stored together with its key, or not at all."""

    def __init__(self, connection: psycopg.Connection[Any], place: str) -> None:
        self._connection = connection
        self._place = place

    def begin(self, source: str, *, restart: bool = False) -> bool:
        """Prepare an empty database, or go on with the same source; False when all is finished.

        `restart` empties one that is unfinished. Raises InputError for one with other data.
        """
        with self._connection.transaction():
            self._connection.execute(_PROGRESS)
            found = self._one("SELECT source, finished_at FROM migration")
            if found is None:
                self._require_empty()
                query = "INSERT INTO migration (source, begun_at) VALUES (%s, %s)"
                self._connection.execute(query, [source, time.time()])
                return True
            if found[0] != source:
                raise InputError(
                    f"{self._place} takes the data of {found[0]} already. Name an empty database."
                )
            if found[1] is not None:
                return False
            if restart:
                self._empty()
        return True

    def reached(self, table: Table) -> tuple[list[Any] | None, int]:
        """Return the last key that is stored, and the number of rows up to it."""
        query = "SELECT last_key, rows FROM migrated_tables WHERE name = %s"
        found = self._one(query, [table.name])
        return (None, 0) if found is None else (json.loads(found[0]), int(found[1]))

    def write(
        self, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]], key: list[Any]
    ) -> None:
        """Store the next rows and their last key in one transaction."""
        try:
            with self._connection.transaction():
                self._insert(table, columns, rows)
                self._connection.execute(_REACHED, [table.name, json.dumps(key), len(rows)])
        except psycopg.IntegrityError as error:
            raise difference([table.name]) from error

    def _insert(
        self, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> None:
        """Insert rows by way of a table without row-level security, since COPY refuses others."""
        stage, named = sql.Identifier(f"next_{table.name}"), _list(columns)
        goal = sql.Identifier(table.name)
        create = "CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA"
        self._connection.execute(sql.SQL(create).format(stage, named, goal))
        begin = sql.SQL("COPY {} ({}) FROM STDIN").format(stage, named)
        with self._connection.cursor() as cursor, cursor.copy(begin) as copy:
            for row in rows:
                copy.write_row(row)
        insert = sql.SQL("INSERT INTO {} ({}) {}SELECT {} FROM {}")
        self._connection.execute(insert.format(goal, named, _given_ids(table), named, stage))

    def digest(self, table: Table, columns: Sequence[str]) -> Digest:
        """Return number and hash of the stored rows."""
        digest, compared = Digest(), _list(compared_columns(columns))
        query = sql.SQL("SELECT {} FROM {}").format(compared, sql.Identifier(table.name))
        with self._connection.transaction(), self._connection.cursor("rows") as cursor:
            cursor.itersize = _READ_AT_ONCE
            for row in cursor.execute(query):
                digest.add(row)
        return digest

    def count(self, table: Table) -> int:
        """Return the number of stored rows."""
        query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table.name))
        row = self._connection.execute(query).fetchone()
        return 0 if row is None else int(row[0])

    def give_ids_after(self, table: Table, last: int) -> None:
        """Let the server's next id of this table be a greater one."""
        self._connection.execute(
            "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s, %s)",
            [table.name, max(last, 1), last > 0],
        )

    def finish(self) -> None:
        """Note that everything is there, and let the server measure its tables."""
        for table in TABLES:
            self._connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table.name)))
        self._connection.execute("UPDATE migration SET finished_at = %s", [time.time()])

    def _require_empty(self) -> None:
        names = [name for name in self._present() if self._has_rows(name)]
        if names:
            raise InputError(
                f"{self._place} holds other data already (in {', '.join(names)})."
                " Name an empty database."
            )

    def _empty(self) -> None:
        names = [*self._present(), "migrated_tables"]
        self._connection.execute(sql.SQL("TRUNCATE {}").format(_list(names)))

    def _present(self) -> list[str]:
        """Return the tables of data that there are: those of checkpoints come later."""
        names = [*(table.name for table in TABLES), *_CHECKPOINTS]
        query = (
            "SELECT tablename FROM pg_tables"
            " WHERE schemaname = current_schema() AND tablename = ANY(%s)"
        )
        return sorted(row[0] for row in self._connection.execute(query, [names]))

    def _has_rows(self, name: str) -> bool:
        query = sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name))
        return self._connection.execute(query).fetchone() is not None

    def _one(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        return self._connection.execute(query.encode(), values).fetchone()


@contextmanager
def open_target(url: str, *, schema: str = SCHEMA) -> Iterator[MigrationTarget]:
    """Connect to the database as one that writes alone. Raises ConfigError, StoreError."""
    check_url(url)
    try:
        with psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=CONNECT_S,
            options=f"-c search_path={schema},public",
            application_name="collection-search migrate",
        ) as connection:
            migrate_schema(connection, schema)
            _lock(connection, server_of(url))
            # The rows of all tenants.
            connection.execute("SELECT set_config('collection_search.tenant', '', false)")
            yield MigrationTarget(connection, server_of(url))
    except psycopg.Error as error:
        raise translate_failure(url, error) from None  # its context may quote the address


def difference(tables: Sequence[str]) -> StoreError:
    """Return the error of tables that are not as in the files."""
    return StoreError(
        f"The copy differs from the files in: {', '.join(tables)}. They were changed between two"
        " attempts, or the target was. Run 'collection-search migrate --restart', which empties"
        " the target and begins anew."
    )


def check_url(url: str) -> None:
    """Raise ConfigError for what is no address; the message does not show it."""
    if not is_postgres_address(url):
        raise ConfigError(
            "The address of the target is no address of PostgreSQL. Give one as"
            " postgresql://user@host/name, special characters of the password as %40 and the like."
        )


def _lock(connection: psycopg.Connection[Any], place: str) -> None:
    """Keep out every other process that writes to the schema, until the connection ends."""
    query = (
        "SELECT bool_and(pg_try_advisory_lock(hashtextextended(current_schema() || tables, 0)))"
        " FROM unnest(%s::text[]) AS tables"
    )
    row = connection.execute(query, [list(GROUPS)]).fetchone()
    if row is None or not row[0]:
        raise StoreError(
            f"Another process writes to {place}. End it, and try again.", retryable=True
        )


def _list(names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _given_ids(table: Table) -> sql.SQL:
    return sql.SQL("OVERRIDING SYSTEM VALUE " if table.has_sequence else "")
