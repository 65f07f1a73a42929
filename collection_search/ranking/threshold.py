"""Which pages score high enough to be ingested.

The wanted score is the run's `auto_ingest_min_score`: 60 by default, 0 to 100.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Final

from ..errors import QualityThresholdError

if TYPE_CHECKING:
    from collections.abc import Sequence

FALLBACK_SCORE: Final = 50.0
"""The lower threshold, used when too few pages reach the minimum score."""
ENOUGH_RESULTS: Final = 3


def select_for_ingestion(
    scores: Sequence[float], *, min_score: float, top_k: int
) -> tuple[list[int], float]:
    """Return the positions to ingest, best first, and the threshold that was used.

    The threshold falls to 50 when fewer than three pages reach `min_score`.
    Raises `QualityThresholdError` when none is good enough; a retry gives the same answer.

    >>> select_for_ingestion([72, 55, 31], min_score=60, top_k=10)
    ([0, 1], 50.0)
    """
    threshold = min_score
    if sum(score >= min_score for score in scores) < ENOUGH_RESULTS:
        threshold = min(min_score, FALLBACK_SCORE)
    chosen = [position for position, score in enumerate(scores) if score >= threshold]
    if not chosen:
        best = "there is none"
        if scores:  # rounded down, or the best would seem to suffice
            best = f"the best of {len(scores)} scores {math.floor(max(scores) * 10) / 10:.1f}"
        raise QualityThresholdError(
            f"no result scores {threshold:g} or more: {best}. Ask more precisely or try another "
            "search provider; or lower the minimum score, or choose the pages by hand."
        )
    return heapq.nsmallest(top_k, chosen, key=lambda i: (-scores[i], i)), threshold
