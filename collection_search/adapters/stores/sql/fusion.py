"""The fusion of two orders of chunks: by their words, and by their vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

COSINE_WEIGHT: Final = 0.7
"""Weight against 0.3 for BM25, both standardised: best of the compared fusions on seven sets."""


class Cosines:
    """The cosines of chunks, -1 to 1, by rising chunk id."""

    def __init__(self, ids: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        self._ids = ids
        self._values = values

    def best(self, limit: int) -> list[int]:
        """Return the ids of the nearest; among equals the lowest ids."""
        ids, values = self._ids, self._values
        if 0 < limit < len(ids):
            least = self._least(limit)
            above = np.flatnonzero(values > least)
            level = np.flatnonzero(values == least)[: limit - len(above)]
            ids = ids[np.concatenate([above, level])]
        return [int(chunk) for chunk in ids]

    def of(self, chunks: Sequence[int]) -> list[float]:
        """Return the cosine of each chunk, 0 for one that has none."""
        if not len(self):
            return [0.0] * len(chunks)
        wanted = np.asarray(chunks, dtype=np.int64)
        places = np.searchsorted(self._ids, wanted)
        places[places == len(self._ids)] = 0
        found = self._ids[places] == wanted
        return list(np.where(found, self._values[places], 0.0).tolist())

    def _least(self, limit: int) -> np.float32:
        values = self._values
        least: np.float32 = np.partition(values, len(values) - limit)[len(values) - limit]
        return least

    def __len__(self) -> int:
        return len(self._ids)


def fuse_scores(words: Mapping[int, float], near: Cosines, limit: int) -> dict[int, float]:
    """Return 0.7 z(cosine) + 0.3 z(BM25) of the `limit` best by words and the best by vectors.

    `words` is BM25, the best first. A chunk that shares no word with the question has BM25 0.

    >>> near = Cosines(np.array([1, 2, 3]), np.array([0.2, 0.8, 0.0]))
    >>> fuse_scores({1: 2.0}, near, limit=1)
    {1: -0.4, 2: 0.4}
    """
    best = list(words)[:limit]
    if not len(near):
        return {chunk: words[chunk] for chunk in best}
    pool = sorted({*best, *near.best(limit)})
    cosines = _standardised(near.of(pool))
    said = _standardised([words.get(chunk, 0.0) for chunk in pool])
    return {
        chunk: round(COSINE_WEIGHT * cosine + (1 - COSINE_WEIGHT) * bm25, 9)
        for chunk, cosine, bm25 in zip(pool, cosines, said, strict=True)
    }


def _standardised(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread else 0.0 for value in values]
