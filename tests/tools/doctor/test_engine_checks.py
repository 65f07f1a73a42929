"""The doctor's lines for the database and for the broker of Celery."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from support.damaged_file import damage_table
from support.ports import closed_port
from support.postgres_server import (
    NEEDS_POSTGRES,
    REQUIRED,
    PostgresServer,
    postgres_server,
)
from support.rabbitmq_server import is_installed, rabbitmq_server

from collection_search import Settings
from collection_search.adapters.checkpoints.sqlite import SQLiteCheckpoints
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.run_history import SQLiteRuns
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.runtime import disk_room
from collection_search.tools.doctor.checks import check_queue, check_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.tools.doctor.finding import Finding

    Damage = Callable[[Path], object]

LIMIT_S = 60.0
PASSWORD = "very-secret-word"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        server.require_password("guarded", PASSWORD)
        yield server


async def stored(url: str, home: Path) -> Finding:
    """Return the finding about a database, which never has the password."""
    settings = Settings(home=home, database_url=url)
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert PASSWORD not in str(finding.as_json())
    assert finding.name == "postgres"
    return finding


async def test_a_full_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collections can be read, so that only the free bytes tell it."""
    settings = Settings(home=tmp_path)
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert finding.state == "ok"
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert finding.state == "failed"
    assert finding.detail.endswith("its disk is full")
    assert finding.next_step.startswith("Free space there")


DAMAGES: list[tuple[str, Damage]] = [
    ("runs.db", lambda path: path.write_bytes(b"no database " * 1000)),
    ("usage.db", lambda path: path.write_bytes(path.read_bytes()[:-4096])),
    ("checkpoints.db", lambda path: path.write_bytes(path.read_bytes()[:4096] + b"x" * 8192)),
]


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """Return a data folder that has every file."""
    settings = Settings(home=tmp_path)
    SQLiteStore.from_settings(settings).close()
    SQLiteRuns.from_settings(settings).close()
    SQLiteUsage.from_settings(settings).close()
    async with SQLiteCheckpoints.from_settings(settings).open():
        pass
    return tmp_path


def contents(home: Path) -> dict[str, bytes]:
    """Return the files beside the collections."""
    files = [path for path in home.iterdir() if "collections" not in path.name]
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
async def test_a_damaged_file_beside_the_collections_fails(
    home: Path, name: str, damage: Damage
) -> None:
    """It is named, with what can be done; no file is made or changed."""
    settings = Settings(home=home)
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert finding.state == "ok", finding.detail
    assert finding.detail.endswith("0 collections of local")
    damage(home / name)
    before = contents(home)
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert finding.state == "failed"
    said = f"The database {home / name} is damaged or no SQLite database. Restore a backup"
    assert said in finding.detail
    assert contents(home) == before


@pytest.mark.parametrize("table", ["chunks", "gates", "ledger"])
async def test_a_damaged_file_of_collections_fails(home: Path, table: str) -> None:
    """Its list of collections can still be read."""
    settings = Settings(home=home)
    damage_table(home / "collections.db", table)
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert finding.state == "failed"
    said = f"The database {home}/collections.db is damaged or no SQLite database. Restore a backup"
    assert said in finding.detail


async def test_files_in_use_and_missing_files_are_well(tmp_path: Path) -> None:
    """A server has them open; none is made."""
    settings = Settings(home=tmp_path)
    usage = SQLiteUsage.from_settings(settings)
    usage.reserve("brave", "k", period="2026-01", limit=5)
    finding = await check_store(settings, tenant="local", limit_s=LIMIT_S)
    assert finding.state == "ok", finding.detail
    assert not (tmp_path / "runs.db").exists()
    assert not (tmp_path / "checkpoints.db").exists()
    usage.close()


