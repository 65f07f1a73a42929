"""Measure what a chunk takes in PostgreSQL, and an HNSW index over its vector in half precision.

`python benchmarks/database_size.py URL [--chunks 20000] [--sizes 384 768 1536]` prints a line for
each number of dimensions. It works in a schema of its own in that database, and drops it.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import psycopg
from psycopg import sql
from retrieval_texts import PER_DOCUMENT, Texts, documents

from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.contracts.collection import TenantScope

SCHEMA: Final = "bench_size"
SCOPE: Final = TenantScope("bench", "all")
WORDS: Final = 150
"""Words of seven letters: a chunk of 1,200 characters, as by default."""
_RELATIONS: Final = (
    "SELECT pg_relation_size('chunks'), pg_table_size('chunks') - pg_relation_size('chunks'),"
    " pg_relation_size('chunks_by_words'),"
    " pg_indexes_size('chunks') - pg_relation_size('chunks_by_words')"
)


class Taken(NamedTuple):
    """Bytes of a chunk by where they are, and how fast it was written."""

    rows: float
    beside: float
    """Long values, which PostgreSQL stores apart from the row."""
    words: float
    keys: float
    hnsw: float
    per_s: float
    build_s: float


def measure(url: str, size: int, count: int) -> Taken:
    """Return what that many chunks with vectors of that size take."""
    store = PostgresStore(url, schema=SCHEMA)
    try:
        begun = time.perf_counter()
        _fill(store, size, count)
        filled_s = time.perf_counter() - begun
    finally:
        store.close()
    options = f"-c search_path={SCHEMA},public -c collection_search.tenant="
    with psycopg.connect(url, options=options, autocommit=True) as connection:
        found = connection.execute(_RELATIONS).fetchone()
        assert found is not None
        begun = time.perf_counter()
        hnsw = _build(connection, size)
        build_s = time.perf_counter() - begun
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(SCHEMA)))
    sizes = (taken / count for taken in (*found, hnsw))
    return Taken(*sizes, per_s=count / filled_s, build_s=build_s)


def _fill(store: PostgresStore, size: int, count: int) -> None:
    texts, numbers = Texts(), np.random.default_rng(7)
    store.collections.bind_embedder(SCOPE, f"bench:{size}")
    for page, chunks in documents(texts, count // PER_DOCUMENT, vectors=False):
        rows = numbers.standard_normal((len(chunks), size)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        whole = [
            replace(chunk, text=texts.text(WORDS), vector=row)
            for chunk, row in zip(chunks, rows, strict=True)
        ]
        store.collections.replace_document(SCOPE, page, whole)


def _build(connection: psycopg.Connection[Any], size: int) -> int:
    """Build the index, and return its bytes."""
    connection.execute("SET maintenance_work_mem = '512MB'")
    connection.execute(
        "CREATE INDEX bench_hnsw ON chunks"
        f" USING hnsw ((near::halfvec({size})) halfvec_cosine_ops)".encode()
    )
    row = connection.execute("SELECT pg_relation_size('bench_hnsw')").fetchone()
    assert row is not None
    return int(row[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[384, 768, 1536])
    given = parser.parse_args()
    print(
        "| dimensions | row | beside it | words | keys | HNSW | chunks/s written | HNSW built, s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for size in given.sizes:
        taken = measure(given.url, size, given.chunks)
        cells = [f"{one:,.0f}" for one in taken[:-1]]
        print(f"| {size} | {' | '.join(cells)} | {taken.build_s:.1f} |", flush=True)


if __name__ == "__main__":
    main()
