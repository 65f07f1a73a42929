"""What a newcomer sets wrong about PostgreSQL and Celery: one sentence each, and no password."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import psycopg
import pytest
from support.ports import closed_port
from support.postgres_server import NEEDS_POSTGRES, PostgresServer, postgres_server

from collection_search.errors import MissingExtraError
from collection_search.settings.registry import load_adapter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.command_line import Ended, Invoke

DATABASE = "COLLECTION_SEARCH_DATABASE_URL"
BROKER = "COLLECTION_SEARCH_BROKER_URL"
ENGINE = "COLLECTION_SEARCH_INGEST_ENGINE"
PASSWORD = "very-secret-word"
SOMEWHERE = "postgresql://me@db.example/collections"


@pytest.fixture
def refused(command: Invoke) -> Invoke:
    """Run a command that ends with one sentence, which this returns."""

    def invoke(*arguments: str) -> Ended:
        ended = command(*arguments)
        assert ended.code == 2
        assert len(ended.complaints) == 1
        assert "Traceback" not in ended.err
        assert PASSWORD not in ended.err + ended.out
        return ended

    return invoke


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        server.require_password("guarded", PASSWORD)
        yield server


def without(package: str, adapters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package and what imports it as absent as where the extra was not installed."""
    prefix = f"collection_search.adapters.{adapters}"
    for name in list(sys.modules):
        if name.startswith(prefix) or name.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.slow
class TestDatabases:
    """A server that answers and refuses, or that is not there."""

    pytestmark = NEEDS_POSTGRES

    @pytest.fixture(autouse=True)
    def _server(self, server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.monkeypatch = server, monkeypatch

    def use(self, url: str) -> None:
        self.monkeypatch.setenv(DATABASE, url)

    def test_a_wrong_password(self, refused: Invoke) -> None:
        """At once, with the places where a password may stand."""
        self.use(self.server.url_of("guarded", password=f"not-{PASSWORD}"))
        (told,) = refused("collections").complaints
        assert 'password authentication failed for user "guarded"' in told
        assert f"{DATABASE}, PGPASSWORD or ~/.pgpass" in told

    def test_no_password(self, refused: Invoke) -> None:
        """The server asks for one."""
        self.use(self.server.url_of("guarded"))
        (told,) = refused("collections").complaints
        assert "no password supplied" in told
        assert "PGPASSWORD" in told

    def test_no_such_database(self, refused: Invoke) -> None:
        """At once, with its name."""
        self.use(self.server.url_of("guarded", password=PASSWORD, database="elsewhere"))
        (told,) = refused("collections").complaints
        assert 'database "elsewhere" does not exist' in told
        assert "an administrator creates both once" in told

    def test_no_such_user(self, refused: Invoke) -> None:
        """As where the role was not created."""
        self.use(self.server.url_of("stranger"))
        (told,) = refused("collections").complaints
        assert 'role "stranger" does not exist' in told

    def test_a_server_without_encryption(self, refused: Invoke) -> None:
        """The address asks for it."""
        self.use(f"{self.server.url}?sslmode=require")
        (told,) = refused("collections").complaints
        assert f"Check sslmode in {DATABASE}" in told

    def test_a_database_without_pgvector(self, refused: Invoke) -> None:
        """The user may not install it: the statement is for an administrator."""
        self.use(self.server.new_database(extension=False))
        (told,) = refused("collections").complaints
        assert "permission denied to create extension" in told
        assert "let an administrator run: CREATE EXTENSION vector." in told

    def test_a_newer_schema(self, refused: Invoke, command: Invoke) -> None:
        """This version would misread it."""
        url = self.server.new_database()
        self.use(url)
        assert command("collections").code == 0
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE collection_search.schema_version SET version = 99")
        self.use(f"{url}?connect_timeout=3")  # as a new process: the open database is kept
        (told,) = refused("collections").complaints
        assert "written by a newer version of collection-search" in told
        assert "install that version" in told

    def test_no_server_at_the_port(self, refused: Invoke) -> None:
        """After some time, in which a server may start."""
        with closed_port() as port:
            self.use(f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/collections")
            (told,) = refused("collections").complaints
        assert f"127.0.0.1:{port}/collections cannot be used: Connection refused." in told
        assert "that the server runs" in told


@pytest.mark.parametrize(
    ("variable", "address"),
    [
        (DATABASE, f"postgresql://me:{PASSWORD}@1@127.0.0.1:9/name"),
        (DATABASE, f"postgresql://me:{PASSWORD}/1@127.0.0.1:9/name"),
        (DATABASE, f"postgresql://me:5%{PASSWORD}@127.0.0.1:9/name"),
        (BROKER, f"amqp://me:{PASSWORD}/1@127.0.0.1:9/"),
    ],
)
def test_a_password_that_is_not_encoded(
    variable: str, address: str, refused: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No part of it is taken for the host or the port, which messages name."""
    monkeypatch.setenv(variable, address)
    (told,) = refused("collections").complaints
    assert f"{variable}: give an address" in told
    assert "%2F for /" in told


@pytest.mark.parametrize("package", ["psycopg", "psycopg_pool"])
def test_without_psycopg(package: str, refused: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that installs it."""
    monkeypatch.setenv(DATABASE, SOMEWHERE)
    without(package, "stores.postgres", monkeypatch)
    (told,) = refused("collections").complaints
    assert "pip install 'collection-search[postgres]'" in told


def test_without_the_checkpointer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same extra has it."""
    without("langgraph.checkpoint.postgres.aio", "checkpoints.postgres", monkeypatch)
    with pytest.raises(MissingExtraError, match=r"pip install 'collection-search\[postgres\]'"):
        load_adapter("checkpoints", "postgres")


def test_without_celery(refused: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that installs it, and the way without it."""
    monkeypatch.setenv(BROKER, "amqp://me@127.0.0.1:9/")
    without("celery", "queues", monkeypatch)
    (told,) = refused("worker", "--engine", "celery").complaints
    assert "pip install 'collection-search[celery]'" in told
    assert f"{ENGINE}=local" in told


def test_celery_without_a_broker(refused: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is named."""
    monkeypatch.setenv(ENGINE, "celery")
    (told,) = refused("worker").complaints
    assert f"Set {BROKER}" in told


def test_celery_without_a_database(
    refused: Invoke, command: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers elsewhere would never see what waits in this machine's files."""
    monkeypatch.setenv(ENGINE, "celery")
    monkeypatch.setenv(BROKER, f"amqp://me:{PASSWORD}@127.0.0.1:9/")
    assert f"Set {DATABASE}" in refused("worker").complaints[0]
    ended = command("ingest", "add", "https://example.com/", "--collection", "c")
    assert (ended.code, len(ended.complaints)) == (5, 1)
    assert f"Set {DATABASE}" in ended.complaints[0]
    assert PASSWORD not in ended.err + ended.out


def test_an_engine_that_nobody_knows(refused: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The known ones are named."""
    monkeypatch.setenv(ENGINE, "rq")
    (told,) = refused("worker").complaints
    assert ENGINE in told
    assert "celery" in told
