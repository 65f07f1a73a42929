"""An answer that was paid for is used again: by worker, service and graph, and by nobody else."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from support.routes import opened
from support.scripted_world import INPUT

from collection_search import (
    CollectionSearchGraph,
    SearchContext,
    Settings,
    WebSearchError,
    WebSearchService,
)
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.contracts.options import SearchOptions
from collection_search.errors import CostLimitReached, StoreError
from collection_search.ports.search_function import Asked
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import (
    FakeClock,
    ProviderServer,
    RecordingSink,
    ScriptedAdapter,
    example_context,
    rows,
)
from collection_search.testing.providers.wire import KEY
from collection_search.tools.search.cache import SearchCache
from collection_search.tools.web_search import WebSearchWorker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

METHODS = ("run", "arun", "service")
PATIENCE_S = 60.0


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer("tavily") as running:
        yield running


@pytest.fixture
def settings(tmp_path: Path, server: ProviderServer) -> Settings:
    return Settings(
        home=tmp_path,
        provider="tavily",
        providers={"tavily": {"api_key": KEY, "base_url": server.base_url}},
        search_timeout_s=PATIENCE_S,
        run_deadline_s=2 * PATIENCE_S,
    )


async def routed(context: SearchContext, query: str = "asyncio", **wish: Any) -> Any:
    """Return the outcome and the pages of one search with the limits of the context."""
    sink, count = wish.pop("sink", NULL_SINK), wish.pop("count", 5)
    options = SearchOptions(**wish) if wish else None
    async with opened(context, count=count, sink=sink) as route:
        return await route.arun(query=query, context=example_context(), options=options)


async def by_the_worker(context: SearchContext, method: str, query: str = "asyncio") -> Any:
    """Return the same from the provider's worker, blocking or not."""
    call: dict[str, Any] = {"query": query, "context": example_context()}
    async with opened(context) as route:
        [worker] = route.workers
        return worker.run(**call) if method == "run" else await worker.arun(**call)


def found_by(settings: Settings, method: str) -> Callable[[str], tuple[Any, bool, float | None]]:
    """Return a search: what it found, whether that was known, and what it cost."""
    context = SearchContext(settings=settings)
    service = WebSearchService(settings)

    def search(query: str) -> tuple[Any, bool, float | None]:
        if method == "service":
            answer = service.search(query)
            return answer.results, answer.cached, answer.routing[0].cost_usd
        response = asyncio.run(by_the_worker(context, method, query))
        meta = response.outcome.meta
        return response.results, meta.get("cached", False), meta["cost_usd"]

    return search


# --- a repeated search


@pytest.mark.parametrize("method", METHODS)
def test_a_repeated_search_makes_no_request(
    settings: Settings, server: ProviderServer, method: str
) -> None:
    """It finds the same, costs nothing and says that it was known."""
    search = found_by(settings, method)
    first, again, other = search("asyncio"), search("asyncio"), search("sqlite")
    assert len(server.requests) == 2
    assert again[0] == first[0]
    assert first[0]
    assert [each[1] for each in (first, again, other)] == [False, True, False]
    assert [each[2] for each in (first, again, other)] == [0.008, 0.0, 0.008]


async def test_span_and_outcome_say_so(settings: Settings) -> None:
    """No attempt, no request, nothing billed."""
    sink = RecordingSink()
    context = SearchContext(settings=settings, spans=sink)
    await routed(context, sink=sink)
    meta = (await routed(context, sink=sink)).outcome.meta
    assert meta["cached"] is True
    assert (meta["attempts"], meta["request_count"], meta["billed_request_count"]) == (0, 0, 0)
    first, second = [span.fields for span in sink.spans]
    assert "cached" not in first
    assert second["cached"] is True


async def test_a_known_answer_needs_no_budget(settings: Settings, server: ProviderServer) -> None:
    """A run without a cent finds what is known, and nothing else."""
    context = SearchContext(settings=settings)
    await routed(context)
    poor = SearchContext(settings=settings, max_cost_usd=0.0)
    assert (await routed(poor)).outcome.decision == "ok"
    assert (await routed(poor, "sqlite")).outcome.decision == "error"
    assert len(server.requests) == 1


