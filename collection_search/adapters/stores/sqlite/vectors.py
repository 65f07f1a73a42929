"""Unit vectors as blobs, scanned as one matrix per collection."""

from __future__ import annotations

import heapq
import math
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from ....errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ....records import Vectors

COSINE_WEIGHT: Final = 0.7
"""Against 0.3 for BM25, both standardised: best of the fusions compared on seven labelled sets."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""Of all matrices kept; the one searched last is kept whatever its size."""
MAX_MATRICES: Final = 256
SCAN_ALL: Final = 0.25
"""Share of the vectors from which on all are compared."""


class _Matrix(NamedTuple):
    changes: int
    ids: NDArray[np.int64]
    """In rising order."""
    documents: NDArray[np.int64]
    vectors: Vectors

    @property
    def bytes(self) -> int:
        return self.ids.nbytes + self.documents.nbytes + self.vectors.nbytes


class Cosines:
    """How near the chunks of a collection are, -1 to 1, by chunk id."""

    def __init__(self, ids: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        self._ids = ids
        self._values = values

    def best(self, limit: int) -> list[int]:
        """Return the ids of the nearest; among equals the lowest ids."""
        import numpy as np

        ids, values = self._ids, self._values
        if 0 < limit < len(ids):
            least = np.partition(values, len(ids) - limit)[len(ids) - limit]
            above = np.flatnonzero(values > least)
            level = np.flatnonzero(values == least)[: limit - len(above)]
            ids = ids[np.concatenate([above, level])]
        return [int(chunk) for chunk in ids]

    def of(self, chunks: Sequence[int]) -> list[float]:
        """Return the cosine of each chunk, 0 for one that has none."""
        import numpy as np

        places = np.searchsorted(self._ids, chunks)
        return [
            float(self._values[place])
            if place < len(self._ids) and self._ids[place] == chunk
            else 0.0
            for place, chunk in zip(places, chunks, strict=True)
        ]

    def marks(self, size: int) -> bytes:
        """Return a byte for each id below `size`: 1 where it is one of these."""
        import numpy as np

        marks = np.zeros(size, dtype=np.uint8)
        marks[self._ids] = 1
        return marks.tobytes()

    def __len__(self) -> int:
        return len(self._ids)


class VectorCache:
    """The matrices of the collections searched last, each valid until its collection changes.

    As many as fit into `max_bytes`, and the last one.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._matrices: OrderedDict[int, _Matrix] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Return the size of what is kept."""
        with self._lock:
            return self._bytes()

    def _bytes(self) -> int:
        return sum(matrix.bytes for matrix in self._matrices.values())

    def cosines(
        self,
        connection: sqlite3.Connection,
        collection: int,
        vector: Vectors,
        documents: Sequence[int] | None = None,
    ) -> Cosines:
        """Return the cosines of the collection's chunks, all or those of these documents.

        Raises StoreError for a vector of another size than theirs.
        """
        import numpy as np

        _, ids, owners, vectors = matrix = self._matrix(connection, collection)
        if len(ids) and vectors.shape[1] != vector.size:
            raise StoreError(_other_size(connection, collection, vector, matrix.vectors))
        if not len(ids) or (documents is not None and not documents):
            return Cosines(ids[:0], np.zeros(0, dtype=np.float32))
        if documents is None:
            return Cosines(ids, vectors @ vector.reshape(-1))
        places = np.flatnonzero(np.isin(owners, np.asarray(documents)))
        if len(places) > len(ids) * SCAN_ALL:  # copying rows costs more than comparing them
            return Cosines(ids[places], (vectors @ vector.reshape(-1))[places])
        return Cosines(ids[places], vectors[places] @ vector.reshape(-1))

    def _matrix(self, connection: sqlite3.Connection, collection: int) -> _Matrix:
        changes = connection.execute(
            "SELECT changes FROM collections WHERE id = ?", (collection,)
        ).fetchone()["changes"]
        with self._lock:
            cached = self._matrices.get(collection)
            if cached is not None and cached.changes == changes:
                self._matrices.move_to_end(collection)
                return cached
            self._matrices.pop(collection, None)
        cached = None  # it is not to be in memory beside the one that comes
        loaded = _load(connection, collection, changes)
        with self._lock:
            self._matrices[collection] = loaded
            self._matrices.move_to_end(collection)
            while len(self._matrices) > 1 and (
                len(self._matrices) > MAX_MATRICES or self._bytes() > self._max_bytes
            ):
                self._matrices.popitem(last=False)
        return loaded


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


def fused(words: Mapping[int, float], near: Cosines, limit: int) -> dict[int, float]:
    """Return 0.7 z(cosine) + 0.3 z(BM25) of the `limit` best by words and the best by vectors.

    A chunk that shares no word with the question has BM25 0.

    >>> import numpy as np
    >>> fused({1: 2.0}, Cosines(np.array([1, 2, 3]), np.array([0.2, 0.8, 0.0])), limit=1)
    {1: -0.4, 2: 0.4}
    """
    best = heapq.nlargest(limit, words, key=words.__getitem__)
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


def _load(connection: sqlite3.Connection, collection: int, changes: int) -> _Matrix:
    """Read the vectors into one block, so that they are in memory once."""
    import numpy as np

    count, size = connection.execute(
        f"SELECT count(*), max(length(vector)) FROM {_OWN}", (collection,)
    ).fetchone()
    ids, owners = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    vectors = np.empty((count, (size or 0) // 4), dtype="<f4")
    rows = connection.execute(
        f"SELECT chunks.id, document_id, vector FROM {_OWN} ORDER BY chunks.id", (collection,)
    )
    for place, (chunk, document, blob) in enumerate(rows):
        ids[place], owners[place] = chunk, document
        vectors[place] = np.frombuffer(blob, dtype="<f4")
    return _Matrix(changes, ids, owners, vectors)


_OWN: Final = (
    "chunks JOIN documents ON documents.id = document_id"
    " WHERE collection_id = ? AND vector IS NOT NULL"
)
