"""The vectors of one collection, compared block by block: memory does not grow with them.

A large matrix is a copy in a file without a name, for the system's page cache to manage. The file
is gone with the process, or with its matrix.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import numpy as np

from ....errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ....contracts.collection import Vectors

BLOCK_BYTES: Final = 1536 * 1024
"""Bytes of one read: they fit into the cache of a core until they are compared."""
GAP_BYTES: Final = 32 * 1024
"""Gap between wanted rows that is read, too: that costs less than another call."""
SCAN_ALL: Final = 0.25
"""Share of wanted rows from which a matrix in memory is compared as a whole."""
FREE_SHARE: Final = 0.5
"""Share of the free disk that a file may take: the database has to grow as well."""


def free_bytes(folder: str) -> int:
    """Return the free bytes on the disk of a folder."""
    return shutil.disk_usage(folder).free


class VectorMatrix:
    """Vectors by rising chunk id, as of one count of changes; safe for many threads.

    At first every search reads them from the database. `load` copies them into memory, `file` onto
    the disk.
    """

    def __init__(self, connection: sqlite3.Connection, collection: int, changes: int) -> None:
        self.changes = changes
        self.ids, self._owners = _listed(connection, collection)
        self.size = _size(connection, self.ids)
        self.bytes = len(self.ids) * self.size * 4
        self.filed = 0
        """Bytes on the disk."""
        self._loaded: Vectors | None = None
        self._file = -1
        self._folder = ""

    @property
    def loaded_bytes(self) -> int:
        """Return the bytes in memory."""
        vectors = 0 if self._loaded is None else self.bytes
        return self.ids.nbytes + self._owners.nbytes + vectors

    def load(self, connection: sqlite3.Connection) -> None:
        """Copy the vectors into memory."""
        vectors: Vectors = np.empty((len(self.ids), self.size), dtype="<f4")
        for first in range(0, len(vectors), self._step):
            self._stored(connection, first, vectors[first : first + self._step])
        self._loaded = vectors

    def file(
        self,
        connection: sqlite3.Connection,
        folder: str,
        *,
        free: Callable[[str], int] = free_bytes,
    ) -> None:
        """Copy the vectors into a file in the folder. Raises OSError when that fails."""
        if not hasattr(os, "preadv"):
            raise OSError(errno.ENOSYS, "this system cannot read at a place of a file")
        if self.bytes > free(folder) * FREE_SHARE:
            raise OSError(errno.ENOSPC, f"less than twice {self.bytes} bytes are free")
        with ExitStack() as stack:  # nameless, for this user alone
            file = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, self.bytes)  # a full disk fails here
            room: Vectors = np.empty((min(self._step, len(self.ids)), self.size), dtype="<f4")
            for first in range(0, len(self.ids), self._step):
                block = room[: len(self.ids) - first]
                self._stored(connection, first, block)
                _whole(os.pwrite(file.fileno(), block.data, first * self.size * 4), block)
            weakref.finalize(self, stack.pop_all().close)
        self.filed, self._file, self._folder = self.bytes, file.fileno(), folder

    def places(self, documents: Sequence[int]) -> NDArray[np.intp]:
        """Return the positions of the documents' rows, rising."""
        wanted = np.asarray(documents, dtype=np.int64)
        marks = np.zeros(max(wanted.max(initial=0), self._owners.max(initial=0)) + 1, dtype=bool)
        marks[wanted] = True
        return np.flatnonzero(marks[self._owners])

    def compare(
        self,
        connection: sqlite3.Connection,
        vector: NDArray[np.float32],
        places: NDArray[np.intp] | None = None,
    ) -> NDArray[np.float32]:
        """Return the products of the vector with all rows, or with those at these places."""
        loaded = self._loaded
        if loaded is None:
            if places is None:
                return self._scanned(connection, vector, [(0, len(self.ids))])
            pieces, among = pieces_of(places, gap=GAP_BYTES // (4 * self.size))
            return self._scanned(connection, vector, pieces)[among]
        if places is None:
            return loaded @ vector
        if len(places) > len(loaded) * SCAN_ALL:  # copying rows costs more than comparing them
            return (loaded @ vector)[places]
        return loaded[places] @ vector

    def _scanned(
        self,
        connection: sqlite3.Connection,
        vector: NDArray[np.float32],
        pieces: Sequence[tuple[int, int]],
    ) -> NDArray[np.float32]:
        values = np.empty(sum(count for _, count in pieces), dtype=np.float32)
        buffer: Vectors = np.empty((min(self._step, len(values)), self.size), dtype="<f4")
        done = filled = 0
        for start, count in pieces:
            first, last = start, start + count
            while first < last:
                taken = min(last - first, len(buffer) - filled)
                self._read(connection, first, buffer[filled : filled + taken])
                first, filled = first + taken, filled + taken
                if filled == len(buffer):
                    np.dot(buffer, vector, out=values[done : done + filled])
                    done, filled = done + filled, 0
        np.dot(buffer[:filled], vector, out=values[done:])
        return values

    @property
    def _step(self) -> int:
        """Return the rows of a block, a multiple of 16 for a fast product."""
        return max(1, BLOCK_BYTES // (64 * max(1, self.size))) * 16

    def _read(self, connection: sqlite3.Connection, first: int, room: Vectors) -> None:
        if not self.filed:
            self._stored(connection, first, room)
            return
        try:
            _whole(os.preadv(self._file, [room.data], first * self.size * 4), room)
        except OSError as error:
            raise StoreError(
                f"The disk fails: a file of vectors in {self._folder} cannot be read ({error})."
                " Check the disk, or set COLLECTION_SEARCH_HOME to another folder."
            ) from error

    def _stored(self, connection: sqlite3.Connection, first: int, room: Vectors) -> None:
        ids = json.dumps(self.ids[first : first + len(room)].tolist())
        rows = connection.execute(
            "SELECT vector FROM chunks WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (ids,),
        )
        joined = b"".join(row[0] for row in rows)
        room[:] = np.frombuffer(joined, dtype="<f4").reshape(room.shape)


def _whole(moved: int, room: Vectors) -> None:
    if moved != room.nbytes:
        raise OSError(errno.EIO, f"only {moved} of {room.nbytes} bytes were moved")


def _listed(
    connection: sqlite3.Connection, collection: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of the chunks that have a vector, rising, and of their documents."""
    rows = connection.cursor()
    rows.row_factory = None  # plain pairs
    rows.execute(
        "SELECT chunks.id, document_id FROM chunks JOIN documents ON documents.id = document_id"
        " WHERE collection_id = ? AND vector IS NOT NULL ORDER BY chunks.id",
        (collection,),
    )
    pairs = np.fromiter(rows, dtype=[("id", np.int64), ("document", np.int64)])
    return pairs["id"].copy(), pairs["document"].copy()


def _size(connection: sqlite3.Connection, ids: NDArray[np.int64]) -> int:
    if not len(ids):
        return 0
    one = connection.execute("SELECT length(vector) FROM chunks WHERE id = ?", (int(ids[0]),))
    return int(one.fetchone()[0]) // 4


def pieces_of(
    places: NDArray[np.intp], *, gap: int
) -> tuple[list[tuple[int, int]], NDArray[np.intp]]:
    """Return pieces that cover all places, and the positions of the places in them.

    A piece is its first place and its length. Between two pieces lie more than `gap` places.

    >>> import numpy as np
    >>> pieces, among = pieces_of(np.array([3, 4, 6, 20, 21]), gap=1)
    >>> pieces, among.tolist()
    ([(3, 4), (20, 2)], [0, 1, 3, 4, 5])
    """
    if not len(places):
        return [], places
    breaks = np.flatnonzero(np.diff(places) > gap + 1) + 1
    firsts = places[np.concatenate([[0], breaks])]
    counts = places[np.concatenate([breaks - 1, [-1]])] - firsts + 1
    shifts = np.cumsum(counts) - counts - firsts
    rows = np.diff(breaks, prepend=0, append=len(places))
    return list(zip(firsts.tolist(), counts.tolist(), strict=True)), places + np.repeat(
        shifts, rows
    )
