"""Search for chunks by their words and vectors, among the documents that fit a filter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....errors import StoreError
from ..sql.chunk_search import best_chunks, wanted_stems
from ..sql.documents import PAGE_COLUMNS
from ..sql.fusion import Cosines, fuse_scores
from ..sql.vector_blobs import other_size, require_finite, to_blob
from .document_rows import to_halfvec
from .filters import build_filter
from .vector_index import VectorIndex
from .word_search import WordSearch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ....contracts.collection import Filters, StoredChunk, Vectors
    from ..sql.connection import Connection, Row
    from .filters import DocumentFilter
    from .word_search import CollectionSizes

WORD_POOL: Final = 200
"""Chunks whose words are compared when vectors order them too."""
_CHUNK_COLUMNS: Final = (
    'chunks.id, ordinal, start, "end", vector, text, headings, page, table_header'
)
_SPARE: Final = 2
"""Nearest chunks by half precision, as a multiple of those whose exact cosine is wanted."""

_EF_SEARCH: Final = 200
"""Nearest chunks that a step through the index compares."""
_MAX_EF_SEARCH: Final = 1_000
"""pgvector's own limit."""
_MAX_SCANNED: Final = 20_000
"""Chunks of the index after which a filter that few fit is left to the scan of the rows."""


def find_chunks(
    connection: Connection,
    sizes: CollectionSizes,
    collection: int,
    question: str,
    vector: Vectors | None,
    *,
    limit: int,
    filters: Filters | None,
) -> list[StoredChunk]:
    """Return the collection's best chunks: by BM25, with a vector 0.7 z(cosine) + 0.3 z(BM25)."""
    wanted = build_filter(filters)
    stems = wanted_stems(question, WordSearch(connection, sizes, collection, []).knows)
    words = WordSearch(connection, sizes, collection, stems)
    if vector is None:
        scores = words.best(limit, wanted)
    else:
        said = words.best(max(limit, WORD_POOL), wanted)
        asked = require_finite(vector).reshape(-1)
        _check_size(connection, collection, asked.size)
        near = _nearest(connection, collection, asked, wanted, _SPARE * limit)
        scores = fuse_scores(said, _cosines(connection, {*near, *said}, asked), limit)
    return best_chunks(scores, limit, partial(_rows, connection, collection))


def _nearest(
    connection: Connection, collection: int, asked: Vectors, wanted: DocumentFilter, limit: int
) -> list[int]:
    """Return the ids of about as many of the nearest chunks as half precision can tell."""
    index = VectorIndex(collection, asked.size)
    if index.is_valid(connection):
        found = _indexed(connection, index, asked, wanted, limit)
        if len(found) == limit:
            return found
    return _scanned(connection, collection, asked, wanted, limit)


def _indexed(
    connection: Connection, index: VectorIndex, asked: Vectors, wanted: DocumentFilter, limit: int
) -> list[int]:
    """Return the nearest chunks by the index; fewer than `limit` when few of the near ones fit."""
    connection.execute(
        "SELECT set_config('hnsw.iterative_scan', 'strict_order', true),"
        " set_config('hnsw.ef_search', ?, true), set_config('hnsw.max_scan_tuples', ?, true),"
        " set_config('enable_sort', 'off', true)",  # a sort would read the whole index first
        (str(min(max(_EF_SEARCH, limit), _MAX_EF_SEARCH)), str(_MAX_SCANNED)),
    )
    rows = connection.execute(
        "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document_id"
        f" WHERE {index.condition} AND {wanted.condition}"
        f" ORDER BY {index.column} <=> (:asked)::halfvec({index.dimensions}) LIMIT :limit",
        {**wanted.values, "asked": to_halfvec(to_blob(asked)), "limit": limit},
    ).fetchall()
    connection.execute("SELECT set_config('enable_sort', 'on', true)")
    return [row["id"] for row in rows]


def _scanned(
    connection: Connection, collection: int, asked: Vectors, wanted: DocumentFilter, limit: int
) -> list[int]:
    """Return the nearest chunks by a scan of the collection's rows."""
    of: dict[str, Any] = {**wanted.values, "collection": collection, "limit": limit}
    rows = connection.execute(
        "SELECT chunks.id FROM chunks JOIN documents ON documents.id = document_id"
        f" WHERE part = :collection AND near IS NOT NULL AND {wanted.condition}"
        " ORDER BY near <=> (:asked)::halfvec, chunks.id LIMIT :limit",
        of | {"asked": to_halfvec(to_blob(asked))},
    )
    return [row["id"] for row in rows]


def _cosines(connection: Connection, chunks: Collection[int], asked: Vectors) -> Cosines:
    """Return the exact cosines of these chunks."""
    rows = connection.execute(
        "SELECT id, vector FROM chunks WHERE id = ANY(?) AND vector IS NOT NULL ORDER BY id",
        (list(chunks),),
    ).fetchall()
    ids = np.array([row["id"] for row in rows], dtype=np.int64)
    stored = np.frombuffer(b"".join(row["vector"] for row in rows), dtype="<f4")
    return Cosines(ids, np.einsum("ij,j->i", stored.reshape(len(rows), asked.size), asked))


def _check_size(connection: Connection, collection: int, asked: int) -> None:
    """Raise StoreError when the collection's vectors have another size."""
    row = connection.execute(
        "SELECT length(vector) / 4 FROM chunks WHERE part = ? AND vector IS NOT NULL LIMIT 1",
        (collection,),
    ).fetchone()
    if row is not None and row[0] != asked:
        raise StoreError(other_size(connection, collection, asked, row[0]))


def _rows(connection: Connection, collection: int, chunks: list[int]) -> Iterable[Row]:
    return connection.execute(
        f"SELECT {_CHUNK_COLUMNS}, {PAGE_COLUMNS}"
        " FROM chunks JOIN documents ON documents.id = document_id"
        " WHERE part = :collection AND chunks.id = ANY(:found)",
        {"collection": collection, "found": chunks},
    )
