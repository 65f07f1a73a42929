"""Vector indexes: an HNSW index of its own for every large collection, built beside the writes.

A small collection has none: the scan of its rows is exact and fast. The index of a collection
holds no rows of others, so their number and nearness do not matter to its recall.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....errors import StoreError

if TYPE_CHECKING:
    import psycopg

    from ..sql.connection import Connection
    from .database import PostgresDatabase

_LOG: Final = logging.getLogger(__name__)
INDEX_FROM: Final = 20_000
"""Chunks with vectors from which a collection gets an index."""
MAX_DIMENSIONS: Final = 4_000
"""More cannot be indexed in half precision."""
_NAME: Final = "chunks_near_"
_BUILD_MEMORY: Final = "512MB"

_INDEXES: Final = """
    SELECT relname AS name, indisvalid AS is_valid,
        CAST(split_part(relname, '_', 3) AS bigint) AS collection,
        CAST(split_part(relname, '_', 4) AS integer) AS dimensions
    FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = to_regclass('chunks') AND relname ~ '^chunks_near_[0-9]+_[0-9]+$'
"""
_SIZES: Final = """
    SELECT part, vector_dims(near) AS dimensions FROM chunks WHERE near IS NOT NULL
    GROUP BY part, dimensions HAVING count(*) >= %s AND vector_dims(near) <= %s
"""


class VectorIndex(NamedTuple):
    """The index over the vectors of one size in one collection."""

    collection: int
    dimensions: int

    @property
    def name(self) -> str:
        """Return the name of the index."""
        return f"{_NAME}{self.collection}_{self.dimensions}"

    @property
    def column(self) -> str:
        """Return the indexed expression."""
        return f"(near::halfvec({self.dimensions}))"

    @property
    def condition(self) -> str:
        """Return the condition that rows of the index fulfil; a query must repeat it literally."""
        return f"part = {self.collection} AND vector_dims(near) = {self.dimensions}"

    def is_valid(self, connection: Connection) -> bool:
        """Return whether the index is there and complete."""
        query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(?)"
        row = connection.execute(query, (self.name,)).fetchone()
        return row is not None and bool(row[0])

    def is_due(self, connection: Connection, index_from: int) -> bool:
        """Return whether the collection is large enough for an index."""
        if self.dimensions > MAX_DIMENSIONS:
            return False
        query = "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE part = ? LIMIT ?) AS counted"
        found = connection.execute(query, (self.collection, index_from)).fetchone()
        return bool(found[0] >= index_from)


class VectorIndexes:
    """The vector indexes of a database."""

    def __init__(self, database: PostgresDatabase, index_from: int = INDEX_FROM) -> None:
        self.index_from = index_from
        self._database = database
        self._lock = threading.Lock()
        self._builder: threading.Thread | None = None

    def build_in_background(self) -> None:
        """Start `build`, unless this process is at it."""
        with self._lock:
            if self._builder is None or not self._builder.is_alive():
                self._builder = threading.Thread(
                    target=self._try_to_build, name="vector-indexes", daemon=True
                )
                self._builder.start()

    def build(self) -> list[str]:
        """Build the indexes that are missing, drop those without use; return the built ones' names.

        Reads and writes go on meanwhile. An index that an ended build left incomplete is dropped
        and built again. Nothing is done while another process builds.
        """
        with self._database.outside_transaction() as connection:
            lock = "hashtextextended(current_schema(), 4)"
            if not _first(connection, f"SELECT pg_try_advisory_lock({lock})"):
                return []
            try:
                return self._build(connection)
            finally:
                if not connection.closed:
                    connection.execute(f"SELECT pg_advisory_unlock({lock})".encode())

    def _build(self, connection: psycopg.Connection[Any]) -> list[str]:
        connection.execute("SET collection_search.tenant = ''")
        try:
            wanted = self._wanted(connection)
            there = connection.execute(_INDEXES.encode()).fetchall()
            valid = {row["name"] for row in there if row["is_valid"]}
            for row in there:
                index = VectorIndex(row["collection"], row["dimensions"])
                if index not in wanted or index.name not in valid:
                    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}".encode())
            built = [index for index in wanted if index.name not in valid]
            for index in built:
                _create(connection, index)
        finally:
            if not connection.closed:
                connection.execute("RESET collection_search.tenant")
        return [index.name for index in built]

    def _wanted(self, connection: psycopg.Connection[Any]) -> list[VectorIndex]:
        rows = connection.execute(_SIZES.encode(), [self.index_from, MAX_DIMENSIONS])
        return sorted(VectorIndex(row["part"], row["dimensions"]) for row in rows)

    def _try_to_build(self) -> None:
        try:
            self.build()
        except StoreError as error:
            _LOG.warning("A vector index was not built, the search goes without it: %s", error)


def _create(connection: psycopg.Connection[Any], index: VectorIndex) -> None:
    connection.execute(f"SET maintenance_work_mem = '{_BUILD_MEMORY}'".encode())
    try:
        connection.execute(
            f"CREATE INDEX CONCURRENTLY {index.name} ON chunks"
            f" USING hnsw ({index.column} halfvec_cosine_ops) WHERE {index.condition}".encode()
        )
    finally:
        if not connection.closed:
            connection.execute("RESET maintenance_work_mem")


def _first(connection: psycopg.Connection[Any], query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]
