"""HNSW indexes of large collections in PostgreSQL: built, used, mended and dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import psycopg
import pytest
from support.postgres_server import NEEDS_POSTGRES
from support.waiting import wait_until

from collection_search.adapters.stores.postgres.collections import PostgresCollections
from collection_search.adapters.stores.postgres.database import PostgresDatabase
from collection_search.contracts.collection import TenantScope
from collection_search.testing.stores.suite import chunks, document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.postgres_server import PostgresServer

    from collection_search.contracts.collection import StoredChunk, Vectors

pytestmark = NEEDS_POSTGRES
SIZE: Final = 16
FROM: Final = 300
BIG, SMALL = TenantScope("one", "big"), TenantScope("two", "small")


@pytest.fixture
def database(server: PostgresServer, schema: str) -> Iterator[PostgresDatabase]:
    database = PostgresDatabase(server.url, schema=schema)
    yield database
    database.close()


@pytest.fixture
def collections(database: PostgresDatabase) -> PostgresCollections:
    return PostgresCollections(database, clock=lambda: 0.0, index_from=FROM)


def fill(collections: PostgresCollections, scope: TenantScope, pages: int, seed: int) -> Vectors:
    """Store pages of ten chunks each; return the vectors of all."""
    drawn = np.random.default_rng(seed).normal(size=(pages * 10, SIZE)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    collections.bind_embedder(scope, "model:16")
    for page in range(pages):
        texts = [f"{scope.collection} {page} {place}" for place in range(10)]
        vectors = drawn[page * 10 : page * 10 + 10]
        told = document(f"{page}", str(page), provider="even" if page % 2 == 0 else "odd")
        collections.replace_document(scope, told, chunks(*texts, vectors=vectors))
    return drawn


def places(found: list[StoredChunk]) -> set[int]:
    return {int(one.document.url_key.split("/")[1]) * 10 + one.chunk.ordinal for one in found}


def nearest(stored: Vectors, asked: Vectors, limit: int) -> set[int]:
    return {int(place) for place in np.argsort(-(stored @ asked), kind="stable")[:limit]}


def index_states(database: PostgresDatabase) -> dict[str, bool]:
    """Return whether each vector index is valid, by its name."""
    with database.read(None) as connection:
        rows = connection.execute(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid"
            " WHERE indrelid = to_regclass('chunks') AND relname LIKE 'chunks_near_%'"
        )
        return {row["relname"]: row["indisvalid"] for row in rows}


def scans(database: PostgresDatabase, index: str) -> int:
    """Return how often the index was used, as PostgreSQL's statistics have it."""
    with database.read(None) as connection:
        query = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelid = to_regclass(?)"
        return int(connection.execute(query, (index,)).fetchone()[0])


def leave_incomplete(server: PostgresServer, schema: str, name: str) -> None:
    """Leave an index as a build does that ends before it is complete."""
    options = f"-c search_path={schema},public"
    column = f"(near::halfvec({SIZE})) halfvec_cosine_ops"
    build = f"CREATE INDEX CONCURRENTLY {name} ON chunks USING hnsw ({column})"
    with (
        psycopg.connect(server.url, options=options, autocommit=True) as builder,
        psycopg.connect(server.url, options=options) as writer,
    ):
        writer.execute("LOCK TABLE chunks IN ROW EXCLUSIVE MODE")  # the build waits for its end
        builder.execute("SET lock_timeout = 100")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            builder.execute(build.encode())


def test_a_large_collection_gets_an_index_and_its_search_uses_it(
    collections: PostgresCollections, database: PostgresDatabase
) -> None:
    """The tenant is an ordinary user under row-level security."""
    stored = fill(collections, BIG, 60, seed=1)
    fill(collections, SMALL, 3, seed=2)
    assert index_states(database) == {}
    (name,) = collections.vector_indexes.build()
    assert index_states(database) == {name: True}
    assert collections.vector_indexes.build() == []
    asked = stored[17]
    found = collections.search(BIG, "zzz", vector=asked, limit=10)
    assert len(places(found) & nearest(stored, asked, 10)) >= 9
    wait_until(lambda: scans(database, name) > 0)


def test_a_search_starts_the_build_beside_it(
    collections: PostgresCollections, database: PostgresDatabase
) -> None:
    stored = fill(collections, BIG, 30, seed=1)
    found = collections.search(BIG, "zzz", vector=stored[3], limit=5)
    assert places(found) == nearest(stored, stored[3], 5)
    wait_until(lambda: list(index_states(database).values()) == [True])


def test_a_small_collection_in_a_big_table_finds_exactly_its_own(
    collections: PostgresCollections, database: PostgresDatabase
) -> None:
    fill(collections, BIG, 60, seed=1)
    stored = fill(collections, SMALL, 4, seed=2)
    collections.vector_indexes.build()
    for asked in stored:
        found = collections.search(SMALL, "zzz", vector=asked, limit=5)
        assert places(found) == nearest(stored, asked, 5)
        assert all(one.chunk.text.startswith("small") for one in found)


def test_a_filter_that_few_chunks_fit_finds_all_of_these(
    collections: PostgresCollections, database: PostgresDatabase
) -> None:
    stored = fill(collections, BIG, 60, seed=1)
    collections.vector_indexes.build()
    only = {"url_prefix": "https://example.com/59"}
    found = collections.search(BIG, "zzz", vector=-stored[590], limit=10, filters=only)
    assert places(found) == set(range(590, 600))
    half = collections.search(BIG, "zzz", vector=stored[0], limit=10, filters={"provider": "odd"})
    assert {one.document.provenance["provider"] for one in half} == {"odd"}
    assert len(half) == 10


def test_an_invalid_index_is_built_again(
    server: PostgresServer,
    schema: str,
    collections: PostgresCollections,
    database: PostgresDatabase,
) -> None:
    """A build that is ended leaves an index that PostgreSQL does not use."""
    stored = fill(collections, BIG, 40, seed=1)
    with database.read(None) as connection:
        part = connection.execute("SELECT DISTINCT part FROM chunks").fetchone()[0]
    name = f"chunks_near_{part}_{SIZE}"
    leave_incomplete(server, schema, name)
    assert index_states(database) == {name: False}
    found = collections.search(BIG, "zzz", vector=stored[0], limit=5)
    assert places(found) == nearest(stored, stored[0], 5)
    wait_until(lambda: index_states(database) == {name: True})


def test_the_index_of_a_deleted_collection_is_dropped(
    collections: PostgresCollections, database: PostgresDatabase
) -> None:
    fill(collections, BIG, 30, seed=1)
    collections.vector_indexes.build()
    collections.delete_collection(BIG)
    assert collections.vector_indexes.build() == []
    assert index_states(database) == {}


def test_nothing_is_built_while_another_process_builds(
    collections: PostgresCollections, database: PostgresDatabase
) -> None:
    fill(collections, BIG, 30, seed=1)
    lock = "hashtextextended(current_schema(), 4)"
    with database.outside_transaction() as connection:
        connection.execute(f"SELECT pg_advisory_lock({lock})".encode())
        assert collections.vector_indexes.build() == []
        connection.execute(f"SELECT pg_advisory_unlock({lock})".encode())
    assert len(collections.vector_indexes.build()) == 1
