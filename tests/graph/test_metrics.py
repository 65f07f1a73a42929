"""What a run of the graph leaves in the metrics: queries, cost and tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import PLAN_USD, QUERIES, SEARCH_USD, PaidWorld, facts
from support.scrapes import scrape
from support.scripted_world import INPUT, good_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.adapters.metrics.prometheus import PrometheusMetrics
from collection_search.errors import ModelError
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder, ScriptedQueryModel

if TYPE_CHECKING:
    from pathlib import Path

COST = "p_cost_usd_total"
TOKENS = "p_tokens_total"
UNPRICED = "p_unpriced_requests_total"
CHAT = {"kind": "chat", "name": "gpt-4o-mini"}
EMBEDDING = {"kind": "embedding", "name": "text-embedding-3-small"}


@pytest.mark.slow
def test_cost_and_tokens_are_those_of_the_telemetry(tmp_path: Path) -> None:
    """Of plan, searches and embeddings; the second run is answered by what is known."""
    metrics = PrometheusMetrics("p_")
    with PaidWorld(tmp_path) as world:
        result = world.ask(search_metrics=metrics, tenant_id="acme")
        read = scrape(metrics.app())
        again = world.ask(search_metrics=metrics, tenant_id="acme")
    rank = facts(result, "rank")
    assert read.value(COST, **CHAT) == PLAN_USD
    assert read.value(TOKENS, **CHAT, direction="input") == 29
    assert read.value(TOKENS, **CHAT, direction="output") == 44
    assert read.value(COST, kind="search", name="tavily") == SEARCH_USD * len(QUERIES)
    assert read.value(COST, **EMBEDDING) == rank["cost_usd"] > 0
    assert read.value(TOKENS, **EMBEDDING, direction="input") == rank["input_tokens"] > 0
    assert sum(read.series(COST).values()) == pytest.approx(result["telemetry"]["cost_usd"])
    assert read.series(UNPRICED) == {}
    status = {"backend": "tavily", "status": "ok"}
    assert read.value("p_websearch_queries_total", **status) == len(QUERIES)
    after = scrape(metrics.app())
    assert again["telemetry"]["cost_usd"] == 0
    assert after.series(COST) == read.series(COST)
    assert after.series(TOKENS) == read.series(TOKENS)
    cached = {"backend": "tavily", "status": "cached"}
    assert after.value("p_websearch_queries_total", **cached) == len(QUERIES)


@pytest.mark.slow
def test_labels_hold_names_of_adapters_and_models_only(tmp_path: Path) -> None:
    """Neither tenant nor question, query, collection or address."""
    metrics = PrometheusMetrics("p_")
    with PaidWorld(tmp_path) as world:
        world.ask("What is asyncio?", search_metrics=metrics, tenant_id="acme", case_id="7")
    assert scrape(metrics.app()).label_values() == {
        *("tavily", "ok", "gpt-4o-mini", "text-embedding-3-small"),
        *("search", "chat", "embedding", "input", "output"),
    }


def run(home: Path, metrics: Any, **choices: Any) -> Any:
    context = SearchContext(
        settings=Settings(home=home, answer_cache_s=0),
        provider=ScriptedAdapter(good_pages()),
        search_metrics=metrics,
        **choices,
    )
    return CollectionSearchGraph(context).run(INPUT)[1]


def test_a_scripted_model_and_embedder_are_counted(tmp_path: Path) -> None:
    """Their price is not known, their tokens are."""
    metrics = PrometheusMetrics("p_")
    model = ScriptedQueryModel([f"asyncio {n}" for n in range(3)])
    result = run(tmp_path, metrics, model=model, embeddings=ScriptedEmbedder())
    read = scrape(metrics.app())
    embedding = {"kind": "embedding", "name": "64"}
    assert read.value(UNPRICED, **embedding) == 2  # the anchors, at first use
    assert (
        read.value(TOKENS, **embedding, direction="input") == facts(result, "rank")["input_tokens"]
    )
    plan = facts(result, "plan")
    chat = {"kind": "chat", "name": plan["model"]}
    counted = [read.value(TOKENS, **chat, direction=way) for way in ("input", "output")]
    assert counted == [plan["input_tokens"], plan["output_tokens"]]


def test_a_failed_model_call_has_an_unknown_cost(tmp_path: Path) -> None:
    """It may be billed; one that never reached the model is not."""
    for may_be_billed, expected in ((True, 1.0), (False, None)):
        metrics = PrometheusMetrics("p_")
        error = ModelError("no", may_be_billed=may_be_billed)
        embedder = ScriptedEmbedder(errors=[error])
        run(tmp_path, metrics, embeddings=embedder, ranking_profile="literal")
        read = scrape(metrics.app())
        assert read.value(UNPRICED, kind="embedding", name="64") == expected


def test_failing_metrics_change_no_run(tmp_path: Path) -> None:
    """The graph's output is that of a run without them."""

    class Failing:
        def record_search(self, *names: Any, **figures: Any) -> None:
            raise OSError("down")

        record_spending = watch_breaker = record_search

    plain, failing = (run(tmp_path, metrics) for metrics in (None, Failing()))
    assert failing["outcome"] == plain["outcome"] == "search_completed"
    assert failing["results"] == plain["results"]
