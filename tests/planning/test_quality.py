"""A quality mode means the same to a run and to its estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import INPUT, good_pages

from collection_search import CollectionSearchGraph, GraphInput, SearchContext, Settings
from collection_search.contracts.options import SearchOptions
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.planning.quality import QUALITY
from collection_search.ranking.threshold import FALLBACK_SCORE
from collection_search.tools.estimate import estimate_run

if TYPE_CHECKING:
    from pathlib import Path


class PricedAdapter:
    """Remembers what was searched for, and what a price was asked for."""

    provider_name = "tavily"

    def __init__(self, page_size: int | None) -> None:
        self.page_size = page_size
        self.searched: list[tuple[int, SearchOptions]] = []
        self.priced: list[tuple[int, SearchOptions]] = []

    def search(
        self, _: str, *, max_results: int, options: SearchOptions | None = None, **__: Any
    ) -> SearchAdapterResponse:
        self.searched.append((max_results, options or SearchOptions()))
        return SearchAdapterResponse(results=good_pages())

    def price(self, max_results: int, options: SearchOptions) -> tuple[int, float]:
        self.priced.append((max_results, options))
        return 1, 2.0 if options.search_depth == "deep" else 1.0


@pytest.mark.slow
@pytest.mark.parametrize("page_size", [None, 10, 20])
@pytest.mark.parametrize("mode", list(QUALITY))
@pytest.mark.parametrize("candidates", [5, 40])
async def test_the_estimate_expects_the_searches_that_the_run_makes(
    tmp_path: Path, page_size: int | None, mode: str, candidates: int
) -> None:
    """As many queries, for as many rows, with the same options; so the price is exact."""
    adapter = PricedAdapter(page_size)
    context = SearchContext(settings=Settings(home=tmp_path), provider=adapter)
    given = {**INPUT, "quality_mode": mode, "max_candidates": candidates}
    [search] = (await estimate_run(GraphInput(**given), context)).parts
    [most] = {count for count, _ in adapter.priced[1::2]}
    [options] = {options.search_depth for _, options in adapter.priced}
    _, result = await CollectionSearchGraph(context).arun(given)
    assert {(most, options)} == {(count, asked.search_depth) for count, asked in adapter.searched}
    assert len(result["strategy"]["queries"]) == len(adapter.searched)
    assert result["telemetry"]["cost_usd"] == pytest.approx(search.high_usd)


def test_premium_is_more_of_everything() -> None:
    """Five queries, deep search where there is one, twice the rows for each result."""
    standard, premium = QUALITY["standard"], QUALITY["premium"]
    assert (standard.min_queries, premium.min_queries) == (3, 5)
    assert premium.oversample_factor == 2 * standard.oversample_factor
    assert (standard.options.search_depth, premium.options.search_depth) == (None, "deep")


def test_the_band_lies_around_both_thresholds() -> None:
    """60 and the fall-back of 50; only premium has one."""
    band = QUALITY["premium"].judged_band
    assert band is not None
    assert band.least < FALLBACK_SCORE < 60 < band.most
    assert QUALITY["standard"].judged_band is None
