"""Unit vectors as blobs, scanned as one matrix per collection."""

from __future__ import annotations

import statistics
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from ....errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ....records import Vectors

COSINE_WEIGHT: Final = 0.7
"""Against 0.3 for BM25, both standardised: best of the fusions compared on seven labelled sets."""
MAX_MATRICES: Final = 8


class _Matrix(NamedTuple):
    changes: int
    ids: list[int]
    vectors: Vectors


class VectorCache:
    """The matrices of the collections searched last, each valid until its collection changes."""

    def __init__(self) -> None:
        self._matrices: OrderedDict[int, _Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def cosines(
        self, connection: sqlite3.Connection, collection: int, vector: Vectors
    ) -> dict[int, float]:
        """Return the cosine, -1 to 1, of every chunk of the collection, by chunk id.

        Raises StoreError for a vector of another size than theirs.
        """
        matrix = self._matrix(connection, collection)
        if not matrix.ids:
            return {}
        if matrix.vectors.shape[1] != vector.size:
            raise StoreError(_other_size(connection, collection, vector, matrix.vectors))
        return dict(zip(matrix.ids, (matrix.vectors @ vector.reshape(-1)).tolist(), strict=True))

    def _matrix(self, connection: sqlite3.Connection, collection: int) -> _Matrix:
        changes = connection.execute(
            "SELECT changes FROM collections WHERE id = ?", (collection,)
        ).fetchone()["changes"]
        with self._lock:
            cached = self._matrices.get(collection)
        if cached is None or cached.changes != changes:
            cached = _load(connection, collection, changes)
        with self._lock:
            self._matrices[collection] = cached
            self._matrices.move_to_end(collection)
            while len(self._matrices) > MAX_MATRICES:
                self._matrices.popitem(last=False)
        return cached


def _other_size(
    connection: sqlite3.Connection, collection: int, asked: Vectors, stored: Vectors
) -> str:
    row = connection.execute("SELECT * FROM collections WHERE id = ?", (collection,)).fetchone()
    return (
        f"The vectors of collection {row['name']!r} have {stored.shape[1]} dimensions, that of the"
        f" question has {asked.size}: {row['embedder']} has changed. Embed the collection anew:"
        f" collection-search collections reembed {row['name']!r}."
    )


def to_blob(vector: NDArray[np.float32] | None) -> bytes | None:
    """Return the vector as little-endian float32."""
    return None if vector is None else vector.astype("<f4").tobytes()


def from_blob(blob: bytes | None) -> NDArray[np.float32] | None:
    """Return the vector, read-only."""
    if blob is None:
        return None
    import numpy as np

    return np.frombuffer(blob, dtype="<f4")


def fused(words: Mapping[int, float], cosines: Mapping[int, float], limit: int) -> dict[int, float]:
    """Return 0.7 z(cosine) + 0.3 z(BM25) of the `limit` best by words and the best by vectors.

    A chunk that shares no word with the question has BM25 0.

    >>> fused({1: 2.0}, {1: 0.2, 2: 0.8, 3: 0.0}, limit=1)
    {1: -0.4, 2: 0.4}
    """
    if not cosines:
        return dict(_best(words, limit))
    pool = sorted({*_best(words, limit), *_best(cosines, limit)})
    near = _standardised([cosines.get(chunk, 0.0) for chunk in pool])
    said = _standardised([words.get(chunk, 0.0) for chunk in pool])
    return {
        chunk: round(COSINE_WEIGHT * cosine + (1 - COSINE_WEIGHT) * bm25, 9)
        for chunk, cosine, bm25 in zip(pool, near, said, strict=True)
    }


def _best(scores: Mapping[int, float], limit: int) -> dict[int, float]:
    import heapq

    return {key: scores[key] for key in heapq.nlargest(limit, scores, key=scores.__getitem__)}


def _standardised(values: Iterable[float]) -> list[float]:
    values = list(values)
    spread = statistics.pstdev(values)
    mean = statistics.fmean(values)
    return [(value - mean) / spread if spread else 0.0 for value in values]


def _load(connection: sqlite3.Connection, collection: int, changes: int) -> _Matrix:
    import numpy as np

    rows = connection.execute(
        "SELECT chunks.id, vector FROM chunks JOIN documents ON documents.id = document_id"
        " WHERE collection_id = ? AND vector IS NOT NULL ORDER BY chunks.id",
        (collection,),
    ).fetchall()
    ids = [row["id"] for row in rows]
    flat = np.frombuffer(b"".join(row["vector"] for row in rows), dtype="<f4")
    return _Matrix(changes, ids, flat.reshape(len(ids), -1) if ids else flat.reshape(0, 0))
