"""The estimate: nobody is called, and the run then costs what was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import SEARCH_USD, PaidWorld

from collection_search import CollectionSearchGraph, GraphInput, SearchContext, Settings
from collection_search.cassette import Cassette
from collection_search.cli.shared.run_estimate import format_estimate
from collection_search.contracts.price_list import JUDGEMENT_TOKENS, LIST_PRICES
from collection_search.contracts.prices import CHARS_PER_TOKEN
from collection_search.planning.premium_prompt import PAGE_CHARS
from collection_search.ranking.anchors import anchor_texts
from collection_search.settings.price_settings import OwnPrices
from collection_search.testing import ScriptedAdapter
from collection_search.tools.estimate import estimate_run

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.tools.estimate import Estimate

GIVEN: dict[str, Any] = {
    "question": "How does asyncio work?",
    "collection_scope": "c",
    "purpose": "docs",
}


async def told(context: SearchContext, **given: Any) -> Estimate:
    return await estimate_run(GraphInput(**GIVEN | given), context)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["tavily", "brave", "serper", "exa", "searxng"])
@pytest.mark.parametrize("candidates", [20, 40])
async def test_a_run_costs_what_was_estimated(
    tmp_path: Path, provider: str, candidates: int
) -> None:
    """Each part within its range; the estimate itself calls nobody."""
    with PaidWorld(tmp_path, provider=provider) as world:
        context = world.context()
        estimate = await told(context, max_candidates=candidates)
        assert (world.models.requests, world.search.requests) == ([], [])
        _, result = await CollectionSearchGraph(context).arun(
            GIVEN | {"max_candidates": candidates}
        )
    nodes = result["telemetry"]["nodes"]
    costs = {
        "plan": nodes["k_generate_strategy"]["cost_usd"],
        "search": nodes["k_parallel_web_search"]["cost_usd"],
        "rank": nodes["k_embedding_rank"]["cost_usd"],
    }
    parts = {part.task: part for part in estimate.parts}
    if provider == "searxng":
        assert "search" not in parts
    else:
        assert (parts["search"].low_usd or 0) <= costs["search"] <= (parts["search"].high_usd or 0)
    for task in ("plan", "rank"):  # its texts are shorter than real ones
        assert 0 < costs[task] <= (parts[task].high_usd or 0)
    assert result["telemetry"]["cost_usd"] <= estimate.high_usd
    assert estimate.unknown == []


async def test_without_a_model_the_number_of_queries_is_known(tmp_path: Path) -> None:
    """Three, and five for premium; the price is exact then."""
    with PaidWorld(tmp_path, provider="brave") as world:
        context = world.context({"model": None}, embeddings="lexical")
        [search] = (await told(context)).parts
        assert (search.low, search.high, search.low_usd) == (3, 3, 0.015)
        [premium] = (await told(context, quality_mode="premium")).parts
        assert premium.low >= 5


async def test_premium_has_unsure_pages_judged(tmp_path: Path) -> None:
    """From nothing, since none may be unsure; not where nobody or a cross-encoder judges."""
    with PaidWorld(tmp_path) as world:
        parts = {part.task: part for part in (await told(world.context())).parts}
        assert "judge" not in parts
        for judge, is_paid in (("model", True), ("none", False), ("local:/nowhere", False)):
            estimate = await told(world.context(reranker=judge), quality_mode="premium")
            parts = {part.task: part for part in estimate.parts}
            assert ("judge" in parts) == is_paid
            if is_paid:
                assert (parts["judge"].low, parts["judge"].low_usd) == (0, 0.0)
                assert 0 < (parts["judge"].high_usd or 0) < 0.01


async def test_the_output_of_a_judge_grows_with_the_pages(tmp_path: Path) -> None:
    """A judgement each: what twenty pages may take is more than what five may."""
    with PaidWorld(tmp_path) as world:
        context = world.context(reranker="model")
        costs = []
        for most in (5, 20):
            estimate = await told(context, quality_mode="premium", max_candidates=most)
            costs += [part.high for part in estimate.parts if part.task == "judge"]
        few, many = costs
        shown = PAGE_CHARS // CHARS_PER_TOKEN
        assert many - few >= 15 * (JUDGEMENT_TOKENS + shown)


async def test_ingestion_costs_when_it_is_asked_for(tmp_path: Path) -> None:
    """From nothing, since no page may be good enough, to the longest pages."""
    with PaidWorld(tmp_path) as world:
        tasks = [part.task for part in (await told(world.context())).parts]
        assert tasks == ["plan", "search", "rank", "anchors"]
        few, many = [
            (await told(world.context(), auto_ingest=True, auto_ingest_top_k=k)).parts[-1]
            for k in (1, 20)
        ]
    assert few.task == many.task == "ingest"
    assert few.low_usd == many.low_usd == 0.0
    assert many.high_usd == pytest.approx(20 * (few.high_usd or 0), rel=0.01)


async def test_what_is_free_is_no_part(tmp_path: Path) -> None:
    """Offline, deterministic and lexical: nothing to pay."""
    settings = Settings(home=tmp_path)
    estimate = await told(SearchContext(settings=settings, provider="offline"))
    assert (estimate.parts, estimate.low_usd, estimate.high_usd) == ([], 0.0, 0.0)


async def test_unknown_prices_are_named_and_not_guessed(tmp_path: Path) -> None:
    """The sums are those of the rest."""
    context = SearchContext(settings=Settings(home=tmp_path), provider=ScriptedAdapter())
    estimate = await told(context)
    assert estimate.unknown == ["scripted"]
    assert (estimate.low_usd, estimate.high_usd) == (0.0, 0.0)
    [part] = estimate.parts
    assert part.as_dict()["priced_on"] is None


async def test_prices_of_one_s_own_are_estimated_without_a_day(tmp_path: Path) -> None:
    """The text says whose they are."""
    mine = OwnPrices.model_validate({"search": {"scripted": {"per_thousand_requests": 3}}})
    settings = Settings(home=tmp_path, prices=mine)
    estimate = await told(SearchContext(settings=settings, provider=ScriptedAdapter()))
    [part] = estimate.parts
    assert (part.low_usd, part.as_dict()["priced_on"]) == (0.009, None)
    assert any("at your own price" in line for line in format_estimate(estimate, None))


@pytest.mark.parametrize("is_on", [True, False])
async def test_the_fallback_is_in_the_range(tmp_path: Path, is_on: bool) -> None:
    """From nothing, since it may not be asked, to all queries; only when it is switched on."""
    access = {name: {"api_key": "made-up-key-0123456789"} for name in ("tavily", "brave")}
    settings = Settings(home=tmp_path, providers=access, use_fallback=is_on)
    estimate = await told(SearchContext(settings=settings, provider="tavily"))
    parts = {part.task: part for part in estimate.parts}
    assert ("fallback" in parts) == is_on
    if is_on:
        brave = parts["fallback"]
        assert (brave.name, brave.low, brave.low_usd) == ("brave", 0, 0.0)
        assert estimate.low_usd == parts["search"].low_usd
        assert (brave.high_usd or 0) > 0
        assert estimate.high_usd == pytest.approx(
            (parts["search"].high_usd or 0) + (brave.high_usd or 0)
        )


async def test_a_new_embedder_is_estimated_with_its_anchors(tmp_path: Path) -> None:
    """At first use alone; the ranking by `literal` needs no scale, and what is free no part."""
    with PaidWorld(tmp_path) as world:
        context = world.context()
        [anchors] = [part for part in (await told(context)).parts if part.task == "anchors"]
        await CollectionSearchGraph(context).arun(GIVEN)
        [paid] = [
            LIST_PRICES.embedding_cost(anchors.name, sum(map(len, map(str.split, texts))))
            for texts in (one.body.get("input", []) for one in world.models.requests)
            if texts[:1] == anchor_texts()[:1]
        ]
        assert 0 < (paid or 0) <= (anchors.high_usd or 0) < 0.001
        assert 0 < (anchors.low_usd or 0) <= (anchors.high_usd or 0)
        later = await told(context)
        literal = await told(world.context({"home": tmp_path / "new"}, ranking_profile="literal"))
        recorded = await told(world.context(cassette=Cassette.record(tmp_path / "tape")))
    for estimate, has_anchors in ((later, False), (literal, False), (recorded, True)):
        assert ("anchors" in [part.task for part in estimate.parts]) == has_anchors


@pytest.mark.slow
async def test_what_is_known_from_before_is_free(tmp_path: Path) -> None:
    """Plan and searches of the same question; pages seen before may be, so that it starts at 0."""
    with PaidWorld(tmp_path) as world:
        context = world.context()
        assert not (await told(context)).known
        await CollectionSearchGraph(context).arun(GIVEN)
        world.forget()
        estimate = await told(context)
        assert (world.models.requests, world.search.requests) == ([], [])
        assert estimate.known == ["the plan", "4 of 4 searches"]
        assert [part.task for part in estimate.parts] == ["rank"]
        assert estimate.low_usd == 0 < estimate.high_usd
        _, result = await CollectionSearchGraph(context).arun(GIVEN)
        assert result["telemetry"]["cost_usd"] == 0
        anew = await told(world.context(asks_anew=True))
        assert (anew.known, anew.low_usd > 0) == ([], True)


async def test_searches_that_are_new_are_paid_for(tmp_path: Path) -> None:
    """Without a model the queries are known at once; other counts are other searches."""
    with PaidWorld(tmp_path) as world:
        context = world.context({"model": None, "embeddings": "lexical"})
        new = await told(context)
        assert (new.known, new.low_usd) == ([], 3 * SEARCH_USD)
        await CollectionSearchGraph(context).arun(GIVEN)
        known = await told(context)
        assert (known.known, known.parts) == (["3 of 3 searches"], [])
        assert not (await told(context, max_candidates=40)).known
