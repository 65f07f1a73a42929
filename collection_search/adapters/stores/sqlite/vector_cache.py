"""Cache of the collections' vectors, in memory and in files."""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections import OrderedDict
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from ....errors import StoreError
from ..sql.vector_blobs import other_size, require_finite
from .cosines import Comparison, RoughCosines
from .vector_codes import MAX_SIZE
from .vector_matrix import VectorMatrix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ....contracts.collection import Vectors
    from .database import Database
    from .opening import SQLiteConnection

SMALL_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of a matrix in memory: 87,000 vectors of 384. A file takes twice the time."""
MAX_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of all matrices in memory."""
MAX_FILED_BYTES: Final = 2 * 1024**3
"""Most bytes of all files: 5.5 million vectors of 384."""
SPARE_BYTES: Final = 16 * 1024 * 1024
"""Bytes that a file may have beyond twice those of its vectors."""
ALONE_BYTES: Final = 2 * 1024 * 1024
"""Bytes from which a matrix is compared in a thread of its own: that takes longer to start."""
MAX_MATRICES: Final = 256
LOADS: Final = 16
"""Number of locks, so that a matrix is read once; two collections may share one."""
_NO_ROOM: Final = "Make room there, or set COLLECTION_SEARCH_HOME to another folder."
_TOO_MANY: Final = "Divide the collection, or embed it anew with fewer dimensions."

logger = logging.getLogger(__name__)


