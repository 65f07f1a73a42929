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
_COUNTED: Final = 5_000
"""Chunks of one word that are counted; one with more says little."""
_POOL: Final = 4
"""Chunks whose words are read, as a multiple of those that are wanted."""

_COUNT: Final = """
    SELECT count(*) AS chunks, coalesce(avg(length), 1) AS length
    FROM chunks WHERE part = :collection
"""
_WITH: Final = """
    SELECT count(*) FROM (
        SELECT 1 FROM chunks WHERE part = :collection AND words @@ (:stem)::tsquery
        LIMIT :most) AS found
"""
_WORDS: Final = """
    SELECT chunks.id, lexeme, cardinality(positions) AS times,
        (SELECT count(*) FROM unnest(weights) AS one WHERE one = 'A') AS in_title
    FROM chunks CROSS JOIN LATERAL unnest(words)
    WHERE chunks.id = ANY(:found) AND lexeme ^@ ANY(:words)
"""
_CANDIDATES: Final = """
    SELECT chunks.id, length FROM chunks JOIN documents ON documents.id = document_id
    WHERE part = :collection AND words @@ (:any_of)::tsquery AND {condition}
    ORDER BY {weight} DESC, length, chunks.id LIMIT :limit
"""


class WordSearch:
    """One question's search for the words of a collection's chunks."""

    def __init__(self, connection: Connection, collection: int, stems: Sequence[str]) -> None:
        self._connection = connection
        self._collection = collection
        self._queries = [query for query in map(StemQuery.of, stems) if query.words]

    def knows(self, stem: str) -> bool:
        """Return whether a chunk of the collection has the stem."""
        return self._count(StemQuery.of(stem), most=1) > 0

    def best(self, limit: int, wanted: DocumentFilter) -> dict[int, float]:
        """Return BM25 by chunk id, higher is better, the best first.

        Only chunks of documents that fit are among them.
        """
        of = {"collection": self._collection}
        chunks, length = self._connection.execute(_COUNT, of).fetchone()
        found = [(query, self._count(query)) for query in self._queries]
        rarities = [
            (query, max(math.log((chunks - count + 0.5) / (count + 0.5)), 1e-6))
            for query, count in found
            if count
        ]
        if not rarities:
            return {}
        lengths = self._candidates(rarities, limit * _POOL, wanted)
        scores = self._scored(lengths, rarities, float(length))
        best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:limit]
        return {chunk: scores[chunk] for chunk in best}

    def _count(self, query: StemQuery, most: int = _COUNTED) -> int:
        of = {"collection": self._collection, "stem": query.text, "most": most}
        return int(self._connection.execute(_WITH, of).fetchone()[0]) if query.words else 0

    def _candidates(
        self, rarities: Sequence[tuple[StemQuery, float]], limit: int, wanted: DocumentFilter
    ) -> dict[int, int]:
        """Return the lengths of the chunks that have the rarest of the words, by their id."""
        of: dict[str, Any] = {**wanted.values, "collection": self._collection, "limit": limit}
        weights = []
        for place, (query, rarity) in enumerate(rarities):
            of[f"stem_{place}"] = query.text
            weights.append(f"CASE WHEN words @@ (:stem_{place})::tsquery THEN {rarity} ELSE 0 END")
        of["any_of"] = " | ".join(f"({query.text})" for query, _ in rarities)
        statement = _CANDIDATES.format(condition=wanted.condition, weight=" + ".join(weights))
        return {row["id"]: row["length"] for row in self._connection.execute(statement, of)}

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
