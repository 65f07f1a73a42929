"""The quality modes of a search: how many queries, how deep, how many results, who judges them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..contracts.options import NO_OPTIONS, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..contracts.state import QualityMode

MIN_QUERIES: Final = 3
MAX_QUERIES: Final = 5
"""Most queries of a run in any mode; a model is asked for this many."""
MIN_RESULTS_PER_QUERY: Final = 10


@dataclass(frozen=True, slots=True)
class JudgedBand:
    """The scores that leave a page's relevance open, so that a model or cross-encoder judges it."""

    least: float
    most: float
    max_pages: int
    """Of these scores, the best are judged: one call has to hold them."""

    def places(self, scores: Sequence[float]) -> list[int]:
        """Return the places of the scores to judge, in their order; the best score stands first.

        >>> JudgedBand(least=45, most=80, max_pages=2).places([91, 80, 62, 45, 44.9])
        [1, 2]
        """
        unsure = [place for place, score in enumerate(scores) if self.least <= score <= self.most]
        return unsure[: self.max_pages]


@dataclass(frozen=True, slots=True)
class SearchQuality:
    """How thoroughly a question is searched."""

    min_queries: int
    """A plan with fewer queries is completed."""
    oversample_factor: int
    """Rows to request for each wanted result."""
    options: SearchOptions = NO_OPTIONS
    """Options of the request."""
    judged_band: JudgedBand | None = None
    """Scores whose pages are judged after the ranking; None: no page is."""


QUALITY: Final[Mapping[QualityMode, SearchQuality]] = {
    "standard": SearchQuality(min_queries=MIN_QUERIES, oversample_factor=2),
    "premium": SearchQuality(
        min_queries=MAX_QUERIES,
        oversample_factor=4,
        options=SearchOptions(search_depth="deep"),
        judged_band=JudgedBand(least=45.0, most=80.0, max_pages=20),
    ),
}
"""The settings of each mode; a provider without a deep search reports it in the outcome."""


def rows_to_request(wanted: int, *, oversample_factor: int, page_size: int | None) -> int:
    """Return how many rows to request for the wanted results.

    Not more than one page of the provider, unless more are wanted: a second page costs money.

    >>> [rows_to_request(14, oversample_factor=2, page_size=size) for size in (None, 20, 10)]
    [28, 20, 14]
    """
    rows = wanted * oversample_factor
    return rows if page_size is None else max(wanted, min(rows, page_size))


def results_per_query(max_candidates: int, queries: int) -> int:
    """Return how many results to request for each query.

    >>> results_per_query(20, 3), results_per_query(5, 5)
    (14, 10)
    """
    return max(MIN_RESULTS_PER_QUERY, math.ceil(2 * max_candidates / queries))