class VectorCache:
    """The matrices of the collections searched last, each as of one change of its collection.

    A search of a changed collection updates its matrix. One that has what its collection lost is
    dropped by the next search of any other collection.

    Those of up to `small_bytes` are in memory, `max_bytes` of them. Larger ones are in nameless
    files beside the database, `max_filed_bytes` of them; where these do not fit or cannot be, each
    search reads the vectors from the database. A process forked off begins with none.
    """

    def __init__(
        self,
        *,
        small_bytes: int = SMALL_BYTES,
        max_bytes: int = MAX_BYTES,
        max_filed_bytes: int = MAX_FILED_BYTES,
    ) -> None:
        self._small_bytes, self._max_bytes = small_bytes, max_bytes
        self._max_filed_bytes = max_filed_bytes
        self._deletions = 0
        self.begin_anew()
        _CACHES.add(self)

    def begin_anew(self) -> None:
        """Have no matrices, and locks that nobody holds."""
        self._matrices: OrderedDict[int, VectorMatrix] = OrderedDict()
        self._intact: dict[int, tuple[int, int]] = {}
        """By collection: the change of its matrix, and a later one that took nothing from it."""
        self._lock = threading.RLock()
        self._filing = threading.Lock()
        self._loading = [threading.Lock() for _ in range(LOADS)]

    @property
    def bytes(self) -> int:
        """Return the size of all matrices in memory."""
        with self._lock:
            return sum(matrix.loaded_bytes for matrix in self._matrices.values())

    @property
    def filed_bytes(self) -> int:
        """Return the size of the files."""
        with self._lock:
            return sum(matrix.filed_bytes for matrix in self._matrices.values())

    def forget(self) -> None:
        """Drop all matrices; a running search may still use its own."""
        with self._lock:
            self._matrices.clear()
            self._intact.clear()

    def forget_deleted(self, database: Database) -> None:
        """Drop what holds deleted vectors; to be called when a deletion is committed."""
        with self._lock:
            self._deletions += 1
        with database.read() as connection:
            self._drop_outdated(connection)

    @contextmanager
    def reading(self, database: Database) -> Iterator[SQLiteConnection]:
        """Open a transaction for a search; drop what a deletion meanwhile has outdated."""
        before = self._deletions
        try:
            with database.read() as connection:
                yield connection
        finally:
            if self._deletions != before:
                with database.read() as connection:
                    self._drop_outdated(connection)

    def compare(
        self,
        connection: SQLiteConnection,
        collection: int,
        vector: Vectors,
        documents: Sequence[int] | None = None,
        *,
        limit: int,
    ) -> Comparison:
        """Return the cosines of the collection's chunks, all or those of these documents.

        `limit` is how many of the nearest are wanted.

        Raises StoreError for a vector of another size than theirs, or one that is not finite.
        """
        one = require_finite(vector).reshape(-1)
        self._drop_outdated(connection, but=collection)
        matrix = self._matrix(connection, collection)
        if len(matrix.ids) and matrix.size != one.size:
            raise StoreError(other_size(connection, collection, one.size, matrix.size))
        places = None if documents is None else matrix.places(documents)
        ids = matrix.ids if places is None else matrix.ids[places]

        def coded() -> RoughCosines:
            values, error = matrix.compare(one, places)
            return RoughCosines(ids, values, limit=limit, error=error)

        if not matrix.blocks:
            exact = RoughCosines(ids, matrix.scan(connection, one, places), limit=limit)
            return Comparison(ids, lambda: exact)
        if len(ids) * matrix.size < ALONE_BYTES:
            return Comparison(ids, coded)
        return Comparison.begun(ids, coded)

    def _matrix(self, connection: SQLiteConnection, collection: int) -> VectorMatrix:
        changes = connection.execute(
            "SELECT changes FROM collections WHERE id = ?", (collection,)
        ).fetchone()["changes"]
        found = self._cached(collection)
        if found is not None and found.changes == changes:
            return found
        with self._loading[collection % LOADS]:  # who comes second finds what the first has read
            found = self._cached(collection)
            if found is not None and found.changes == changes:
                return found
            if found is None or found.changes > changes:
                return self._load(connection, collection, changes)
            return self._update(connection, found, changes)

    def _cached(self, collection: int) -> VectorMatrix | None:
        with self._lock:
            found = self._matrices.get(collection)
            if found is not None:
                self._matrices.move_to_end(collection)
            return found

    def _update(
        self, connection: SQLiteConnection, found: VectorMatrix, changes: int
    ) -> VectorMatrix:
        """Return the matrix with what came since, and without what went."""
        with self._filing if found.file else nullcontext():
            updated = None
            with suppress(OSError):
                updated = found.updated(connection, changes)
            if updated is not None and self._may_stay(updated):
                self._keep(found.collection, updated)
                return updated
        return self._load(connection, found.collection, changes)

    def _may_stay(self, updated: VectorMatrix) -> bool:
        """Return whether a matrix is not too large for where it is, nor its file for the matrix."""
        if updated.file is None:
            return updated.bytes <= self._small_bytes
        return updated.filed_bytes <= min(self._max_filed_bytes, 2 * updated.bytes + SPARE_BYTES)

    def _load(self, connection: SQLiteConnection, collection: int, changes: int) -> VectorMatrix:
        with self._lock:
            self._matrices.pop(collection, None)  # not to be there beside the one that comes
        matrix = VectorMatrix.listed(connection, collection, changes)
        if matrix.size > MAX_SIZE:
            return matrix
        if matrix.bytes <= self._small_bytes:
            self._make_room(matrix.loaded_bytes + matrix.bytes, 0)
            matrix = matrix.held(connection)
            self._keep(collection, matrix)
            return matrix
        with self._filing:  # one by one, so that each finds the room that the others left
            matrix = self._filed(connection, matrix)
            self._keep(collection, matrix)
        return matrix

    def _keep(self, collection: int, matrix: VectorMatrix) -> None:
        with self._lock:
            self._matrices.pop(collection, None)
            self._make_room(matrix.loaded_bytes, matrix.filed_bytes)  # others came meanwhile
            self._matrices[collection] = matrix

    def _drop_outdated(self, connection: SQLiteConnection, but: int | None = None) -> None:
        """Drop the matrices that have what their collection has no more, or that is gone."""
        with self._lock:
            known = {one: matrix for one, matrix in self._matrices.items() if one != but}
        rows = connection.execute(
            "SELECT id, changes FROM collections WHERE deleted_at IS NULL"
            " AND id IN (SELECT value FROM json_each(?))",
            (json.dumps([*known]),),
        )
        changes = {row["id"]: row["changes"] for row in rows}
        for collection, matrix in known.items():
            last = changes.get(collection)
            if last is not None and self._has_nothing_more(connection, matrix, last):
                continue
            with self._lock:
                self._intact.pop(collection, None)
                if self._matrices.get(collection) is matrix:
                    del self._matrices[collection]

    def _has_nothing_more(
        self, connection: SQLiteConnection, matrix: VectorMatrix, last: int
    ) -> bool:
        """Return whether the collection, as of its last change, has all that is in the matrix."""
        found = matrix.changes, last
        if matrix.changes >= last or self._intact.get(matrix.collection) == found:
            return True
        is_intact = matrix.is_intact(connection)
        if is_intact:
            self._intact[matrix.collection] = found
        return is_intact

    def _make_room(self, loaded: int, filed: int) -> None:
        """Drop the least recently used matrices until so many bytes more are within the limits."""
        with self._lock:
            cached = self._matrices
            loaded += sum(matrix.loaded_bytes for matrix in cached.values())
            filed += sum(matrix.filed_bytes for matrix in cached.values())
            for collection, matrix in list(cached.items()):
                crowded = loaded > self._max_bytes or len(cached) >= MAX_MATRICES
                if crowded or (matrix.file and filed > self._max_filed_bytes):
                    loaded, filed = loaded - matrix.loaded_bytes, filed - matrix.filed_bytes
                    del cached[collection]
                    self._intact.pop(collection, None)

    def _filed(self, connection: SQLiteConnection, matrix: VectorMatrix) -> VectorMatrix:
        """Return the matrix in a file, or as it is where there can be none."""
        database = connection.execute("PRAGMA database_list").fetchone()["file"]
        if matrix.bytes > self._max_filed_bytes:
            limit = f"all files together may take {self._max_filed_bytes >> 20}"
            _warn(matrix, database, limit, _TOO_MANY)
            return matrix
        self._make_room(matrix.loaded_bytes, matrix.bytes)
        try:
            if not database:
                raise FileNotFoundError(errno.ENOENT, "the database is in memory")
            return matrix.filed(connection, str(Path(database).parent))
        except OSError as error:
            _warn(matrix, database, str(error), _NO_ROOM)
            return matrix


def _warn(matrix: VectorMatrix, database: str, reason: str, advice: str) -> None:
    logger.warning(
        "Searching by vectors is slower, since no file of %d MiB can be kept beside %s (%s). %s",
        matrix.bytes >> 20,
        database,
        reason,
        advice,
    )


_CACHES: Final[WeakSet[VectorCache]] = WeakSet()


def _begin_anew() -> None:
    for cache in _CACHES:
        cache.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
