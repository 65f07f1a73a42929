"""What an embedder's vectors must be."""

from __future__ import annotations

import pytest

from collection_search.adapters.embeddings.batches import unit_vectors
from collection_search.errors import ModelError


@pytest.mark.parametrize(
    "rows", [[[1.0], [1.0, 2.0]], [["one"]], [[10**400]], [1.0], [[float("nan")]], [[0.0]]]
)
def test_rows_that_are_no_vectors_are_refused(rows: list[object]) -> None:
    """Whatever an endpoint may send: of two lengths, words, too large, flat, or without length."""
    with pytest.raises(ModelError, match=r"^The model gave "):
        unit_vectors(rows, count=1, subject="The model")
