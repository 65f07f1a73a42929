"""Cosines between the chunks of a collection and a question's vector."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from .stored_vectors import load_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from .opening import SQLiteConnection


class Cosines:
    """The cosines of chunks, -1 to 1, by rising chunk id."""

    def __init__(
        self, ids: NDArray[np.int64], values: NDArray[np.float32], *, error: float = 0.0
    ) -> None:
        self._ids = ids
        self._values = values
        self._error = error
        """The most that a value is wrong by."""

    def best(self, limit: int) -> list[int]:
        """Return the ids of the nearest; among equals the lowest ids."""
        ids, values = self._ids, self._values
        if 0 < limit < len(ids):
            least = self._least(limit)
            above = np.flatnonzero(values > least)
            level = np.flatnonzero(values == least)[: limit - len(above)]
            ids = ids[np.concatenate([above, level])]
        return [int(chunk) for chunk in ids]

    def sharpen(
        self,
        connection: SQLiteConnection,
        vector: NDArray[np.float32],
        chunks: Iterable[int],
        limit: int,
    ) -> None:
        """Read the vectors of these chunks, and of all that may be among the nearest.

        From then on their cosines are exact, and so is which ones are the nearest.
        """
        if not self._error:
            return
        doubt = self._values >= (self._least(limit) - self._error if limit < len(self) else -np.inf)
        places = np.union1d(np.flatnonzero(doubt), self._places([*chunks]))
        stored = load_vectors(connection, self._ids[places], vector.size)
        self._values[places] = np.einsum("ij,j->i", stored, vector)  # BLAS would wake its threads

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

    def _places(self, chunks: Sequence[int]) -> NDArray[np.intp]:
        """Return the places of those of the chunks that have a cosine."""
        wanted = np.asarray(chunks, dtype=np.int64)
        places = np.searchsorted(self._ids, wanted)
        places = places[places < len(self._ids)]
        return places[np.isin(self._ids[places], wanted)]

    def __len__(self) -> int:
        return len(self._ids)


class Comparison:
    """The cosines of chunks, perhaps not computed yet."""

    def __init__(self, ids: NDArray[np.int64], cosines: Callable[[], Cosines]) -> None:
        self._ids = ids
        self._cosines = cosines

    @classmethod
    def begun(cls, ids: NDArray[np.int64], compare: Callable[[], Cosines]) -> Comparison:
        """Return a comparison that computes in a thread of its own, while words are searched."""
        future: Future[Cosines] = Future()

        def run() -> None:
            try:
                future.set_result(compare())
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                future.set_exception(error)

        Thread(target=run, name="cosines", daemon=True).start()
        return cls(ids, future.result)

    def cosines(self) -> Cosines:
        """Return the cosines when they are there. Raises what the computing raised."""
        return self._cosines()

    def marks(self, size: int) -> bytes:
        """Return a byte for each id below `size`: 1 where it is one of these."""
        marks = np.zeros(size, dtype=np.uint8)
        marks[self._ids] = 1
        return marks.tobytes()

    def __len__(self) -> int:
        return len(self._ids)
