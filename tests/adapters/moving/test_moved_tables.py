"""Rows as PostgreSQL stores them."""

from __future__ import annotations

import numpy as np

from collection_search.adapters.moving.moved_tables import TABLES, Digest, to_target

BY_NAME = {table.name: table for table in TABLES}


def test_values_become_those_of_postgresql() -> None:
    """Truth values, the character NUL, and answers of old files, which are texts."""
    names = ("id", "refresh", "title", "payload")
    row = (1, 1, "a\0b", "old")
    assert to_target(BY_NAME["ledger"], names, row) == (1, True, "a\ufffdb", b"old")


def test_a_chunk_gets_its_collection_stems_and_half_vector() -> None:
    vector = np.array([1.0, 0.5], dtype="<f4").tobytes()
    row = (7, vector, 3, "tea", "hot tea")
    made = to_target(BY_NAME["chunks"], ("id", "vector"), row)
    assert made == (7, vector, 3, "[1,0.5]", "'hot':2 'tea':1A,3", 3)


def test_a_changed_or_doubled_row_changes_the_digest() -> None:
    def digest(*rows: tuple[object, ...]) -> Digest:
        made = Digest()
        for row in rows:
            made.add(row)
        return made

    one, other = (1, "a", None, b"x", 1.5), (2, "a", None, b"x", 1.5)
    assert digest(one, other) == digest(other, one)
    assert digest(one, one) != digest(one, other)
    assert digest(one) != digest(one, one)
    assert digest((1, "None")) != digest((1, None))
