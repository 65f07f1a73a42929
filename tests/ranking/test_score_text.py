"""Scores as people read them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from collection_search.errors import QualityThresholdError
from collection_search.ranking.score_text import format_score
from collection_search.ranking.threshold import select_for_ingestion


@pytest.mark.parametrize(
    ("score", "beside", "shown"),
    [
        (59.96, 60.0, "59.9"),
        (60.0, 60.0, "60.0"),
        (64.3, 60.0, "64.3"),
        (4.35, 4.35, "4.35"),
        (59.98, 59.975, "59.98"),
        (99.99, 0.0, "99.9"),
        (100.0, 0.0, "100.0"),
        (0.0, 60, "0.0"),
        (np.float64(59.96), 60, "59.9"),
        (math.nan, 60, "nan"),
    ],
)
def test_scores_are_rounded_down(score: float, beside: float, shown: str) -> None:
    """To one decimal, or as exactly as the threshold beside them."""
    assert format_score(score, beside=beside) == shown


@pytest.mark.parametrize(("threshold", "shown"), [(60.0, "49.9"), (49.999, "49.99")])
def test_a_refusal_shows_no_score_that_would_do(threshold: float, shown: str) -> None:
    """The best score stays below the threshold that it is told with."""
    with pytest.raises(QualityThresholdError, match=rf"the best of 1 scores {shown}\."):
        select_for_ingestion([49.99], min_score=threshold, top_k=1)
