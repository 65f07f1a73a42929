"""Scores of pages for a question; `threshold` selects the pages to ingest.

`embedding_rank_score = 0.6 * embedding score + 0.4 * heuristic score`, each 0-100. It orders pages
and decides on ingestion, so it has the same meaning in every pool: no score depends on the best
page. At 50 a page is as likely relevant as not, among pages of which half are.

The profile `literal` is the raw arithmetic: cosine times 100, heuristics that sum to 75.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from .heuristics import PageText, PageWords, Points, judge_all
from .similarity import LexicalSimilarity

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DENSE",
    "LEXICAL",
    "Calibration",
    "JudgedPool",
    "PageText",
    "Scored",
    "forget_pools",
    "judge_pool",
    "rank",
    "rank_pool",
]

Profile: TypeAlias = Literal["default", "literal"]
Scale: TypeAlias = Literal["lexical", "dense", "literal"]

EMBEDDING_SHARE: Final = 0.6
HEURISTIC_SHARE: Final = 0.4

_MEANINGS: Final[dict[Scale, str]] = {
    "lexical": "words compared, no model; calibrated: at 50 as likely relevant as not",
    "dense": "similarity by a model; calibrated: at 50 as likely relevant as not",
    "literal": "0.6 * cosine * 100 + 0.4 * heuristics, not calibrated",
}
_WITHOUT_SCALE: Final = "words compared, since the scale of the model is not known; calibrated"
_FAILED: Final = "the page could not be embedded: similarity counts 0"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The map from a similarity to the probability that a page is relevant, per kind of model.

    `unrelated` and `related` are the model's median similarities of such pairs; on its scale they
    become 0 and 1.
    """

    scale: Literal["lexical", "dense"]
    similarity: float
    """Weight of the model's similarity on that scale; 0 without a model."""
    wording: float
    """Weight of the lexical similarity."""
    constant: float
    unrelated: float = 0.0
    related: float = 1.0

    def probability(self, similarity: float, wording: float) -> float:
        """Return 0-1, from the model's similarity and the lexical one.

        >>> [round(LEXICAL.probability(0.0, wording), 2) for wording in (0.0, 0.1, 0.3)]
        [0.36, 0.68, 0.97]
        """
        placed = (similarity - self.unrelated) / (self.related - self.unrelated)
        placed = min(max(placed, -0.5), 1.5)
        x = self.similarity * placed + self.wording * wording + self.constant
        return 0.5 * (1 + math.tanh(x / 2))  # 1 / (1 + e**-x) without overflow


# Fitted on the labelled pools scifact, xquad-en and xquad-de (dense: vectors of all-MiniLM-L6-v2);
# `python benchmarks/fit_scoring.py PATH_TO_POOLS` fits anew and prints these two lines.
LEXICAL: Final = Calibration("lexical", similarity=0.0, wording=13.39, constant=-0.57)
DENSE: Final = Calibration(
    "dense", similarity=3.72, wording=1.89, constant=-1.81, unrelated=0.15, related=0.56
)


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of one page for the question."""

    index: int
    """Position in the pages that were ranked."""
    embedding_rank_score: float
    """0-100; orders the pages and decides on ingestion."""
    embedding_similarity: float
    """As the model or the comparison of words gave it, -1 to 1."""
    heuristic_score: float
    """0-100; in the profile `literal` 0-75."""
    explanation: dict[str, Any] = field(default_factory=dict)
    """Parts of the score, JSON-plain."""


def rank(
    question: str,
    pages: Sequence[PageText],
    *,
    similarities: Sequence[float] | None = None,
    profile: Profile = "default",
    limit: int = 20,
    calibration: Calibration | None = None,
    model: str | None = None,
) -> list[Scored]:
    """Return the best pages, by score, then by URL.

    `similarities` are a model's cosines, one per page; NaN marks a page without an embedding and
    counts 0. Without them words are compared. `calibration` belongs to the model of the
    similarities; default: `DENSE`, without a model `LEXICAL`. `LEXICAL` compares words even where
    similarities of an unknown scale are given. `model` is the name in the explanations.

    >>> pages = [PageText("Tea", "How to brew tea.", "https://a.example/tea"),
    ...          PageText("Tasks", "How to cancel a running task.", "https://a.example/task")]
    >>> [(each.index, each.embedding_rank_score > 60) for each in rank("Cancel a task", pages)]
    [(1, True), (0, False)]
    """
    return rank_pool(
        judge_pool(question, pages, profile=profile),
        similarities=similarities,
        limit=limit,
        calibration=calibration,
        model=model,
    )


class JudgedPool(NamedTuple):
    """Pages with their scores by words, before a model's similarities are known."""

    pages: tuple[PageText, ...]
    wording: tuple[float, ...]
    """Lexical similarity per page, 0 to 1."""
    parts: tuple[Points, ...]
    """Heuristics per page."""
    is_literal: bool


