"""A PostgreSQL server for the tests of this folder, and a schema for each test."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from support.postgres_server import PostgresServer, postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collection_search.adapters.stores.postgres import PostgresStore


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def schema() -> str:
    return f"of_{uuid.uuid4().hex[:16]}"


@pytest.fixture
def store(server: PostgresServer, schema: str) -> Iterator[PostgresStore]:
    from collection_search.adapters.stores.postgres import PostgresStore

    store = PostgresStore(server.url, schema=schema)
    yield store
    store.close()