def test_a_known_answer_needs_no_provider(settings: Settings, server: ProviderServer) -> None:
    """Neither its quota nor its breaker stands before what is kept."""
    service = WebSearchService(settings)
    service.search("asyncio")
    server.fail("plan_used_up")
    with pytest.raises(WebSearchError):
        service.search("sqlite")
    assert service.search("asyncio").cached


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"query": "sqlite"},
        {"count": 6},
        {"topic": "news"},
        {"max_results": 5},
        {"search_depth": "deep"},
        {"include_domains": ["docs.example.org"]},
        {"exclude_domains": ["docs.example.org"]},
        {"freshness": "week"},
        {"include_content": True},
        {"language": "de"},
        {"country": "de"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_another_search_is_made(
    settings: Settings, server: ProviderServer, change: dict[str, Any]
) -> None:
    """Other words, another number of results, any other option: asked anew, once."""
    context = SearchContext(settings=settings)
    await routed(context)
    for _ in range(2):
        assert (await routed(context, **change)).outcome.decision == "ok"
    assert len(server.requests) == 2


async def test_preferring_and_restricting_are_not_the_same(
    settings: Settings, server: ProviderServer
) -> None:
    """The same domains, another wish."""
    context, site = SearchContext(settings=settings), ["docs.example.org"]
    await routed(context, include_domains=site, domain_mode="restrict")
    await routed(context, include_domains=site)
    assert len(server.requests) == 2


async def test_options_hold_for_a_known_answer(settings: Settings, server: ProviderServer) -> None:
    """Filter, order and what is told of them are the same from the file."""
    context = SearchContext(settings=settings)
    wish = {"exclude_domains": ["docs.example.org"], "freshness": "2026-01-01..2026-03-31"}
    first, again = [await routed(context, **wish) for _ in range(2)]
    assert len(server.requests) == 1
    assert again.results == first.results
    assert again.outcome.meta["options"] == first.outcome.meta["options"]


async def test_tenants_keys_and_addresses_are_apart(
    settings: Settings, server: ProviderServer
) -> None:
    """Nobody gets what another paid for, nor what another key or server answered."""
    await routed(SearchContext(settings=settings, tenant_id="acme"))
    await routed(SearchContext(settings=settings, tenant_id="bolt"))
    assert len(server.requests) == 2
    with ProviderServer("tavily") as second:
        for key, running in ((KEY, second), ("another-key", server)):
            access = {"api_key": key, "base_url": running.base_url}
            other = Settings(home=settings.home, provider="tavily", providers={"tavily": access})
            await routed(SearchContext(settings=other, tenant_id="acme"))
        assert (len(server.requests), len(second.requests)) == (3, 1)


def test_tenants_of_the_service_are_apart(settings: Settings, server: ProviderServer) -> None:
    """Each has its own answers."""
    for tenant in ("acme", "bolt", "acme"):
        WebSearchService(settings, tenant=tenant).search("asyncio")
    assert len(server.requests) == 2


async def test_an_answer_is_used_until_it_is_too_old(
    settings: Settings, server: ProviderServer, tmp_path: Path
) -> None:
    """An hour by the store's clock, as the settings have it."""
    clock = FakeClock()
    store = SQLiteUsage(tmp_path / "usage.db", clock=clock.time)
    context = SearchContext(settings=settings, usage_store=store)
    requests = []
    for seconds in (0, 3599, 2, 3599):
        clock.advance(seconds)
        await routed(context)
        store.flush()  # until then it is found on its way, and as old as it really is
        requests.append(len(server.requests))
    assert requests == [1, 1, 2, 2]


@pytest.mark.parametrize("method", METHODS)
def test_switched_off_every_search_is_made(
    settings: Settings, server: ProviderServer, method: str
) -> None:
    """0 seconds: nothing is kept."""
    search = found_by(settings.model_copy(update={"answer_cache_s": 0}), method)
    assert [search("asyncio")[1] for _ in range(2)] == [False, False]
    assert len(server.requests) == 2


async def test_a_failure_is_never_kept(settings: Settings, server: ProviderServer) -> None:
    """Nor is it shared with those who come later."""
    context = SearchContext(settings=settings)
    server.fail("invalid_list", times=2)
    outcomes = [(await routed(context)).outcome for _ in range(4)]
    assert [outcome.decision for outcome in outcomes] == ["error", "error", "ok", "ok"]
    assert [outcome.meta.get("cached", False) for outcome in outcomes] == [False] * 3 + [True]
    assert len(server.requests) == 3


async def test_nothing_found_is_an_answer(settings: Settings, server: ProviderServer) -> None:
    """It was paid for as well."""
    context = SearchContext(settings=settings)
    answers = [await routed(context, "qzxv jwkpf") for _ in range(2)]
    assert [answer.results for answer in answers] == [[], []]
    assert len(server.requests) == 1


# --- at the same time


async def test_ten_equal_searches_at_once_make_one_request(
    settings: Settings, server: ProviderServer
) -> None:
    """All find the same; the nine that did not ask cost nothing and say so."""
    context = SearchContext(settings=settings)
    async with opened(context) as route:
        call: dict[str, Any] = {"query": "asyncio", "context": example_context()}
        answers = await asyncio.gather(*(route.arun(**call) for _ in range(10)))
    assert len(server.requests) == 1
    assert all(answer.results == answers[0].results != [] for answer in answers)
    metas = [answer.outcome.meta for answer in answers]
    assert sorted(meta.get("cached", False) for meta in metas) == [False] + [True] * 9
    assert sum(meta["cost_usd"] for meta in metas) == pytest.approx(0.008)


def test_threads_of_the_service_share_a_request(settings: Settings, server: ProviderServer) -> None:
    """Its blocking face shares as well."""
    service = WebSearchService(settings)
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: service.search("asyncio"), range(10)))
    assert len(server.requests) == 10 - sum(answer.cached for answer in answers)
    assert len(server.requests) < 10