def judge_pool(
    question: str, pages: Sequence[PageText], *, profile: Profile = "default"
) -> JudgedPool:
    """Return what `rank_pool` needs beside a model's similarities; the last 8 pools are remembered.

    This is the larger part of the work, and may run at the same time as a model's request.
    """
    return _judged(question, tuple(pages), profile == "literal")


def forget_pools() -> None:
    """Clear the cache of judged pools, for a measurement."""
    _judged.cache_clear()


@lru_cache(maxsize=8)
def _judged(question: str, pages: tuple[PageText, ...], is_literal: bool) -> JudgedPool:  # noqa: FBT001
    read = [PageWords.of(page) for page in pages]
    by_rarity = not is_literal
    wording = LexicalSimilarity(by_rarity=by_rarity).of_words(
        question, [[*each.title, *each.snippet] for each in read]
    )
    parts = judge_all(question, pages, read, by_rarity=by_rarity)
    return JudgedPool(pages, tuple(wording), tuple(parts), is_literal)


def rank_pool(
    pool: JudgedPool,
    *,
    similarities: Sequence[float] | None = None,
    limit: int = 20,
    calibration: Calibration | None = None,
    model: str | None = None,
) -> list[Scored]:
    """Return the best of the judged pages; `rank` is both steps in one."""
    pages = pool.pages
    if similarities is not None and len(similarities) != len(pages):
        raise ValueError(f"{len(similarities)} similarities for {len(pages)} pages: give one each")
    measured = pool.wording if similarities is None else similarities
    fitting = calibration or (LEXICAL if similarities is None else DENSE)
    scale = None if pool.is_literal else fitting
    weighed = [
        _weighed(index, parts, float(measured[index]), pool.wording[index], scale)
        for index, parts in enumerate(pool.parts)
    ]
    best = heapq.nsmallest(limit, weighed, key=lambda each: (-each.score, pages[each.place].url))
    return [_explained(each, pool.parts[each.place], scale, model) for each in best]


class _Weighed(NamedTuple):
    place: int
    score: float
    similarity: float
    embedding: float
    heuristic: float
    failed: bool


def _weighed(
    place: int, parts: Points, cosine: float, wording: float, scale: Calibration | None
) -> _Weighed:
    """Combine both sides: on calibrated scales, or raw when there is no calibration."""
    failed = not math.isfinite(cosine)
    similarity = 0.0 if failed else min(max(cosine, -1.0), 1.0)
    if scale:
        embedding = 0.0 if failed else 100 * scale.probability(similarity, wording)
        heuristic = parts.relevance
    else:
        embedding, heuristic = 100 * similarity, parts.total
    score = EMBEDDING_SHARE * embedding + HEURISTIC_SHARE * heuristic
    score = round(min(max(score, 0.0), 100.0), 2)
    return _Weighed(place, score, similarity, embedding, heuristic, failed)


def _explained(
    weighed: _Weighed, parts: Points, scale: Calibration | None, model: str | None
) -> Scored:
    return Scored(
        weighed.place,
        embedding_rank_score=weighed.score,
        embedding_similarity=round(weighed.similarity, 4),
        heuristic_score=round(weighed.heuristic, 2),
        explanation={
            **_told(scale, model, failed=weighed.failed),
            "embedding_score": round(weighed.embedding, 2),
            "title": round(parts.title, 2),
            "snippet": parts.snippet,
            "coverage": round(parts.coverage, 2),
            "url": parts.url,
            "matched": list(parts.matched),
        },
    )


def _told(calibration: Calibration | None, model: str | None, *, failed: bool) -> dict[str, Any]:
    """Return the scale of the score, the name of the model and its medians."""
    scale: Scale = calibration.scale if calibration else "literal"
    meaning = _MEANINGS[scale]
    if failed:
        meaning = _FAILED
    elif scale == "lexical" and model is not None:
        meaning = _WITHOUT_SCALE
    told: dict[str, Any] = {"scale": scale, "meaning": meaning, "model": model}
    if calibration and scale == "dense" and not failed:
        told |= {"unrelated": calibration.unrelated, "related": calibration.related}
    return told
