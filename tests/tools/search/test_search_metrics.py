"""What a search leaves in the metrics, read as a Prometheus server reads it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.routes import opened
from support.scrapes import Scrape, ascrape, scrape
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings, WebSearchService, WebSearchWorker
from collection_search.adapters.metrics.prometheus import PrometheusMetrics
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.cassette import Cassette
from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import (
    BY_CODE,
    CostLimitReached,
    InvalidQueryError,
    SearchProviderTimeout,
)
from collection_search.resilience import ProviderGuard
from collection_search.runtime import metering
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import (
    FakeClock,
    ProviderServer,
    ScriptedAdapter,
    example_context,
    rows,
)
from collection_search.testing.providers.brave import MONTHLY_LEFT
from collection_search.testing.providers.wire import KEY
from collection_search.tools.search.telemetry import RATIONALES
from collection_search.tools.spending.budget import RunBudget

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = "p_websearch_queries_total"
RESULTS = "p_websearch_results_returned"
LATENCY = "p_websearch_latency_seconds"
RETRIES = "p_websearch_retries_total"
OPEN = "p_websearch_breaker_open"
QUOTA = "p_websearch_quota_remaining"
COST = "p_cost_usd_total"
UNPRICED = "p_unpriced_requests_total"


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics("p_")


def searched(adapter: Any, metrics: Any, *, query: str = "asyncio", **options: Any) -> Any:
    """Search once without waiting."""
    clock = FakeClock()
    usual = {"sleep": clock.sleep, "timer": clock.monotonic, "spans": NULL_SINK}
    worker = WebSearchWorker(adapter, metrics=metrics, **{**usual, **options})
    return worker.run(query=query, context=example_context())


def statuses(read: Scrape) -> dict[tuple[str, str], float]:
    """Return the queries by backend and status."""
    return {
        (dict(labels)["backend"], dict(labels)["status"]): count
        for labels, count in read.series(QUERIES).items()
    }


def test_a_success_is_counted_with_its_results(metrics: PrometheusMetrics) -> None:
    """One query, the results that were returned, and its time; the worker has no guard here."""
    response = searched(ScriptedAdapter(rows(5)), metrics, max_results=4)
    read = scrape(metrics.app())
    assert statuses(read) == {("scripted", "ok"): 1.0}
    assert read.value(f"{RESULTS}_sum", backend="scripted") == len(response.results) == 4
    assert read.value(f"{LATENCY}_count", backend="scripted") == 1.0
    assert read.value(RETRIES, backend="scripted") == 0.0
    assert read.value(UNPRICED, kind="search", name="scripted") == 1.0
    assert (read.series(OPEN), read.series(QUOTA)) == ({}, {})


@pytest.mark.parametrize("code", RATIONALES)
def test_a_failure_is_counted_by_its_rationale(metrics: PrometheusMetrics, code: Any) -> None:
    """The word of the outcome is the status, with no result."""
    response = searched(ScriptedAdapter(BY_CODE[code]("no")), metrics)
    read = scrape(metrics.app())
    assert response.outcome.rationale == RATIONALES[code]
    assert statuses(read) == {("scripted", RATIONALES[code]): 1.0}
    assert read.series(f"{RESULTS}_count") == {}
    assert read.value(RETRIES, backend="scripted") == response.outcome.meta["attempts"] - 1
    assert read.value(f"{LATENCY}_count", backend="scripted") == 1.0


@pytest.mark.parametrize(
    ("query", "limit", "answer", "status", "is_asked"),
    [
        ("  ", None, [], "invalid_query", False),
        ("asyncio", 0.0, [], "cost_limit_reached", False),
        ("asyncio", None, ValueError("bug"), "unexpected_error", True),
    ],
)
def test_failures_that_are_not_the_providers(
    metrics: PrometheusMetrics,
    query: str,
    *,
    limit: float | None,
    answer: Any,
    status: str,
    is_asked: bool,
) -> None:
    """Where nobody was asked there is no time to count."""
    adapter = ScriptedAdapter(answer, provider_name="tavily")
    response = searched(adapter, metrics, query=query, budget=RunBudget(limit))
    read = scrape(metrics.app())
    kinds = {"invalid_query": InvalidQueryError, "cost_limit_reached": CostLimitReached}
    assert response.outcome.meta["error"]["kind"] == kinds.get(status, ValueError).__name__
    assert statuses(read) == {("tavily", status): 1.0}
    assert (read.value(f"{LATENCY}_count", backend="tavily") is not None) == is_asked


def test_retries_are_counted_and_their_time(metrics: PrometheusMetrics) -> None:
    """Two failures and a success: one query, two retries, and the waits between them."""
    down = BY_CODE["serviceUnavailable"]("down")
    searched(ScriptedAdapter(down, down, rows(2)), metrics)
    read = scrape(metrics.app())
    assert statuses(read) == {("scripted", "ok"): 1.0}
    assert read.value(RETRIES, backend="scripted") == 2.0
    assert read.value(f"{LATENCY}_sum", backend="scripted") == pytest.approx(0.6 + 1.2)


async def test_a_cancelled_search_is_counted(metrics: PrometheusMetrics) -> None:
    """It was asked and may be billed; whoever cancels it is not held up."""

    class Hanging(ScriptedAdapter):
        async def asearch(self, *arguments: Any, **options: Any) -> Any:
            self.requests.append(arguments[0])
            await asyncio.Event().wait()

    adapter = Hanging(provider_name="tavily")
    worker = WebSearchWorker(adapter, metrics=metrics, spans=NULL_SINK)
    task = asyncio.ensure_future(worker.arun(query="asyncio", context=example_context()))
    await wait_until_async(lambda: adapter.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    read = await ascrape(metrics.app())
    assert statuses(read) == {("tavily", "cancelled"): 1.0}
    assert read.value(COST, kind="search", name="tavily") == 0.008


@pytest.mark.slow
def test_the_breaker_opens_and_closes_again(metrics: PrometheusMetrics) -> None:
    """The gauge follows the provider's guard, over loopback; refused searches cost no time."""
    clock = FakeClock()
    guard = ProviderGuard("tavily", clock=clock.monotonic, wall_clock=clock.time)
    with ProviderServer("tavily") as server:
        worker = WebSearchWorker(
            TavilySearch(api_key=KEY, base_url=server.base_url),
            sleep=clock.sleep,
            timer=clock.monotonic,
            guard=guard,
            spans=NULL_SINK,
            metrics=metrics,
        )

        def search() -> Scrape:
            worker.run(query="asyncio", context=example_context())
            return scrape(metrics.app())

        assert search().value(OPEN, backend="tavily") == 0.0
        server.fail("plan_used_up")
        assert search().value(OPEN, backend="tavily") == 1.0
        asked = len(server.requests)
        read = search()
        assert len(server.requests) == asked
        assert read.value(f"{LATENCY}_count", backend="tavily") == 2.0
        assert statuses(read) == {
            ("tavily", "ok"): 1.0,
            ("tavily", "provider_quota_exceeded"): 2.0,
        }
        server.recover()
        clock.sleep(40 * 86_400)
        assert scrape(metrics.app()).value(OPEN, backend="tavily") == 1.0  # until a trial succeeds
        assert search().value(OPEN, backend="tavily") == 0.0


