"""Search for chunks by their words and vectors, among the documents that fit a filter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ..sql.chunk_search import best_chunks, wanted_stems
from ..sql.documents import PAGE_COLUMNS
from ..sql.fusion import fuse_scores
from .filters import build_filter
from .word_search import WordSearch, match_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....contracts.collection import Filters, StoredChunk, Vectors
    from ..sql.connection import Row
    from .filters import IndexedFilter
    from .opening import SQLiteConnection
    from .vector_cache import VectorCache

WORD_POOL: Final = 1000
"""Chunks whose words are compared when vectors order them too."""


def find_chunks(
    connection: SQLiteConnection,
    collection: int,
    question: str,
    vector: Vectors | None,
    *,
    cache: VectorCache,
    limit: int,
    filters: Filters | None,
) -> list[StoredChunk]:
    """Return the collection's best chunks: by BM25, with a vector 0.7 z(cosine) + 0.3 z(BM25)."""
    wanted = build_filter(collection, filters)
    stems = _wanted(connection, collection, question)
    if vector is None:
        words = WordSearch(connection, collection, stems)
        scores = words.best(limit) if wanted is None else words.fitting(limit, wanted)
    else:
        scores = _by_both(connection, collection, stems, vector, wanted, cache=cache, limit=limit)
    return best_chunks(scores, limit, partial(_rows, connection, collection))


def _by_both(
    connection: SQLiteConnection,
    collection: int,
    stems: Sequence[str],
    vector: Vectors,
    wanted: IndexedFilter | None,
    *,
    cache: VectorCache,
    limit: int,
) -> dict[int, float]:
    """Return the fused scores of the best by words and of the best by vectors, by chunk id."""
    documents = None if wanted is None else wanted.documents(connection)
    compared = cache.compare(connection, collection, vector, documents, limit=limit)
    words = WordSearch(connection, collection, stems)
    pool = max(limit, WORD_POOL)
    if documents is None:
        scores = words.best(pool)
    elif len(compared):
        last = connection.execute("SELECT max(id) FROM chunks").fetchone()[0]
        scores = words.best(pool, compared.marks(last + 1).__getitem__)
    else:  # no chunk has a vector
        scores = words.of_documents(pool, documents)
    near = compared.cosines()
    near.sharpen(connection, vector.reshape(-1), [*scores][:limit])
    return fuse_scores(scores, near, limit)


def _wanted(connection: SQLiteConnection, collection: int, question: str) -> list[str]:
    """Return the stems to be searched for; a compound that the collection lacks is divided."""

    def is_known(stem: str) -> bool:
        query = "SELECT 1 FROM chunk_words WHERE chunk_words MATCH ? LIMIT 1"
        wanted = match_words(collection, [stem])
        return connection.execute(query, (wanted,)).fetchone() is not None

    return wanted_stems(question, is_known)


def _rows(connection: SQLiteConnection, collection: int, chunks: list[int]) -> Iterable[Row]:
    return connection.execute(
        f"SELECT chunks.*, {PAGE_COLUMNS}"
        " FROM chunks CROSS JOIN documents ON documents.id = document_id"  # in this order
        f" WHERE collection_id = ? AND chunks.id IN ({', '.join('?' * len(chunks))})",
        (collection, *chunks),
    )
