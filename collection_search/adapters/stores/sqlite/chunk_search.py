"""Search for chunks by their words and vectors, among the documents that fit a filter."""

from __future__ import annotations

import heapq
import json
import math
from typing import TYPE_CHECKING, Final

from ....contracts.collection import StoredChunk
from ....ranking.compounds import split_compound
from ....ranking.lexicon import language_of, match_any, question_stems
from .documents import PAGE_COLUMNS, collection_token, read_chunk, read_document
from .filters import build_filter

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from ....contracts.collection import Filters, Vectors
    from .cosines import Cosines
    from .filters import DocumentFilter
    from .vector_cache import VectorCache

COSINE_WEIGHT: Final = 0.7
"""Weight against 0.3 for BM25, both standardised: best of the compared fusions on seven sets."""
WORD_POOL: Final = 1000
"""Chunks whose words are compared when vectors order them too."""


def find_chunks(
    connection: sqlite3.Connection,
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
    documents = None if wanted is None else _fitting(connection, wanted)
    near = None
    if vector is not None:
        near = cache.cosines(connection, collection, vector, documents)
    is_fit = None if documents is None else _is_fit(connection, documents, near)
    words = match_any(_wanted(connection, collection, question))
    pool = limit if near is None else max(limit, WORD_POOL)
    scores = _by_words(connection, collection, words, pool, is_fit)
    if near is not None:
        scores = fuse_scores(scores, near, limit)
    least = min(heapq.nlargest(limit, scores.values()), default=0.0)
    best = {chunk: score for chunk, score in scores.items() if score >= least}
    chunks = _chunks(connection, collection, best)
    chunks.sort(key=lambda found: (-found.score, found.document.url_key, found.chunk.ordinal))
    return chunks[:limit]


def _fitting(connection: sqlite3.Connection, wanted: DocumentFilter) -> list[int]:
    """Return the ids of the documents that fit; one row of JSON takes half as long as many."""
    row = connection.execute(f"SELECT json_group_array(id) FROM ({wanted.query})", wanted.values)
    return json.loads(row.fetchone()[0])  # type: ignore[no-any-return]


def _is_fit(
    connection: sqlite3.Connection, documents: Sequence[int], near: Cosines | None
) -> Callable[[int], int]:
    """Return a function that tells by its id whether a chunk belongs to the documents."""
    if near is not None and len(near):  # those that were compared are known already
        last = connection.execute("SELECT max(id) FROM chunks").fetchone()[0]
        return near.marks(last + 1).__getitem__
    rows = connection.execute(
        "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
        (json.dumps(documents),),
    )
    return {row[0] for row in rows}.__contains__


def _wanted(connection: sqlite3.Connection, collection: int, question: str) -> list[str]:
    """Return the question's stems; after a German compound that the collection lacks, its parts."""
    stems = question_stems(question)
    if language_of(question) != "de":
        return stems

    def is_known(stem: str) -> bool:
        query = "SELECT 1 FROM chunk_words WHERE chunk_words MATCH ? LIMIT 1"
        wanted = _match(collection, match_any([stem]))
        return connection.execute(query, (wanted,)).fetchone() is not None

    return [part for stem in stems for part in (stem, *split_compound(stem, is_known))]


def _match(collection: int, words: str) -> str:
    return f"part : {collection_token(collection)} AND {{title body}} : ({words})"


def _by_words(
    connection: sqlite3.Connection,
    collection: int,
    words: str,
    limit: int,
    is_fit: Callable[[int], int] | None,
) -> dict[int, float]:
    """Return BM25 by chunk id, higher is better, the best first.

    The token only narrows the search; `_chunks` checks the collection. `is_fit` is applied before
    the chunks are scored.
    """
    if not words:
        return {}
    only = ""
    if is_fit is not None:
        only = " AND is_fit(rowid)"
        connection.create_function("is_fit", 1, is_fit)
    plain = connection.cursor()
    plain.row_factory = None  # pairs, without an object for each
    rows = plain.execute(
        "SELECT rowid, -bm25(chunk_words, 0, 2, 1) AS score FROM chunk_words"
        f" WHERE chunk_words MATCH ?{only} ORDER BY score DESC LIMIT ?",
        (_match(collection, words), limit),
    )
    scores = dict(rows)
    if is_fit is not None:
        connection.create_function("is_fit", 1, None)  # else an idle connection keeps its ids
    return scores


def fuse_scores(words: Mapping[int, float], near: Cosines, limit: int) -> dict[int, float]:
    """Return 0.7 z(cosine) + 0.3 z(BM25) of the `limit` best by words and the best by vectors.

    `words` is BM25, the best first. A chunk that shares no word with the question has BM25 0.

    >>> import numpy as np
    >>> from collection_search.adapters.stores.sqlite.cosines import Cosines
    >>> fuse_scores({1: 2.0}, Cosines(np.array([1, 2, 3]), np.array([0.2, 0.8, 0.0])), limit=1)
    {1: -0.4, 2: 0.4}
    """
    best = list(words)[:limit]
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


def _chunks(
    connection: sqlite3.Connection, collection: int, scores: Mapping[int, float]
) -> list[StoredChunk]:
    rows = connection.execute(
        f"SELECT chunks.*, {PAGE_COLUMNS}"
        " FROM chunks CROSS JOIN documents ON documents.id = document_id"  # in this order
        f" WHERE collection_id = ? AND chunks.id IN ({', '.join('?' * len(scores))})",
        (collection, *scores),
    )
    return [StoredChunk(read_document(row), read_chunk(row), scores[row["id"]]) for row in rows]
