"""The vectors of one collection as of one change, coded block by block.

A matrix is never changed: `updated` makes the next one, which shares the blocks that stayed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from .stored_vectors import load_vectors
from .vector_blocks import BlockFile, HeldBlock, free_bytes
from .vector_codes import CodedQuestion, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .opening import SQLiteConnection
    from .vector_blocks import Block
    from .vector_codes import Codes, Lengths

    ChunkIds: TypeAlias = NDArray[np.int64]

BLOCK_ROWS: Final = 2048
"""Most vectors of a block: fewer take more calls, more do not stay in the cache of a core."""
FEW: Final = 0.1
"""Share of a block's vectors up to which they are picked out before they are compared."""
MAX_CHANGED: Final = 0.25
"""Share of the vectors from which it is quicker to read all of them anew."""
SPARE_BLOCKS: Final = 16
"""Blocks that a matrix may have beyond twice those that it needs."""


class Listing(NamedTuple):
    """Chunks by rising id, with the ids of their documents."""

    ids: ChunkIds
    owners: ChunkIds

    def only(self, kept: NDArray[np.bool_]) -> Listing:
        """Return the chunks that are kept."""
        return Listing(self.ids[kept], self.owners[kept])


@dataclass(frozen=True, eq=False)
class VectorMatrix:
    """Coded vectors by rising chunk id, as of one count of changes; safe for many threads.

    At first every search reads the vectors from the database. `held` keeps them in memory, `filed`
    on the disk.
    """

    collection: int
    changes: int
    documents: ChunkIds
    """Ids of all documents, rising."""
    rows: Listing
    size: int
    """Dimensions; 0 without vectors."""
    file: BlockFile | None = None  # before the blocks, since it goes before them
    blocks: Sequence[Block] = ()
    lengths: Lengths | None = None

    @classmethod
    def listed(cls, connection: SQLiteConnection, collection: int, changes: int) -> VectorMatrix:
        """Return a matrix that knows which vectors there are."""
        rows = _listed(connection, "collection_id = ?", collection)
        size = _size(connection, rows.ids)
        rows = rows if size else Listing(rows.ids[:0], rows.owners[:0])
        return cls(collection, changes, _documents(connection, collection), rows, size)

    @property
    def ids(self) -> ChunkIds:
        """Return the ids of the chunks, rising."""
        return self.rows.ids

    @property
    def bytes(self) -> int:
        """Return the bytes that the coded vectors have or would have."""
        return len(self.ids) * self.size

    @property
    def filed_bytes(self) -> int:
        """Return the bytes on the disk, with those between the vectors."""
        return 0 if self.file is None else self.file.size

    @property
    def loaded_bytes(self) -> int:
        """Return the bytes in memory."""
        facts = self.rows.ids.nbytes + self.rows.owners.nbytes
        facts += 0 if self.lengths is None else self.lengths.nbytes
        return facts + (self.bytes if self.blocks and self.file is None else 0)

    def held(self, connection: SQLiteConnection) -> VectorMatrix:
        """Return the matrix with its vectors in memory."""
        return self._filled(connection, None)

    def filed(
        self,
        connection: SQLiteConnection,
        folder: str,
        *,
        free: Callable[[str], int] = free_bytes,
    ) -> VectorMatrix:
        """Return the matrix with its vectors in a file in the folder. Raises OSError."""
        return self._filled(connection, BlockFile(folder, self.bytes, free=free))

    def _filled(self, connection: SQLiteConnection, file: BlockFile | None) -> VectorMatrix:
        blocks, lengths = _coded(connection, self.ids, self.size, _putter(file), [])
        return replace(self, file=file, blocks=blocks, lengths=lengths)

    def is_intact(self, connection: SQLiteConnection) -> bool:
        """Return whether the collection still has all that is in the matrix, and maybe more."""
        return self._count(connection) == len(self.documents)

    def _count(self, connection: SQLiteConnection) -> int:
        """Return how many documents the collection has had unchanged since."""
        row = connection.execute(
            "SELECT count(*) FROM documents WHERE collection_id = ? AND revision <= ?",
            (self.collection, self.changes),
        )
        return int(row.fetchone()[0])

    def updated(self, connection: SQLiteConnection, changes: int) -> VectorMatrix | None:
        """Return the matrix of a later change; None where all has to be read anew.

        What came is read from the database, what went is left out. Raises OSError when the disk
        fails, and where a process forked off would write to the file.
        """
        if not self.blocks or self.lengths is None:
            return None
        written = connection.execute(
            "SELECT id FROM documents WHERE collection_id = ? AND revision > ?",
            (self.collection, self.changes),
        )
        came = np.array([row[0] for row in written], dtype=np.int64)
        stayed = self.documents[~np.isin(self.documents, came)]
        if self._count(connection) != len(stayed):
            stayed = np.intersect1d(stayed, _documents(connection, self.collection))
        kept = np.isin(self.rows.owners, stayed)
        added = _listed(connection, "documents.id IN (SELECT value FROM json_each(?))", _json(came))
        changed = len(added.ids) + len(self.ids) - int(kept.sum())
        if changed > MAX_CHANGED * len(self.ids) or not self._joins(connection, kept, added):
            return None
        put, left = _putter(self.file), self._left(kept)
        blocks, lengths = _coded(connection, added.ids, self.size, put, left)
        if len(blocks) > 2 * (len(kept) // BLOCK_ROWS) + SPARE_BLOCKS:
            return None
        return replace(
            self,
            changes=changes,
            documents=np.sort(np.concatenate([stayed, came])),
            rows=Listing(*map(np.concatenate, zip(self.rows.only(kept), added, strict=True))),
            blocks=blocks,
            lengths=np.concatenate([self.lengths[kept], lengths]),
        )

    def _joins(self, connection: SQLiteConnection, kept: NDArray[np.bool_], added: Listing) -> bool:
        """Return whether the vectors that came have the same size, and the highest ids."""
        before = self.ids[kept]
        if not len(before) or not len(added.ids):
            return len(before) > 0
        return bool(added.ids[0] > before[-1]) and _size(connection, added.ids) == self.size

    def _left(self, kept: NDArray[np.bool_]) -> list[Block]:
        """Return the blocks with the kept vectors alone."""
        put = _putter(self.file)
        blocks: list[Block] = []
        for block, places in self._pieces():
            if kept[places].all():
                blocks.append(block)
            elif kept[places].any():
                codes = _read(block, self.size)[:, kept[places]]
                blocks.append(put(np.ascontiguousarray(codes)))
        return blocks

    def _pieces(self) -> Iterator[tuple[Block, slice]]:
        """Yield the blocks with the places of their vectors."""
        first = 0
        for block in self.blocks:
            yield block, slice(first, first + block.columns)
            first += block.columns

    def places(self, documents: Sequence[int]) -> NDArray[np.intp]:
        """Return the positions of the documents' rows, rising."""
        wanted = np.asarray(documents, dtype=np.int64)
        marks = np.zeros(
            max(wanted.max(initial=0), self.rows.owners.max(initial=0)) + 1, dtype=bool
        )
        marks[wanted] = True
        return np.flatnonzero(marks[self.rows.owners])

    def compare(
        self, vector: NDArray[np.float32], places: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.float32], float]:
        """Return the products with all rows, or with those at these places, and their error."""
        question = CodedQuestion.of(vector)
        products = np.zeros(len(self.ids), dtype=np.int16)
        widest = max((block.columns for block in self.blocks), default=0)
        room: Codes = np.empty(0 if self.file is None else widest * self.size, dtype=np.int8)
        wanted = None if places is None else np.zeros(len(self.ids), dtype=bool)
        if wanted is not None:
            wanted[places] = True
        for block, rows in self._pieces():
            chosen = None if wanted is None else np.flatnonzero(wanted[rows])
            if chosen is not None and not len(chosen):
                continue
            codes = block.read(room)
            if chosen is None or len(chosen) > FEW * block.columns:
                question.compare(codes, products[rows])
                continue
            few = np.empty(len(chosen), dtype=np.int16)
            question.compare(codes[:, chosen], few)
            products[rows][chosen] = few
        lengths = np.ones(0, dtype=np.float32) if self.lengths is None else self.lengths
        cosines = products.astype(np.float32)
        cosines *= lengths * np.float32(question.unit)
        error = question.error * float(lengths.max(initial=0))
        return (cosines if places is None else cosines[places]), error

    def scan(
        self,
        connection: SQLiteConnection,
        vector: NDArray[np.float32],
        places: NDArray[np.intp] | None = None,
    ) -> NDArray[np.float32]:
        """Return the exact products, read from the database."""
        ids = self.ids if places is None else self.ids[places]
        parts = [
            load_vectors(connection, ids[first : first + BLOCK_ROWS], self.size) @ vector
            for first in range(0, len(ids), BLOCK_ROWS)
        ]
        return np.concatenate([np.zeros(0, dtype=np.float32), *parts])


