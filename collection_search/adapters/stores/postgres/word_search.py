"""Search for chunks by their words: BM25 over those that PostgreSQL's full-text index finds."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .words import to_tsquery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..sql.connection import Connection

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
    WHERE chunks.id = ANY(:found) AND lexeme = ANY(:lexemes)
"""


class Found(NamedTuple):
    """The condition of a search, and its values."""

    condition: str
    values: Mapping[str, Any]


class WordSearch:
    """One question's search for the words of a collection's chunks."""

    def __init__(self, connection: Connection, collection: int, stems: Sequence[str]) -> None:
        self._connection = connection
        self._collection = collection
        self._queries = {stem: query for stem in stems if (query := to_tsquery(stem))}

    def knows(self, stem: str) -> bool:
        """Return whether a chunk of the collection has the stem."""
        return self._count(to_tsquery(stem), most=1) > 0

    def best(
        self, limit: int, condition: str = "TRUE", values: Mapping[str, Any] | None = None
    ) -> dict[int, float]:
        """Return BM25 by chunk id, higher is better, the best first.

        Only chunks of documents that meet the condition are among them.
        """
        if not self._queries:
            return {}
        chunks, length = self._connection.execute(
            _COUNT, {"collection": self._collection}
        ).fetchone()
        rarity = {
            stem: max(math.log((chunks - count + 0.5) / (count + 0.5)), 1e-6)
            for stem, query in self._queries.items()
            if (count := self._count(query))
        }
        found = self._candidates(rarity, limit * _POOL, condition, values or {})
        scores = self._scored(found, rarity, float(length))
        best = sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:limit]
        return {chunk: scores[chunk] for chunk in best}

    def _count(self, query: str, most: int = _COUNTED) -> int:
        of = {"collection": self._collection, "stem": query, "most": most}
        return int(self._connection.execute(_WITH, of).fetchone()[0]) if query else 0

    def _candidates(
        self, rarity: Mapping[str, float], limit: int, condition: str, values: Mapping[str, Any]
    ) -> dict[int, int]:
        """Return the lengths of the chunks that have the rarest of the words, by their id."""
        if not rarity:
            return {}
        of: dict[str, Any] = {**values, "collection": self._collection, "limit": limit}
        weights = []
        for place, (stem, weight) in enumerate(rarity.items()):
            of[f"stem_{place}"] = self._queries[stem]
            weights.append(f"CASE WHEN words @@ (:stem_{place})::tsquery THEN {weight} ELSE 0 END")
        of["any_of"] = " | ".join(f"({self._queries[stem]})" for stem in rarity)
        rows = self._connection.execute(
            f"SELECT chunks.id, length FROM chunks JOIN documents ON documents.id = document_id"
            " WHERE part = :collection AND words @@ (:any_of)::tsquery"
            f" AND {condition} ORDER BY {' + '.join(weights)} DESC, length, chunks.id LIMIT :limit",
            of,
        )
        return {row["id"]: row["length"] for row in rows}

    def _scored(
        self, found: Mapping[int, int], rarity: Mapping[str, float], length: float
    ) -> dict[int, float]:
        times: defaultdict[int, dict[str, float]] = defaultdict(dict)
        lexemes = {stem: self._queries[stem].strip("'").split("' <-> '") for stem in rarity}
        asked = sorted({word for words in lexemes.values() for word in words})
        for row in self._connection.execute(_WORDS, {"found": list(found), "lexemes": asked}):
            times[row["id"]][row["lexeme"]] = row["times"] + (_TITLE - 1) * row["in_title"]
        scores = {}
        for chunk, own in found.items():
            norm = _K1 * (1 - _B + _B * own / length)
            scores[chunk] = math.fsum(
                weight * count * (_K1 + 1) / (count + norm)
                for stem, weight in rarity.items()
                if (count := min(times[chunk].get(word, 0.0) for word in lexemes[stem]))
            )
        return scores