async def test_ten_searches_of_other_tenants_make_ten_requests(
    settings: Settings, server: ProviderServer
) -> None:
    """Sharing ends at the tenant."""
    contexts = [SearchContext(settings=settings, tenant_id=f"t{n}") for n in range(10)]
    await asyncio.gather(*(routed(context) for context in contexts))
    assert len(server.requests) == 10


async def test_a_shared_failure_is_everybodys(settings: Settings, server: ProviderServer) -> None:
    """One request, ten errors, and the next search asks anew."""
    context = SearchContext(settings=settings)
    server.fail("invalid_list", times=1)
    async with opened(context) as route:
        call: dict[str, Any] = {"query": "asyncio", "context": example_context()}
        answers = await asyncio.gather(*(route.arun(**call) for _ in range(10)))
    assert {answer.outcome.decision for answer in answers} == {"error"}
    assert len(server.requests) == 1
    assert (await routed(context)).outcome.decision == "ok"


async def test_the_ceiling_of_one_run_stops_no_other(
    settings: Settings, server: ProviderServer
) -> None:
    """Whoever asks first: who can pay gets an answer, who cannot at most the same one."""
    limits = (0.001, 0.001, 1.0, 0.001)
    contexts = [SearchContext(settings=settings, max_cost_usd=limit) for limit in limits]
    answers = await asyncio.gather(*(routed(context) for context in contexts))
    paid = answers.pop(2).outcome
    assert (paid.decision, paid.meta["cost_usd"]) == ("ok", 0.008)
    for outcome in (answer.outcome for answer in answers):
        kind = outcome.meta.get("error", {}).get("kind")
        assert outcome.meta.get("cached") or kind == CostLimitReached.__name__
    assert len(server.requests) == 1


# --- a file that fails


async def test_a_damaged_answer_is_asked_anew(settings: Settings, server: ProviderServer) -> None:
    """Whatever the file holds in its place; the new answer takes it."""
    context = SearchContext(settings=settings)
    await routed(context)
    damages = ("", "no json", "[]", "null", "7", '{"results": 7}', '{"results": [{}]}', "[" * 9999)
    store = SQLiteUsage(settings.home / "usage.db")
    for payload in damages:
        store.flush()
        with closing(sqlite3.connect(settings.home / "usage.db")) as database, database:
            database.execute("UPDATE answers SET payload = ?", (payload,))
        before = len(server.requests)
        outcome = (await routed(context)).outcome
        assert (outcome.decision, len(server.requests)) == ("ok", before + 1), payload
        assert (await routed(context)).outcome.meta["cached"] is True


class Broken(SQLiteUsage):
    """A file whose every use fails."""

    def get_many(self, *_: Any, **__: Any) -> Any:
        raise StoreError("the disk is gone")

    def put_of_run(self, *_: Any, **__: Any) -> Any:
        raise StoreError("the disk is full")


@pytest.mark.parametrize("method", ["run", "arun"])
async def test_a_store_that_fails_costs_money_not_the_search(
    settings: Settings,
    server: ProviderServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    method: str,
) -> None:
    """A warning for each use of it, and an answer every time."""
    store = Broken(tmp_path / "usage.db")
    context = SearchContext(settings=settings, usage_store=store)
    with caplog.at_level(logging.WARNING):
        for query in ("asyncio", "sqlite"):
            answer = await by_the_worker(context, method, query)
            assert answer.outcome.decision == "ok"
            assert answer.results
    assert len(server.requests) == 2
    assert "Known answers cannot be read." in caplog.text
    assert "cannot be written down" in caplog.text


