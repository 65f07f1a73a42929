"""Cosines between the chunks of a collection and a question's vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Cosines:
    """The cosines of chunks, -1 to 1, by rising chunk id."""

    def __init__(self, ids: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        self._ids = ids
        self._values = values

    def best(self, limit: int) -> list[int]:
        """Return the ids of the nearest; among equals the lowest ids."""
        ids, values = self._ids, self._values
        if 0 < limit < len(ids):
            least = np.partition(values, len(ids) - limit)[len(ids) - limit]
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

    def marks(self, size: int) -> bytes:
        """Return a byte for each id below `size`: 1 where it is one of these."""
        marks = np.zeros(size, dtype=np.uint8)
        marks[self._ids] = 1
        return marks.tobytes()

    def __len__(self) -> int:
        return len(self._ids)
