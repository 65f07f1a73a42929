"""The schema in a PostgreSQL database: made, and brought to the newest version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from psycopg import sql

from ....errors import StoreError

if TYPE_CHECKING:
    import psycopg

VERSION: Final = 2
_SCRIPTS: Final = {
    1: ("functions.sql", "schema.sql", "isolation.sql"),
    2: ("schema_2.sql",),
}
"""What makes each version out of the one before."""


def migrate_schema(connection: psycopg.Connection[Any], schema: str) -> int:
    """Create the schema or migrate it, in one transaction, unless another process just did.

    Return the version that was there, 0 for none. Raises StoreError for a newer one.
    """
    if (version := _version(connection, schema)) == VERSION:
        return version
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 2))", [schema])
        version = _version(connection, schema)
        if version > VERSION:
            raise StoreError(
                f"The schema {schema!r} was written by a newer version of collection-search"
                f" (schema version {version}, not {VERSION}): install that version."
            )
        if version == 0:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            connection.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema))
            )
            connection.execute("CREATE TABLE schema_version (version integer NOT NULL)")
            connection.execute("INSERT INTO schema_version VALUES (0)")
        for step in range(version + 1, VERSION + 1):
            for name in _SCRIPTS[step]:
                script = Path(__file__).with_name(name).read_text("utf-8")
                connection.execute(script.encode())
        connection.execute("UPDATE schema_version SET version = %s", [VERSION])
    return version


def _version(connection: psycopg.Connection[Any], schema: str) -> int:
    """Return the version of the schema, 0 when there is none."""
    query = "SELECT to_regclass(quote_ident(%s) || '.schema_version') IS NOT NULL"
    found = connection.execute(query, [schema]).fetchone()
    if found is None or not found[0]:
        return 0
    row = connection.execute("SELECT version FROM schema_version").fetchone()
    return 0 if row is None else int(row[0])
