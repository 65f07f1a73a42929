"""The nearest chunks: coded vectors find the candidates, their own vectors decide."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from collection_search.adapters.stores.sqlite.cosines import Comparison, RoughCosines

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = np.random.default_rng(3)
VECTORS = NUMBERS.standard_normal((500, 32)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
IDS = np.arange(500, dtype=np.int64) * 2 + 1
QUESTION = VECTORS[3]
EXACT = VECTORS @ QUESTION


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE chunks (id INTEGER PRIMARY KEY, vector BLOB)")
        rows = [(int(n), v.tobytes()) for n, v in zip(IDS, VECTORS, strict=True)]
        connection.executemany("INSERT INTO chunks VALUES (?, ?)", rows)
        yield connection


@pytest.mark.parametrize("limit", [1, 10, 40, 499, 500, 900])
def test_the_nearest_are_exact(connection: sqlite3.Connection, limit: int) -> None:
    """Whatever the error, as long as no value is wrong by more."""
    values = EXACT + NUMBERS.uniform(-0.02, 0.02, len(EXACT)).astype(np.float32)
    near = RoughCosines(IDS, values, limit=limit, error=0.04)
    near.sharpen(connection, QUESTION, [int(IDS[7]), 2, 5000])
    best = IDS[np.argsort(-EXACT)[:limit]].tolist()
    assert sorted(near.best(limit)) == sorted(best)
    found = near.of([*best, int(IDS[7]), 2, 5000])
    wanted = [float(EXACT[chunk // 2]) for chunk in best]
    assert found == pytest.approx([*wanted, float(EXACT[7]), 0, 0], abs=1e-6)


def test_exact_ones_are_not_read_again(connection: sqlite3.Connection) -> None:
    """They came from the database."""
    connection.execute("DROP TABLE chunks")
    near = RoughCosines(IDS, EXACT.copy(), limit=10)
    near.sharpen(connection, QUESTION, [1])
    assert near.best(1) == [7]


def test_what_fails_beside_is_raised_where_it_is_awaited() -> None:
    """Not in the thread, where nobody would hear of it."""

    def fail() -> RoughCosines:
        raise OSError("the disk fails")

    compared = Comparison.begun(IDS, fail)
    assert len(compared) == 500
    with pytest.raises(OSError, match="the disk fails"):
        compared.cosines()
    assert Comparison.begun(IDS, lambda: RoughCosines(IDS, EXACT, limit=1)).cosines().best(1) == [7]


def test_marks() -> None:
    """One byte for each id."""
    compared = Comparison(np.array([1, 3]), lambda: RoughCosines(IDS, EXACT, limit=1))
    assert compared.marks(5) == bytes([0, 1, 0, 1, 0])