def _putter(file: BlockFile | None) -> Callable[[Codes], Block]:
    return HeldBlock if file is None else file.put


def _read(block: Block, size: int) -> Codes:
    return block.read(np.empty(size * block.columns, dtype=np.int8))


def _coded(
    connection: SQLiteConnection,
    ids: ChunkIds,
    size: int,
    put: Callable[[Codes], Block],
    before: Sequence[Block],
) -> tuple[list[Block], Lengths]:
    """Return the blocks with these vectors behind them, and what one of the codes is worth."""
    blocks, lengths = list(before), [np.zeros(0, dtype=np.float32)]
    for first in range(0, len(ids), BLOCK_ROWS):
        some = ids[first : first + BLOCK_ROWS]
        codes, more = encode(load_vectors(connection, some, size))
        if blocks and blocks[-1].columns + len(some) <= BLOCK_ROWS:
            codes = np.concatenate([_read(blocks.pop(), size), codes], axis=1)
        blocks.append(put(codes))
        lengths.append(more)
    return blocks, np.concatenate(lengths)


def _json(ids: ChunkIds) -> str:
    return json.dumps(ids.tolist())


def _documents(connection: SQLiteConnection, collection: int) -> ChunkIds:
    """Return the ids of the collection's documents, rising."""
    row = connection.execute(
        "SELECT json_group_array(id) FROM documents WHERE collection_id = ?", (collection,)
    )
    return np.sort(np.array(json.loads(row.fetchone()[0]), dtype=np.int64))


def _listed(connection: SQLiteConnection, condition: str, value: object) -> Listing:
    """Return the chunks of some documents: of a collection all or none have a vector."""
    rows = connection.cursor()
    rows.row_factory = None  # plain pairs
    rows.execute(
        "SELECT chunks.id, document_id FROM documents CROSS JOIN chunks"
        f" ON document_id = documents.id WHERE {condition}",
        (value,),
    )
    pairs = np.fromiter(rows, dtype=[("id", np.int64), ("document", np.int64)])
    order = np.argsort(pairs["id"], kind="stable")
    return Listing(pairs["id"][order], pairs["document"][order])


def _size(connection: SQLiteConnection, ids: ChunkIds) -> int:
    if not len(ids):
        return 0
    one = connection.execute("SELECT length(vector) FROM chunks WHERE id = ?", (int(ids[0]),))
    return int(one.fetchone()[0] or 0) // 4