def settings(home: Path, *servers: ProviderServer, **more: Any) -> Settings:
    known = {
        server.dialect.name: {"api_key": server.dialect.key, "base_url": server.base_url}
        for server in servers
    }
    name = servers[0].dialect.name
    return Settings(**{"home": home, "providers": known, "provider": name, **more})


@pytest.mark.slow
async def test_the_quota_that_a_provider_tells_is_shown(
    tmp_path: Path, metrics: PrometheusMetrics
) -> None:
    """Of its own answer, and not of a cached one, which may be of another day."""
    with ProviderServer("brave") as server:
        context = SearchContext(settings=settings(tmp_path, server), search_metrics=metrics)
        async with opened(context) as route:
            call = context.tool_context(context.ids())
            await route.arun(query="asyncio", context=call)
            read = await ascrape(metrics.app())
            assert read.value(QUOTA, backend="brave") == MONTHLY_LEFT
            metrics.record_search(
                "brave", status="ok", result_count=1, latency_s=0, attempts=1, quota_remaining=3
            )
            again = await route.arun(query="asyncio", context=call)
    read = await ascrape(metrics.app())
    assert again.outcome.meta["quota_remaining"] == MONTHLY_LEFT
    assert read.value(QUOTA, backend="brave") == 3.0


async def test_a_cached_answer_is_a_status_of_its_own(
    tmp_path: Path, metrics: PrometheusMetrics
) -> None:
    """It adds neither results nor time nor cost to what the provider did."""
    with ProviderServer("tavily") as server:
        context = SearchContext(settings=settings(tmp_path, server), search_metrics=metrics)
        async with opened(context) as route:
            call = context.tool_context(context.ids())
            both = [await route.arun(query="asyncio", context=call) for _ in range(2)]
        assert len(server.requests) == 1
    read = await ascrape(metrics.app())
    assert [len(response.results) for response in both] == [5, 5]
    assert statuses(read) == {("tavily", "ok"): 1.0, ("tavily", "cached"): 1.0}
    assert read.value(f"{RESULTS}_count", backend="tavily") == 1.0
    assert read.value(f"{LATENCY}_count", backend="tavily") == 1.0
    assert read.value(COST, kind="search", name="tavily") == 0.008
    assert read.label_values() == {"tavily", "ok", "cached", "search"}