@pytest.mark.parametrize("content", [b"", b"no database at all" * 99], ids=["empty", "foreign"])
@pytest.mark.parametrize("method", METHODS)
def test_a_broken_file_never_fails_a_search(
    settings: Settings, server: ProviderServer, content: bytes, method: str
) -> None:
    """The file that is no database stays as it is: it may be somebody's."""
    (settings.home / "usage.db").write_bytes(content)
    search = found_by(settings, method)
    results = [search("asyncio")[0] for _ in range(2)]
    assert results[0]
    assert results[0] == results[1]
    assert len(server.requests) == (2 if content else 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_locked_file_never_fails_a_search(
    settings: Settings,
    server: ProviderServer,
    method: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another program holds it: the answer comes all the same, before the lock is gone."""
    monkeypatch.setattr("collection_search.tools.spending.spend_writer.PATIENCE_S", 0.05)
    search = found_by(settings, method)
    search("asyncio")
    with closing(sqlite3.connect(settings.home / "usage.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        found, cached, _ = search("sqlite")
        assert found
        assert not cached
        holder.execute("ROLLBACK")
    assert len(server.requests) == 2


def test_a_quota_that_cannot_be_counted_is_kept_nevertheless(
    settings: Settings, server: ProviderServer
) -> None:
    """No request is made that might be one too many, and the file is named."""
    (settings.home / "usage.db").write_bytes(b"no database at all" * 99)
    access = {"api_key": KEY, "base_url": server.base_url, "quota": 5}
    chosen = Settings(home=settings.home, provider="tavily", providers={"tavily": access})
    with pytest.raises(WebSearchError, match=r"usage\.db"):
        WebSearchService(chosen).search("asyncio")
    assert server.requests == []


class Uncounting(SQLiteUsage):
    """Takes reservations and fails when they are settled."""

    def settle(self, *_: Any, **__: Any) -> int:
        raise StoreError("the disk is full")


@pytest.mark.parametrize("method", ["run", "arun"])
async def test_an_answer_is_not_lost_because_it_cannot_be_counted(
    server: ProviderServer, tmp_path: Path, method: str
) -> None:
    """It was paid for; what was reserved stays counted, and the notices say so."""
    from collection_search.adapters.search.tavily import TavilySearch
    from collection_search.resilience import ProviderGuard, Quota

    store = Uncounting(tmp_path / "usage.db")
    worker = WebSearchWorker(
        TavilySearch(api_key=KEY, base_url=server.base_url),
        guard=ProviderGuard("tavily", quota=Quota(store, "k", 10)),
        spans=NULL_SINK,
        timeout_s=PATIENCE_S,
    )
    call: dict[str, Any] = {"query": "asyncio", "context": example_context()}
    answer = worker.run(**call) if method == "run" else await worker.arun(**call)
    assert answer.results
    assert any("the disk is full" in notice for notice in answer.outcome.meta["notices"])


def test_a_key_goes_by_what_is_asked_of_whom(tmp_path: Path) -> None:
    """Not by the order of the options, nor by those that say what is usual."""
    store = SQLiteUsage(tmp_path / "usage.db")
    cache = SearchCache(store, "acme", "tavily@https://api.tavily.com#k", 60)
    same = SearchOptions(topic="news", max_results=3), SearchOptions(max_results=3, topic="news")
    assert cache.key(Asked("a", 5, same[0])) == cache.key(Asked("a", 5, same[1]))
    assert cache.key(Asked("a", 5, SearchOptions(domain_mode="prefer"))) == cache.key(Asked("a", 5))
    assert cache.key(Asked("a", 5)) != cache.key(Asked("a", 6))


async def test_an_adapter_without_a_source_is_always_asked(settings: Settings) -> None:
    """A live object of the caller's: nobody knows what its answers depend on."""
    adapter = ScriptedAdapter(rows(3))
    context = SearchContext(settings=settings, provider=adapter)
    for _ in range(2):
        await routed(context)
    assert len(adapter.requests) == 2


# --- the graph


def test_a_repeated_run_makes_no_search(settings: Settings, server: ProviderServer) -> None:
    """The stage says so, and the run costs nothing."""
    graph = CollectionSearchGraph(SearchContext(settings=settings))
    first = graph.run(INPUT)[1]
    made = len(server.requests)
    again = graph.run(INPUT)[1]
    assert len(server.requests) == made > 0
    assert again["results"] == first["results"]
    told = again["telemetry"]["nodes"]["k_parallel_web_search"]
    assert (told["cached"], told["cached_count"], told["request_count"]) == (True, made, 0)
    assert (told["cost_usd"], again["telemetry"]["cost_usd"]) == (0.0, 0.0)


@pytest.mark.slow
async def test_equal_runs_at_once_search_once(settings: Settings, server: ProviderServer) -> None:
    """Ten people ask the same question of one process."""
    graph = CollectionSearchGraph(SearchContext(settings=settings))
    results = [r for _, r in await asyncio.gather(*(graph.arun(INPUT) for _ in range(10)))]
    queries = {query["query"] for query in results[0]["search"]["queries"]}
    assert len(server.requests) == len(queries)
    assert all(result["results"] == results[0]["results"] for result in results)
