"""Comparison of two orders of the same pages, and of what each would ingest by score alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..errors import QualityThresholdError
from .threshold import select_for_ingestion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOP: Final = 10
"""Pages at the top of both orders whose overlap is told."""


class ScoredPage(NamedTuple):
    """One page of an order."""

    url: str
    score: float
    is_refused: bool = False
    """Whether the tenant's rules refuse it: it has a rank and is not ingested."""


class IngestionRule(NamedTuple):
    """The rule by which pages of both orders are ingested: see `select_for_ingestion`."""

    min_score: float
    top_k: int
    limit: int = 20
    """Best pages of an order that a run returns."""
    scales: tuple[str | None, str | None] = (None, None)
    """Scale of the scores of each order."""
    pool_size: int = 0
    """Pages that were ranked."""


class ComparedPlace(NamedTuple):
    """One page in both orders; ranks count from 1, None where an order lacks the page."""

    url: str
    rank_a: int | None
    score_a: float | None
    ingested_a: bool
    rank_b: int | None
    score_b: float | None
    ingested_b: bool


class OrderComparison(NamedTuple):
    """Two orders side by side."""

    places: list[ComparedPlace]
    """The pages of the first order, then those that only the second one has among its best."""
    top10_overlap: float
    """Share of the first ten that both have, 0 to 1."""
    rank_correlation: float | None
    """Spearman's over the pages of both orders, -1 to 1; None below two pages."""


def compare_orders(
    first: Sequence[ScoredPage], second: Sequence[ScoredPage], rule: IngestionRule
) -> OrderComparison:
    """Return two orders, best first, side by side.

    >>> a = [ScoredPage("x", 80), ScoredPage("y", 70), ScoredPage("z", 20)]
    >>> b = [ScoredPage("y", 90), ScoredPage("x", 30), ScoredPage("z", 10)]
    >>> found = compare_orders(a, b, IngestionRule(min_score=60, top_k=10))
    >>> [(each.url, each.ingested_a, each.ingested_b) for each in found.places]
    [('x', True, False), ('y', True, True), ('z', False, False)]
    >>> found.top10_overlap, found.rank_correlation
    (1.0, 0.5)
    """
    best_a, best_b = first[: rule.limit], second[: rule.limit]
    a, b = _ranks(best_a), _ranks(second)
    ingested_a = _ingested(best_a, rule, rule.scales[0])
    ingested_b = _ingested(best_b, rule, rule.scales[1])

    def place(url: str) -> ComparedPlace:
        return ComparedPlace(
            url,
            a.get(url),
            best_a[a[url] - 1].score if url in a else None,
            url in ingested_a,
            b.get(url),
            second[b[url] - 1].score if url in b else None,
            url in ingested_b,
        )

    urls = dict.fromkeys([*a, *(page.url for page in best_b)])
    return OrderComparison([place(url) for url in urls], _overlap(best_a, best_b), spearman(a, b))


def spearman(a: Mapping[str, int], b: Mapping[str, int]) -> float | None:
    """Return the correlation of two rankings over the pages of both; None below two pages.

    >>> spearman({"x": 1, "y": 2}, {"y": 1, "x": 7})
    -1.0
    """
    both = sorted(a.keys() & b.keys())
    n = len(both)
    if n < 2:  # noqa: PLR2004 - one page has no order
        return None
    anew_a, anew_b = (
        {url: place for place, url in enumerate(sorted(both, key=ranks.__getitem__))}
        for ranks in (a, b)
    )
    apart = sum((anew_a[url] - anew_b[url]) ** 2 for url in both)
    return round(1 - 6 * apart / (n * (n * n - 1)), 4)


def _ranks(order: Sequence[ScoredPage]) -> dict[str, int]:
    return {page.url: rank for rank, page in enumerate(order, start=1)}


def _overlap(a: Sequence[ScoredPage], b: Sequence[ScoredPage]) -> float:
    tops = [{page.url for page in order[:TOP]} for order in (a, b)]
    larger = max(map(len, tops))
    return round(len(tops[0] & tops[1]) / larger, 4) if larger else 1.0


def _ingested(order: Sequence[ScoredPage], rule: IngestionRule, scale: str | None) -> set[str]:
    try:
        chosen = select_for_ingestion(
            [page.score for page in order],
            min_score=rule.min_score,
            top_k=rule.top_k,
            scale=scale,
            pool_size=rule.pool_size,
            eligible=[n for n, page in enumerate(order) if not page.is_refused],
        )
    except QualityThresholdError:
        return set()
    return {order[place].url for place in chosen.positions}
