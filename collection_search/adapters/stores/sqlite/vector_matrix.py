"""The vectors of one collection, compared block by block: memory does not grow with them.

A large matrix is a copy in a file without a name, which the system's page cache keeps warm or
forgets as it likes. The file is gone with the process, or when its matrix is.
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
"""Read at once, so that a core's own cache still holds them when they are compared."""
GAP_BYTES: Final = 32 * 1024
"""Between rows that are wanted: reading fewer costs less than another call."""
SCAN_ALL: Final = 0.25
"""Share of a matrix in memory from which on all of it is compared."""
FREE_SHARE: Final = 0.5
"""Of the free disk that a file may take: the database has to grow as well."""


def free_bytes(folder: str) -> int:
    """Return what is free on the disk of a folder."""
    return shutil.disk_usage(folder).free


class VectorMatrix:
    """Vectors by rising chunk id, as they were at one count of changes; for many threads.

    At first they are still in the database, from which every search reads them. `load` takes them
    into memory, `file` onto the disk.
    """

    def __init__(self, connection: sqlite3.Connection, collection: int, changes: int) -> None:
        self.changes = changes
        self.ids, self._owners = _listed(connection, collection)
        self.size = _size(connection, self.ids)
        self.bytes = len(self.ids) * self.size * 4
        self.filed = 0
        """Bytes on the disk."""
        self._held: Vectors | None = None
        self._file = -1
        self._folder = ""

    @property
    def loaded_bytes(self) -> int:
        """Return the bytes in memory."""
        vectors = 0 if self._held is None else self.bytes
        return self.ids.nbytes + self._owners.nbytes + vectors

    def load(self, connection: sqlite3.Connection) -> None:
        """Take the vectors into memory."""
        vectors: Vectors = np.empty((len(self.ids), self.size), dtype="<f4")
        for first in range(0, len(vectors), self._step):
            self._stored(connection, first, vectors[first : first + self._step])
        self._held = vectors

    def file(
        self,
        connection: sqlite3.Connection,
        folder: str,
        *,
        free: Callable[[str], int] = free_bytes,
    ) -> None:
        """Copy the vectors into a file there. Raises OSError when it does not take them."""
        if not hasattr(os, "preadv"):
            raise OSError(errno.ENOSYS, "this system cannot read at a place of a file")
        if self.bytes > free(folder) * FREE_SHARE:
            raise OSError(errno.ENOSPC, f"less than twice {self.bytes} bytes are free")
        with ExitStack() as stack:  # nameless, for this user alone
            file = stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, self.bytes)  # what is full says so now
            room: Vectors = np.empty((min(self._step, len(self.ids)), self.size), dtype="<f4")
            for first in range(0, len(self.ids), self._step):
                block = room[: len(self.ids) - first]
                self._stored(connection, first, block)
                _whole(os.pwrite(file.fileno(), block.data, first * self.size * 4), block)
            weakref.finalize(self, stack.pop_all().close)
        self.filed, self._file, self._folder = self.bytes, file.fileno(), folder

    def places(self, documents: Sequence[int]) -> NDArray[np.intp]:
        """Return where the rows of these documents are, rising."""
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
        """Return the products with all rows, or with those at these places."""
        held = self._held
        if held is None:
            if places is None:
                return self._scanned(connection, vector, [(0, len(self.ids))])
            pieces, among = pieces_of(places, gap=GAP_BYTES // (4 * self.size))
            return self._scanned(connection, vector, pieces)[among]
        if places is None:
            return held @ vector
        if len(places) > len(held) * SCAN_ALL:  # copying rows costs more than comparing them
            return (held @ vector)[places]
        return held[places] @ vector

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
        """Rows of a block: sixteens, as the product takes them."""
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
    """Return the ids of the chunks that have a vector, rising, and their documents'."""
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
    """Return pieces that hold all places, and where in the joined pieces these are.

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
