"""The relevance of chunks in a collection without vectors, as LangChain asks for it: 0 to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..retrieve import page_texts, rank_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import StoredChunk
    from ...ranking.scoring import Profile


class RelevantChunk(NamedTuple):
    """A chunk with its relevance, 0 to 1."""

    found: StoredChunk
    relevance: float


def rank_by_words(
    question: str, found: Sequence[StoredChunk], *, profile: Profile
) -> list[RelevantChunk]:
    """Return the chunks, best first; the relevance is a hundredth of the score of `retrieve`."""
    scored = rank_chunks(question, page_texts(found), profile=profile)
    return [
        RelevantChunk(found[one.index], max(0.0, min(1.0, one.embedding_rank_score / 100)))
        for one in scored
    ]
