"""The overhead benchmark judges rightly, and its two contestants do the same job."""

from __future__ import annotations

import doctest
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.benchmark_modules import benchmark

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.adapters.http import HttpRequest, send

if TYPE_CHECKING:
    from pathlib import Path

contestants, floor, measure = (benchmark(name) for name in ("contestants", "floor", "measure"))
overhead_report, stub, world = (benchmark(name) for name in ("overhead_report", "stub", "world"))
AT_ONCE = {"chat": 0.0, "search": 0.0, "embeddings": 0.0}


@pytest.mark.parametrize("name", ["measure", "world"])
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(benchmark(name)).failed == 0


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(3, 7)], 4),
        ([(0, 2), (2, 5)], 5),
        ([(0, 10), (2, 5)], 10),
        ([(6, 8), (0, 3), (1, 4)], 6),
    ],
)
def test_union_of_intervals(intervals: list[tuple[int, int]], length: int) -> None:
    assert measure.union(intervals) == length


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["tavily", "searxng"])
async def test_floor_and_product_find_the_same_pages(provider: str, tmp_path: Path) -> None:
    async with stub.serving(AT_ONCE) as servers:
        config = {"home": str(tmp_path), "provider": provider}
        config |= {name: getattr(servers, name) for name in ("models_url", "search_url")}

        async def post(url: str, body: Any) -> bytes:
            return (await send(HttpRequest("POST", url, json=body), timeout_s=60)).body

        question = world.question(5)
        urls = (config["models_url"], config["search_url"])
        by_hand = await floor.ask(question, post, *urls, limit=40)
        graph = CollectionSearchGraph(SearchContext(settings=contestants.settings_of(config)))
        _, result = await graph.arun(
            {"question": question, "collection_scope": "c", "purpose": "p", "max_candidates": 40}
        )
    assert result["flags"] == []
    assert len(by_hand) == len(result["results"]) == world.PAGES
    assert {world.page_of(url) for url in by_hand} == world.pages(5)
    assert {world.page_of(row["url"]) for row in result["results"]} == world.pages(5)


def good_round() -> Any:
    """Return one question as the product should take it."""
    urls = [f"https://{page}" for page in sorted(world.pages(1))][:20]
    nodes = {
        "k_generate_strategy": {"cost_usd": 0.1},
        "k_parallel_web_search": {"cost_usd": 0.2},
        "k_embedding_rank": {"cost_usd": 0.0003},
    }
    telemetry = {"nodes": nodes, "cost_usd": 0.3003, "cost_complete": True}
    return measure.Round(
        wall_ms=710.0,
        busy_ms=700.0,
        cpu_ms=10.0,
        waited_ms=0.0,
        stub_cpu_ms=2.0,
        peak_mib=150.0,
        calls={"chat": 1, "search": 4, "embeddings": 1},
        new_connections=0,
        embedding_items=31,
        tokens={"chat input": 200, "chat output": 30, "embeddings": 2200},
        answers=[{"urls": urls, "telemetry": telemetry}],
        errors=[],
        numbers=[1],
    )


def found_with(product: Any) -> Any:
    """Return findings in which all but the product's last round is as it should be."""
    names = (overhead_report.FLOOR, overhead_report.PRODUCT, overhead_report.TRACED)
    alone = {name: [good_round(), good_round()] for name in names}
    alone[overhead_report.PRODUCT][-1] = product
    crowds = {size: {name: [good_round(), product] for name in names[:2]} for size in (50, 200)}
    return overhead_report.Findings("tavily", alone, crowds, spans=11.0, loads=["0", "0"])


def test_good_rounds_reach_every_goal() -> None:
    assert [
        goal.name for goal in overhead_report.goals(found_with(good_round())) if not goal.holds
    ] == []


@pytest.mark.parametrize(
    ("flaw", "missed"),
    [
        ({"calls": {"chat": 2, "search": 4, "embeddings": 1}}, "calls of one question"),
        ({"embedding_items": 38}, "embedding items"),
        ({"new_connections": 1}, "new connections once warm"),
        ({"wall_ms": 760.0}, "overhead, to the floor's"),
        ({"cpu_ms": 90.0}, "CPU, to the floor's"),
        ({"peak_mib": 201.0}, "memory with 200 at once"),
        ({"errors": ["TimeoutError()"], "answers": []}, "errors"),
        ({"numbers": [2]}, "sources that nobody served"),
    ],
)
def test_a_flawed_round_misses_its_goal(flaw: dict[str, Any], missed: str) -> None:
    goals = overhead_report.goals(found_with(replace(good_round(), **flaw)))
    assert missed in [goal.name for goal in goals if not goal.holds]


def test_a_page_that_stands_there_twice_is_seen() -> None:
    flawed = good_round()
    flawed.answers[0]["urls"][1] = flawed.answers[0]["urls"][0] + "?utm_source=letter"
    goals = overhead_report.goals(found_with(flawed))
    assert [goal.name for goal in goals if not goal.holds] == ["pages twice in the top 20"]


@pytest.mark.parametrize(
    ("rank", "total"), [(0.0004, 0.3004), (0.0003, 0.30030000000000001 + 1e-9)]
)
def test_a_dear_rank_or_a_wrong_sum_is_seen(rank: float, total: float) -> None:
    flawed = good_round()
    telemetry = flawed.answers[0]["telemetry"]
    telemetry["nodes"]["k_embedding_rank"]["cost_usd"] = rank
    telemetry["cost_usd"] = total
    goals = overhead_report.goals(found_with(flawed))
    assert len([goal.name for goal in goals if not goal.holds]) == 1


def test_the_report_shows_every_goal() -> None:
    found = found_with(good_round())
    found.alone[overhead_report.HTTPX] = [good_round(), good_round()]
    text = overhead_report.report(found)
    assert text.count("| pass |") == len(list(overhead_report.goals(found)))
    assert "**miss**" not in text
