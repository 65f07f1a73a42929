"""The quality modes of a search: how many queries, how deep, and for how many results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..contracts.options import NO_OPTIONS, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contracts.state import QualityMode

MIN_QUERIES: Final = 3
MAX_QUERIES: Final = 5
"""Most queries of a run in any mode; a model is asked for this many."""
MIN_RESULTS_PER_QUERY: Final = 10


@dataclass(frozen=True, slots=True)
class SearchQuality:
    """How thoroughly a question is searched."""

    min_queries: int
    """A plan with fewer queries is completed."""
    oversample_factor: int
    """Rows to request for each wanted result."""
    options: SearchOptions = NO_OPTIONS
    """Options of the request."""


QUALITY: Final[Mapping[QualityMode, SearchQuality]] = {
    "standard": SearchQuality(min_queries=MIN_QUERIES, oversample_factor=2),
    "premium": SearchQuality(
        min_queries=MAX_QUERIES,
        oversample_factor=4,
        options=SearchOptions(search_depth="deep"),
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
