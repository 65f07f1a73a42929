"""What docs/operations/deploy.md promises of PostgreSQL: its users, a dump that comes back, the partitions."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
import psycopg
import pytest
from support.deploy_page import blocks, command_lines
from support.deployment import DEPLOY
from support.postgres_server import NEEDS_POSTGRES, PostgresServer, binaries, postgres_server

from collection_search.contracts.collection import Chunk, Document, TenantScope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.adapters.stores.postgres import PostgresStore

pytestmark = NEEDS_POSTGRES
USERS: Final = ("collection_search", "aegra")
SCOPE: Final = TenantScope("acme", "docs")


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


def test_a_search_for_words_may_use_its_index(server: PostgresServer):
    query = "SELECT proleakproof FROM pg_proc WHERE oid = 'ts_match_vq'::regproc"
    assert rows(server, "collection_search", "collection_search", query) == [(True,)]


def test_the_store_opens_there(server: PostgresServer):
    """Its user may make the schema; the extension is there already."""
    from collection_search.adapters.stores.postgres.database import PostgresDatabase

    database = PostgresDatabase(url(server, "collection_search", "collection_search"))
    with database.read("acme") as connection:
        (row,) = connection.execute("SELECT count(*) AS found FROM collections").fetchall()
    database.close()
    assert row["found"] == 0


def opened(server: PostgresServer, database: str) -> PostgresStore:
    """Return the store in this database, as the server opens it."""
    from collection_search.adapters.stores.postgres import PostgresStore

    return PostgresStore(url(server, "collection_search", database))


def store_page(store: PostgresStore, name: str) -> None:
    """Store a page of one chunk with a vector."""
    vector = np.ones(384, dtype=np.float32) / np.float32(384**0.5)
    page = Document(f"https://a.example/{name}", name, f"Page {name}", "0" * 64, {})
    store.collections.bind_embedder(SCOPE, "test:384")
    store.collections.replace_document(SCOPE, page, [Chunk(0, f"Text {name}", 0, 6, vector)])


def found(store: PostgresStore, question: str) -> list[str]:
    """Return the texts that are found by words."""
    return [one.chunk.text for one in store.collections.search(SCOPE, question, limit=5)]


def run_program(server: PostgresServer, *command: str, **options: Any) -> Any:
    """Run one of the server's programs."""
    where = urlsplit(server.url)
    environment = {"PGHOST": str(where.hostname), "PGPORT": str(where.port)}
    program = f"{binaries()}/{command[0]}"
    return subprocess.run(
        [program, *command[1:]], env=environment, capture_output=True, check=False, **options
    )


@pytest.fixture
def copy(server: PostgresServer) -> Iterator[str]:
    """A database of the server's user, made anew for the test."""
    with_power = psycopg.connect(url(server, "postgres", "postgres"), autocommit=True)
    with with_power as connection:
        connection.execute("CREATE DATABASE plan OWNER collection_search")
        with psycopg.connect(url(server, "postgres", "plan"), autocommit=True) as inner:
            inner.execute("CREATE EXTENSION vector SCHEMA public")
        yield "plan"
        connection.execute("DROP DATABASE plan WITH (FORCE)")


def run_plan(server: PostgresServer, text: str) -> None:
    """Run a block of the page as the server's user, each statement for itself."""
    options = "-c search_path=collection_search,public"
    with psycopg.connect(
        url(server, "collection_search", "plan"), options=options, autocommit=True
    ) as connection:
        connection.execute(text.encode())


def test_a_dump_comes_back(server: PostgresServer):
    """By the commands of the page, with all that was there before, and nothing of later."""
    dump, restore = (
        next(line for line in command_lines() if program in line)
        for program in ("pg_dump", "pg_restore")
    )
    store = opened(server, "collection_search")
    store_page(store, "alpine")
    made = run_program(server, *dump[dump.index("pg_dump") :])
    assert made.returncode == 0, made.stderr
    store_page(store, "harbour")
    store.close()
    back = run_program(server, *restore[restore.index("pg_restore") :], input=made.stdout)
    assert back.returncode == 0, back.stderr
    store = opened(server, "collection_search")
    assert found(store, "alpine") == ["Text alpine"]
    assert found(store, "harbour") == []
    store.close()


def test_only_a_superuser_dumps(server: PostgresServer):
    """The server's own user would leave out rows, so PostgreSQL refuses."""
    opened(server, "collection_search").close()
    made = run_program(server, "pg_dump", "--username=collection_search", "collection_search")
    assert made.returncode != 0
    assert b"row-level security" in made.stderr


def test_the_partitions_hold_what_was_there(server: PostgresServer, copy: str):
    """The plan's statements run, and the store goes on with the new tables."""
    store = opened(server, copy)
    store_page(store, "alpine")
    partitions, _, own = blocks("sql")
    run_plan(server, partitions)
    assert found(store, "alpine") == ["Text alpine"]
    store_page(store, "harbour")
    assert found(store, "harbour") == ["Text harbour"]
    store.close()
    kinds = "SELECT relkind::text FROM pg_class WHERE oid = 'collection_search.chunks'::regclass"
    assert rows(server, "postgres", copy, kinds) == [("p",)]
    run_plan(server, own)


def test_the_index_of_one_collection_is_built(server: PostgresServer, copy: str):
    """While the collection is in use."""
    store = opened(server, copy)
    store_page(store, "alpine")
    store.close()
    run_plan(server, blocks("sql")[1])
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'collection_search.chunks_near_42'::regclass"
    assert rows(server, "postgres", copy, valid) == [(True,)]


def test_no_user_reaches_the_other_database(server: PostgresServer):
    """Aegra's cannot open that of the collections, and the reverse."""
    for user, database in (USERS, USERS[::-1]):
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            rows(server, user, database, "SELECT 1")
