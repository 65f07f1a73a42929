"""Cosines between the chunks of a collection and a question's vector."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from ..sql.fusion import Cosines
from .stored_vectors import load_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from .opening import SQLiteConnection


class RoughCosines(Cosines):
    """Cosines that may be a little wrong, until they are sharpened."""

    def __init__(
        self,
        ids: NDArray[np.int64],
        values: NDArray[np.float32],
        *,
        limit: int,
        error: float = 0.0,
    ) -> None:
        """Find the candidates for the `limit` nearest; few values are wrong by half of `error`.

        One of the nearest is missed only among many chunks that are equally near but for `error`.
        """
        super().__init__(ids, values)
        self._is_exact = not error
        least = self._least(limit) - error if 0 < limit < len(ids) else -np.inf
        self._candidates = np.flatnonzero(values >= least)

    def sharpen(
        self, connection: SQLiteConnection, vector: NDArray[np.float32], chunks: Iterable[int]
    ) -> None:
        """Read the vectors of these chunks and of the candidates.

        From then on their cosines are exact, and so is which ones are the nearest.
        """
        if self._is_exact:
            return
        places = np.union1d(self._candidates, self._places([*chunks]))
        stored = load_vectors(connection, self._ids[places], vector.size)
        self._values[places] = np.einsum("ij,j->i", stored, vector)  # BLAS would wake its threads

    def best(self, limit: int) -> list[int]:
        """Return the ids of the nearest, at most as many as there were to be candidates for."""
        candidates = self._candidates
        return Cosines(self._ids[candidates], self._values[candidates]).best(limit)

    def _places(self, chunks: Sequence[int]) -> NDArray[np.intp]:
        """Return the places of those of the chunks that have a cosine."""
        wanted = np.asarray(chunks, dtype=np.int64)
        places = np.searchsorted(self._ids, wanted)
        places = places[places < len(self._ids)]
        return places[np.isin(self._ids[places], wanted)]


class Comparison:
    """The cosines of chunks, perhaps not computed yet."""

    def __init__(self, ids: NDArray[np.int64], cosines: Callable[[], RoughCosines]) -> None:
        self._ids = ids
        self._cosines = cosines

    @classmethod
    def begun(cls, ids: NDArray[np.int64], compare: Callable[[], RoughCosines]) -> Comparison:
        """Return a comparison that computes in a thread of its own, while words are searched."""
        future: Future[RoughCosines] = Future()

        def run() -> None:
            try:
                future.set_result(compare())
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                future.set_exception(error)

        Thread(target=run, name="cosines", daemon=True).start()
        return cls(ids, future.result)

    def cosines(self) -> RoughCosines:
        """Return the cosines when they are there. Raises what the computing raised."""
        return self._cosines()

    def marks(self, size: int) -> bytes:
        """Return a byte for each id below `size`: 1 where it is one of these."""
        marks = np.zeros(size, dtype=np.uint8)
        marks[self._ids] = 1
        return marks.tobytes()

    def __len__(self) -> int:
        return len(self._ids)
