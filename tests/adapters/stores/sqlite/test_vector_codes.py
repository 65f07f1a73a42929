"""Codes of vectors: no sum leaves 16 bits, and the cosines are nearly right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collection_search.adapters.stores.sqlite.vector_codes import CodedQuestion, encode

FINITE = st.floats(-1, 1, width=32, allow_subnormal=False)


def cosines(vectors: np.ndarray, question: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Return the products as a matrix computes them."""
    codes, lengths = encode(vectors)
    coded = CodedQuestion.of(question)
    out = np.empty(len(vectors), dtype=np.int16)
    coded.compare(codes, out)
    return out * (lengths * np.float32(coded.unit))


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 40).flatmap(lambda size: arrays(np.float32, (3, size), elements=FINITE)))
def test_products_are_nearly_right(vectors: np.ndarray) -> None:  # type: ignore[type-arg]
    """By at most what roundings of all numbers add up to."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    for question in vectors:
        exact = vectors.astype(np.float64) @ question
        most = lengths * np.linalg.norm(question) * 0.013 * np.sqrt(vectors.shape[1])
        assert (np.abs(cosines(vectors, question) - exact) <= most + 1e-30).all()


@pytest.mark.parametrize("size", [1, 2, 384, 4096, 1 << 14])
def test_the_largest_product_fits(size: int) -> None:
    """That of a vector with itself, whether one number has all or each has the same."""
    for vector in (np.eye(1, size, dtype=np.float32)[0], np.full(size, size**-0.5, np.float32)):
        for sign in (1, -1):
            found = cosines(np.stack([vector, -vector]), sign * vector)
            assert found.tolist() == pytest.approx([sign, -sign], abs=0.3)


def test_vectors_without_a_direction() -> None:
    """Zeros are like nothing, very long ones keep their direction."""
    vectors = np.array([[0, 0], [1e30, 0]], dtype=np.float32)
    assert cosines(vectors, vectors[0]).tolist() == [0, 0]
    codes, lengths = encode(vectors)
    assert codes.T.tolist() == [[0, 0], [127, 0]]
    assert lengths.tolist() == [0, pytest.approx(1e30 / 127)]


@pytest.mark.parametrize(("length", "coded"), [(1e-30, 127), (1e-34, 127), (1e-37, 0)])
def test_very_short_vectors_keep_their_direction(length: float, coded: int) -> None:
    """Where float32 can hold the inverse of their length; shorter ones are like nothing."""
    vectors = np.array([[length, 0], [0, 1]], dtype=np.float32)
    codes, lengths = encode(vectors)
    assert codes.T.tolist() == [[coded, 0], [0, 127]]
    assert lengths.tolist() == pytest.approx([length / 127, 1 / 127])
