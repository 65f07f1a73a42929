"""What the searches for chunks of every SQL engine share: which stems, and the best chunks."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from ....contracts.collection import StoredChunk
from ....ranking.compounds import split_compound
from ....ranking.lexicon import language_of, question_stems
from .documents import read_chunk, read_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .connection import Row


def wanted_stems(question: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the question's stems; after a German compound, which is not known, its known parts."""
    stems = question_stems(question)
    if language_of(question) != "de":
        return stems
    return [part for stem in stems for part in (stem, *split_compound(stem, is_known))]


def best_chunks(
    scores: Mapping[int, float], limit: int, find: Callable[[list[int]], Iterable[Row]]
) -> list[StoredChunk]:
    """Return the chunks with the best scores; `find` returns the rows of these ids."""
    least = min(heapq.nlargest(limit, scores.values()), default=0.0)
    rows = find([chunk for chunk, score in scores.items() if score >= least])
    chunks = [StoredChunk(read_document(row), read_chunk(row), scores[row["id"]]) for row in rows]
    chunks.sort(key=lambda found: (-found.score, found.document.url_key, found.chunk.ordinal))
    return chunks[:limit]