def test_a_fallback_is_counted_under_its_own_name(
    tmp_path: Path,
) -> None:
    """The service counts by its settings: the first one's failure, the second one's success."""
    with ProviderServer("tavily") as first, ProviderServer("brave") as second:
        first.fail("unauthorized")
        chosen = settings(
            tmp_path, first, second, use_fallback=True, metrics=True, metrics_prefix="fallback_"
        )
        found = WebSearchService(chosen).search("asyncio")
    assert found.provider == "brave"
    read = scrape(PrometheusMetrics.of_prefix("fallback_").app())
    assert read.series("fallback_websearch_queries_total") == {
        (("backend", "tavily"), ("status", "provider_authentication_failed")): 1.0,
        (("backend", "brave"), ("status", "ok")): 1.0,
    }


@pytest.mark.parametrize("method", ["run", "arun"])
def test_a_worker_on_its_own_counts_by_the_settings_of_the_process(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """As its observations go where they say."""
    prefix = f"alone_{method}_"
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS", "true")
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS_PREFIX", prefix)
    worker = WebSearchWorker(ScriptedAdapter(rows(1)), spans=NULL_SINK)
    call: dict[str, Any] = {"query": "asyncio", "context": example_context()}
    for _ in range(2):
        if method == "run":
            worker.run(**call)
        else:
            asyncio.run(worker.arun(**call))
    read = scrape(PrometheusMetrics.of_prefix(prefix).app())
    assert read.value(f"{prefix}websearch_queries_total", backend="scripted", status="ok") == 2.0


async def test_a_replay_counts_nothing(tmp_path: Path, metrics: PrometheusMetrics) -> None:
    """No provider was asked, and nothing was paid."""
    path = tmp_path / "run.cassette"
    for open_cassette in (Cassette.record, Cassette.replay):
        context = SearchContext(
            settings=Settings(home=tmp_path),
            provider=ScriptedAdapter(rows(2)) if open_cassette is Cassette.record else None,
            cassette=open_cassette(path),
            search_metrics=metrics,
        )
        async with opened(context) as route:
            call = context.tool_context(context.ids())
            response = await route.arun(query="asyncio", context=call)
        assert len(response.results) == 2
    assert statuses(await ascrape(metrics.app())) == {("scripted", "ok"): 1.0}


class Failing:
    """Metrics that fail."""

    def record_search(self, *names: Any, **figures: Any) -> None:
        raise OSError("the agent is down")

    record_spending = watch_breaker = record_search


@pytest.mark.parametrize("answer", [rows(3), SearchProviderTimeout("slow")])
def test_failing_metrics_change_no_answer(
    answer: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same outcome as without them, and one warning."""
    monkeypatch.setattr(metering, "_reported", [])
    guard = ProviderGuard("scripted")
    plain = searched(ScriptedAdapter(answer), None, guard=guard)
    failing = searched(ScriptedAdapter(answer), Failing(), guard=guard)
    assert failing.results == plain.results
    ignored = {"worker_call_id": "", "latency_ms": 0}
    assert failing.outcome.meta | ignored == plain.outcome.meta | ignored
    assert [record.message for record in caplog.records] == [
        "Metrics failed (OSError: the agent is down). The work goes on without them."
    ]


def test_what_the_provider_billed_is_counted(metrics: PrometheusMetrics) -> None:
    """Its own figure, and the attempts of a price that nobody knows."""
    answers = [SearchAdapterResponse(rows(1), 200, cost_usd=0.25), rows(1)]
    adapter = ScriptedAdapter(*answers, provider_name="unheard_of")
    for _ in answers:
        searched(adapter, metrics)
    read = scrape(metrics.app())
    assert read.value(COST, kind="search", name="unheard_of") == 0.25
    assert read.value(UNPRICED, kind="search", name="unheard_of") == 1.0
