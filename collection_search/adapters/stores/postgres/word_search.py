"""Search for chunks by their words: BM25 over those that PostgreSQL's full-text index finds."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from .words import StemQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..sql.connection import Connection
    from ..sql.filters import DocumentFilter

_K1: Final = 1.2
_B: Final = 0.75
_TITLE: Final = 2.0
"""Weight of a word in the title."""
_POOL: Final = 4
"""Chunks whose words are read, as a multiple of those that are wanted."""
_MAX_SIZES: Final = 10_000
"""Collections whose sizes are kept."""

_COUNT: Final = """
    SELECT count(*) AS chunks, coalesce(avg(length), 1) AS length
    FROM chunks WHERE part = :collection
"""
_KNOWN: Final = """
    SELECT 1 FROM chunks WHERE part = :collection AND words @@ (:stem)::tsquery LIMIT 1
"""
_WORDS: Final = """
    SELECT chunks.id, lexeme, cardinality(positions) AS times,
        (SELECT count(*) FROM unnest(weights) AS one WHERE one = 'A') AS in_title
    FROM chunks CROSS JOIN LATERAL unnest(words)
    WHERE chunks.id = ANY(:found) AND lexeme ^@ ANY(:words)
"""
_CANDIDATES: Final = """
    WITH hits AS MATERIALIZED (
        SELECT id, document_id, length, {hits} FROM chunks
        WHERE part = :collection AND words @@ (:any_of)::tsquery
    ), counts AS (SELECT {counts} FROM hits)
    SELECT hits.id, hits.length, counts.*
    FROM hits CROSS JOIN counts JOIN documents ON documents.id = document_id
    WHERE {condition} ORDER BY {weight} DESC, hits.length, hits.id LIMIT :limit
"""
# One reading of the collection's words: row-level security keeps the full-text index out of it
# where no administrator has declared the match leak-proof.
_RARITY: Final = "greatest(ln((:chunks - count_{0} + 0.5) / (count_{0} + 0.5)), 1e-6)"


class CollectionSizes:
    """How many chunks collections have and how long these are, counted again after a change."""

    def __init__(self) -> None:
        self._counted: dict[int, tuple[int, int, float]] = {}

    def of(self, connection: Connection, collection: int) -> tuple[int, float]:
        """Return the number of chunks, and the stems that a chunk has on average."""
        query = "SELECT changes FROM collections WHERE id = :collection"
        of = {"collection": collection}
        changes = int(connection.execute(query, of).fetchone()["changes"])
        counted = self._counted.get(collection)
        if counted is None or counted[0] != changes:
            row = connection.execute(_COUNT, of).fetchone()
            counted = changes, int(row["chunks"]), float(row["length"])
            if len(self._counted) >= _MAX_SIZES:
                self._counted.clear()
            self._counted[collection] = counted
        return counted[1:]


class WordSearch:
    """One question's search for the words of a collection's chunks."""

    def __init__(
        self, connection: Connection, sizes: CollectionSizes, collection: int, stems: Sequence[str]
    ) -> None:
        self._connection = connection
        self._sizes = sizes
        self._collection = collection
        self._queries = [query for query in map(StemQuery.of, stems) if query.words]

    def knows(self, stem: str) -> bool:
        """Return whether a chunk of the collection has the stem."""
        query = StemQuery.of(stem)
        of = {"collection": self._collection, "stem": query.text}
        return bool(query.words and self._connection.execute(_KNOWN, of).fetchone())

    def best(self, limit: int, wanted: DocumentFilter) -> dict[int, float]:
        """Return BM25 by chunk id, higher is better, the best first.

        Only chunks of documents that fit are among them.
        """
        if not self._queries:
            return {}
        chunks, length = self._sizes.of(self._connection, self._collection)
        lengths, counts = self._candidates(chunks, limit * _POOL, wanted)
        rarities = [
            (query, _rarity(chunks, count))
            for query, count in zip(self._queries, counts, strict=True)
            if count
        ]
        scores = self._scored(lengths, rarities, length)
        best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:limit]
        return {chunk: scores[chunk] for chunk in best}

    def _candidates(
        self, chunks: int, limit: int, wanted: DocumentFilter
    ) -> tuple[dict[int, int], list[int]]:
        """Return the lengths of the chunks that have the rarest of the words, by their id.

        Then how many chunks of the collection have each word, 0 when no chunk fits.
        """
        of: dict[str, Any] = {**wanted.values, "collection": self._collection, "limit": limit}
        places = range(len(self._queries))
        of |= {f"stem_{place}": self._queries[place].text for place in places}
        of |= {"any_of": " | ".join(f"({query.text})" for query in self._queries)}
        of |= {"chunks": chunks}
        statement = _CANDIDATES.format(
            hits=", ".join(f"words @@ (:stem_{place})::tsquery AS has_{place}" for place in places),
            counts=", ".join(f"count(*) FILTER (WHERE has_{n}) AS count_{n}" for n in places),
            weight=" + ".join(
                f"CASE WHEN has_{n} THEN {_RARITY.format(n)} ELSE 0 END" for n in places
            ),
            condition=wanted.condition,
        )
        rows = self._connection.execute(statement, of).fetchall()
        counts = [rows[0][f"count_{place}"] if rows else 0 for place in places]
        return {row["id"]: row["length"] for row in rows}, counts

    def _scored(
        self,
        lengths: Mapping[int, int],
        rarities: Sequence[tuple[StemQuery, float]],
        mean_length: float,
    ) -> dict[int, float]:
        """Return BM25 of these chunks."""
        times: defaultdict[int, dict[str, float]] = defaultdict(dict)
        asked = sorted({word for query, _ in rarities for word in query.words})
        for row in self._connection.execute(_WORDS, {"found": list(lengths), "words": asked}):
            times[row["id"]][row["lexeme"]] = row["times"] + (_TITLE - 1) * row["in_title"]
        scores = {}
        for chunk, length in lengths.items():
            norm = _K1 * (1 - _B + _B * length / mean_length)
            counts = [(rarity, query.times(times[chunk])) for query, rarity in rarities]
            scores[chunk] = math.fsum(
                rarity * count * (_K1 + 1) / (count + norm) for rarity, count in counts
            )
        return scores


def _rarity(chunks: int, count: int) -> float:
    return max(math.log((chunks - count + 0.5) / (count + 0.5)), 1e-6)
