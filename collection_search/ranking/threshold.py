"""Which pages score high enough to be ingested.

The wanted score is the run's `auto_ingest_min_score`: 60 by default, 0 to 100.
"""

from __future__ import annotations

import heapq
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ..errors import QualityThresholdError
from .score_text import format_score

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MIN_SCORE: Final = 60.0
"""The specified minimum score."""
FALLBACK_SCORE: Final = 50.0
"""The lower threshold, used when too few pages reach the minimum score."""
ENOUGH_RESULTS: Final = 3

BEST: Final = 5
"""Scores whose mean tells whether the search found its subject at all."""
LEAST_MEAN: Final[Mapping[str, float]] = MappingProxyType({"lexical": 28.0, "dense": 17.0})
"""Least mean of the best scores of a search that found its subject, per scale of the scores.

A search that went astray has one lucky page among unrelated ones; where the subject was found, the
next pages are about it too. On the labelled sets this refused a third of the off-topic pools that
had passed, and lost two answers in a hundred.
"""
LARGE_POOL: Final = 20
"""Only searches with at least so many pages are refused as a whole: smaller ones hold too few
pages about one subject."""
EXCELLENT: Final = 80.0
"""A search with such a page to ingest is not refused as a whole."""


class Selection(NamedTuple):
    """The pages to ingest and how they were selected."""

    positions: list[int]
    """Best first."""
    threshold: float
    """The score that was asked for in the end."""
    fallback_used: bool
    """Whether the threshold fell because too few pages reached the minimum score."""


def select_for_ingestion(
    scores: Sequence[float],
    *,
    min_score: float,
    top_k: int,
    fallback_score: float = FALLBACK_SCORE,
    scale: str | None = None,
    pool_size: int = 0,
    pool_scores: Sequence[float] = (),
    eligible: Collection[int] | None = None,
) -> Selection:
    """Return the positions to ingest, and the threshold that was used.

    The threshold falls to `fallback_score` when fewer than three pages reach `min_score`. `scale`
    and `pool_size` (pages that were ranked) let a search be refused as a whole: see `LEAST_MEAN`; a
    `min_score` below 50 switches that off. `pool_scores` are the scores that it is judged by, where
    these are others: as they were before rules and judges. Only `eligible` positions are selected,
    by default all. Raises `QualityThresholdError` when no page is good enough; a retry gives the
    same answer.

    >>> select_for_ingestion([72, 55, 31], min_score=60, top_k=10)
    Selection(positions=[0, 1], threshold=50.0, fallback_used=True)
    """
    places = range(len(scores)) if eligible is None else eligible
    threshold = min_score
    if sum(scores[place] >= min_score for place in places) < ENOUGH_RESULTS:
        threshold = min(min_score, fallback_score)
    chosen = [place for place in places if scores[place] >= threshold]
    if not chosen:
        found = _describe_best([scores[place] for place in places], threshold)
        raise QualityThresholdError(
            f"no result scores {threshold:g} or more: {found}. Ask more precisely or try another"
            " search provider; or lower the minimum score, or choose the pages by hand.",
            threshold=threshold,
            fallback_used=threshold < min_score,
        )
    is_judged = pool_size >= LARGE_POOL and min_score >= FALLBACK_SCORE
    if is_judged and max(scores[place] for place in chosen) < EXCELLENT:
        _refuse_astray(pool_scores or scores, LEAST_MEAN.get(scale or "", 0.0))
    best = heapq.nsmallest(top_k, chosen, key=lambda i: (-scores[i], i))
    return Selection(best, threshold, fallback_used=threshold < min_score)


def _refuse_astray(scores: Sequence[float], least: float) -> None:
    """Raise QualityThresholdError where the search as a whole seems to have missed its subject."""
    best = heapq.nlargest(BEST, scores)
    mean = sum(best) / BEST
    if mean < least:
        raise QualityThresholdError(
            f"the search as a whole seems to have missed its subject: its {BEST} best results score"
            f" {format_score(mean, beside=least)} on average, and {least:g} are needed. Ask"
            " more precisely or try another search provider; or choose the pages by hand."
        )


def _describe_best(scores: Sequence[float], threshold: float) -> str:
    if not scores:
        return "there is none"
    return f"the best of {len(scores)} scores {format_score(max(scores), beside=threshold)}"