class TestStore:
    """A real server."""

    pytestmark = NEEDS_POSTGRES

    async def test_an_ordinary_role(self, server: PostgresServer, tmp_path: Path) -> None:
        """Versions are told, and nothing is advised."""
        url = server.new_database()
        finding = await stored(url, tmp_path)
        assert (finding.state, finding.reachable, finding.next_step) == ("ok", True, "")
        place, _, versions = finding.detail.partition("; ")
        assert place.endswith("/collection_search, 0 collections of local")
        assert place.startswith("127.0.0.1:")
        assert versions.startswith("PostgreSQL ")
        assert ", pgvector 0." in versions
        assert versions.endswith(", schema version 2, created now")
        again = await stored(f"{url}?connect_timeout=9", tmp_path)  # as another process
        assert again.detail.endswith(", schema version 2")

    async def test_a_superuser(self, server: PostgresServer, tmp_path: Path) -> None:
        """Row-level security does not bind it."""
        database = server.new_database().rpartition("/")[2]
        finding = await stored(server.url_of("postgres", database=database), tmp_path)
        assert finding.state == "ok"
        assert finding.next_step.startswith("The role is a superuser, whom row-level security")
        assert "NOSUPERUSER NOBYPASSRLS" in finding.next_step

    async def test_a_role_that_row_level_security_does_not_bind(
        self, server: PostgresServer, tmp_path: Path
    ) -> None:
        """As one that was made for backups."""
        url = server.new_database()
        await stored(url, tmp_path)
        database = url.rpartition("/")[2]
        with psycopg.connect(server.url_of("postgres", database=database)) as connection:
            connection.execute("CREATE ROLE unbound LOGIN BYPASSRLS IN ROLE collections")
        finding = await stored(server.url_of("unbound", database=database), tmp_path)
        assert finding.state == "ok"
        assert finding.next_step.startswith("The role has BYPASSRLS")

    async def test_a_table_whose_owner_is_not_bound(
        self, server: PostgresServer, tmp_path: Path
    ) -> None:
        """As after a restore of the tables without their policies' force."""
        url = server.new_database()
        await stored(url, tmp_path)
        with psycopg.connect(url) as connection:
            connection.execute(
                "ALTER TABLE collection_search.documents NO FORCE ROW LEVEL SECURITY"
            )
        finding = await stored(url, tmp_path)
        assert "does not bind their owner (documents)" in finding.next_step

    async def test_a_newer_schema(self, server: PostgresServer, tmp_path: Path) -> None:
        """The version to install is told."""
        url = server.new_database()
        await stored(url, tmp_path)
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE collection_search.schema_version SET version = 99")
        finding = await stored(f"{url}?connect_timeout=9", tmp_path)
        assert finding.state == "failed"
        assert "schema version 99, not 2" in finding.detail

    async def test_a_wrong_password(self, server: PostgresServer, tmp_path: Path) -> None:
        """The password is not shown."""
        finding = await stored(server.url_of("guarded", password=f"{PASSWORD}-2"), tmp_path)
        assert finding.state == "failed"
        assert "password authentication failed" in finding.detail


@pytest.mark.slow
async def test_no_server_at_the_port(tmp_path: Path) -> None:
    """Its address and the variable are told."""
    with closed_port() as port:
        finding = await stored(f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/x", tmp_path)
    assert finding.state == "failed"
    assert f"127.0.0.1:{port}/x cannot be used: Connection refused." in finding.detail
    assert "Check COLLECTION_SEARCH_DATABASE_URL" in finding.detail


async def queued(home: Path, **more: Any) -> Finding:
    """Return the finding about a broker, which never has the password."""
    given = {"database_url": "postgresql://me@127.0.0.1:9/name", "ingest_engine": "celery", **more}
    finding = await check_queue(Settings(home=home, **given), limit_s=LIMIT_S)
    assert PASSWORD not in str(finding.as_json())
    return finding


async def test_a_broker_that_is_not_set(tmp_path: Path) -> None:
    """The variable is named."""
    finding = await queued(tmp_path)
    assert finding.state == "failed"
    assert "Set COLLECTION_SEARCH_BROKER_URL" in finding.detail


async def test_a_database_that_is_not_set(tmp_path: Path) -> None:
    """Workers have nothing in common then."""
    finding = await queued(tmp_path, broker_url="amqp://me@127.0.0.1:9/", database_url=None)
    assert finding.state == "failed"
    assert "Set COLLECTION_SEARCH_DATABASE_URL" in finding.detail


async def test_a_broker_that_is_down(tmp_path: Path) -> None:
    """Host and port are named."""
    with closed_port() as port:
        finding = await queued(tmp_path, broker_url=f"amqp://me:{PASSWORD}@127.0.0.1:{port}/")
    assert finding.state == "failed"
    assert f"The message broker 127.0.0.1:{port} cannot be used" in finding.detail


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.skipif(
    not is_installed() and not REQUIRED, reason="needs Debian's package rabbitmq-server"
)
async def test_a_broker_that_answers(tmp_path: Path) -> None:
    """Its queues are there afterwards."""
    with rabbitmq_server() as broker:
        finding = await queued(tmp_path, broker_url=broker.url)
        place = broker.url.rpartition("@")[2]
        wrong = await queued(tmp_path, broker_url=f"amqp://guest:{PASSWORD}@{place}")
    assert wrong.state == "failed"
    assert "Login was refused" in wrong.detail
    assert (finding.state, finding.reachable) == ("ok", True)
    assert finding.detail == "its queues are declared, and 0 messages wait"
