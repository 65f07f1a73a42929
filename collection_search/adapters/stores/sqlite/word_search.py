"""Search for chunks by their words: BM25 by SQLite's full-text index."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Final

from ....ranking.lexicon import match_any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .filters import IndexedFilter
    from .opening import SQLiteConnection

ASKED: Final = (3, 8, 20)
"""Of how many chunks, as multiples of those wanted, it is asked one by one whether they fit."""


def collection_token(collection: int) -> str:
    """Return the token that every word row of the collection carries."""
    return f"c{collection}"


def match_words(collection: int | None, stems: Iterable[str]) -> str:
    """Return the MATCH expression for any of the stems, in the collection or everywhere.

    >>> match_words(7, ["tea"])
    'part : c7 AND {title body} : ("tea")'
    """
    words = f"{{title body}} : ({match_any(stems)})"
    return words if collection is None else f"part : {collection_token(collection)} AND {words}"


class WordSearch:
    """One question's search for the words of a collection's chunks.

    The collection's token only narrows the search; whoever reads the chunks checks their
    collection. Where all chunks are the collection's it is left out: to match and to count all of
    them takes as long as the rest.
    """

    def __init__(self, connection: SQLiteConnection, collection: int, stems: Sequence[str]) -> None:
        self._connection = connection
        self._stems = stems
        self._part = None if _is_alone(connection, collection) else collection

    def best(self, limit: int, is_fit: Callable[[int], int] | None = None) -> dict[int, float]:
        """Return BM25 by chunk id, higher is better, the best first.

        `is_fit` tells by its id whether a chunk may be among them, before it is scored.
        """
        if not self._stems:
            return {}
        only = ""
        if is_fit is not None:
            only = " AND is_fit(rowid)"
            self._connection.create_function("is_fit", 1, is_fit)
        plain = self._connection.cursor()
        plain.row_factory = None  # pairs, without an object for each
        rows = plain.execute(
            "SELECT rowid, -bm25(chunk_words, 0, 2, 1) AS score FROM chunk_words"
            f" WHERE chunk_words MATCH ?{only} ORDER BY score DESC LIMIT ?",
            (match_words(self._part, self._stems), limit),
        )
        scores = dict(rows)
        if is_fit is not None:
            # else an idle connection keeps its ids
            self._connection.create_function("is_fit", 1, None)
        return scores

    def fitting(self, limit: int, wanted: IndexedFilter) -> dict[int, float]:
        """Return the best whose document fits.

        Most filters let many documents through: then the best chunks of all have enough that fit.
        """
        found = self.best(limit * ASKED[-1])
        ranked, scores, asked = iter(found.items()), dict[int, float](), 0
        for factor in ASKED:
            some = dict(islice(ranked, limit * factor - asked))
            asked += len(some)
            fit = wanted.only_fitting(self._connection, some)
            scores |= {chunk: score for chunk, score in some.items() if chunk in fit}
            if len(scores) >= limit or asked == len(found) < limit * ASKED[-1]:
                return dict(islice(scores.items(), limit))
        return self.of_documents(limit, wanted.documents(self._connection))

    def of_documents(self, limit: int, documents: Sequence[int]) -> dict[int, float]:
        """Return the best of these documents."""
        rows = self._connection.execute(
            "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
            (json.dumps(documents),),
        )
        return self.best(limit, {row[0] for row in rows}.__contains__)


def _is_alone(connection: SQLiteConnection, collection: int) -> bool:
    """Return whether no other collection has documents."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM documents WHERE collection_id < :collection)"
        " OR EXISTS (SELECT 1 FROM documents WHERE collection_id > :collection)",
        {"collection": collection},
    )
    return not row.fetchone()[0]
