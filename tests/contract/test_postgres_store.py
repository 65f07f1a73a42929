"""PostgreSQL passes the suites that every store passes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from support.counted_rows import CountedRowsContract
from support.postgres_server import NEEDS_POSTGRES, PostgresServer, postgres_server

from collection_search.testing.stores import (
    CollectionStoreContract,
    ComparisonStoreContract,
    GateStoreContract,
    LedgerContract,
    StagingContract,
)
from collection_search.testing.stores.server_runs import RunStoreContract
from collection_search.testing.stores.usage import UsageContract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.adapters.stores.postgres import PostgresStore
    from collection_search.adapters.stores.postgres.run_history import PostgresRuns
    from collection_search.adapters.stores.postgres.usage import PostgresUsage

pytestmark = NEEDS_POSTGRES


class _Served:
    server: ClassVar[PostgresServer]


class _Postgres(_Served):
    def storage(self, folder: Path, **options: Any) -> PostgresStore:
        from collection_search.adapters.stores.postgres import PostgresStore

        return PostgresStore(self.server.url, schema=schema_of(folder), **options)


@pytest.fixture(scope="module", autouse=True)
def _served() -> Iterator[None]:
    with postgres_server() as _Served.server:
        yield


def schema_of(folder: Path) -> str:
    """Return the name of a schema for each folder."""
    return f"of_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


class TestPostgresStaging(_Postgres, StagingContract):
    """Staged texts in PostgreSQL."""


class TestPostgresLedger(_Postgres, LedgerContract):
    """The ledger in PostgreSQL."""


class TestPostgresCounts(_Postgres, CountedRowsContract):
    """The ledger's rows in PostgreSQL, counted for monitoring."""


class TestPostgresCollections(_Postgres, CollectionStoreContract):
    """Collections in PostgreSQL."""


class TestPostgresComparisons(_Postgres, ComparisonStoreContract):
    """Comparisons in PostgreSQL."""


class TestPostgresGates(_Postgres, GateStoreContract):
    """Gates in PostgreSQL."""

    def source(self, folder: Path) -> str:
        return (
            "from collection_search.adapters.stores.postgres import PostgresStore\n"
            f"gates = PostgresStore({self.server.url!r}, schema={schema_of(folder)!r}).gates"
        )


class TestPostgresUsage(_Served, UsageContract):
    """Quotas, answers and spending in PostgreSQL."""

    def usage(self, folder: Path, *, clock: Callable[[], float]) -> PostgresUsage:
        from collection_search.adapters.stores.postgres.usage import PostgresUsage

        return PostgresUsage(self.server.url, schema=schema_of(folder), clock=clock)

    def source(self, folder: Path) -> str:
        return (
            "from collection_search.adapters.stores.postgres.usage import PostgresUsage\n"
            f"usage = PostgresUsage({self.server.url!r}, schema={schema_of(folder)!r})"
        )


class TestPostgresRuns(_Served, RunStoreContract):
    """The server's runs in PostgreSQL."""

    def open_runs(self, folder: Path, *, clock: Callable[[], float]) -> PostgresRuns:
        from collection_search.adapters.stores.postgres.run_history import PostgresRuns

        return PostgresRuns(self.server.url, schema=schema_of(folder), clock=clock)


def test_the_database_tells_the_time_of_leases(tmp_path: Path) -> None:
    """Servers agree on the end of a lease although the clocks of their hosts differ."""
    import psycopg

    from collection_search.adapters.stores.postgres.run_history import PostgresRuns

    store = PostgresRuns(_Served.server.url, schema=schema_of(tmp_path))
    store.renew("me", lease_s=100)
    query = f"SELECT until - extract(epoch FROM clock_timestamp()) FROM {schema_of(tmp_path)}.run_leases"
    with psycopg.connect(_Served.server.url) as connection:
        left = connection.execute(query).fetchone()
    store.close()
    assert left is not None
    assert 0 < left[0] <= 100
