"""Answers that several callers share: whose they are, whose time they take and who pays for them."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from support.routes import opened
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings, WebSearchWorker
from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.errors import SearchProviderTimeout
from collection_search.runtime.metering import NULL_METRICS
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import (
    FakeClock,
    ProviderServer,
    ScriptedAdapter,
    example_context,
    rows,
)
from collection_search.testing.providers.brave import Brave
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.wire import KEY
from collection_search.tools.search.cache import SearchCache
from collection_search.tools.search.callers import _FLIGHTS
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.contracts.search import SearchAdapterResponse
    from collection_search.testing.providers.wire import ProviderRequest, Reply

CALL: dict[str, Any] = {"query": "asyncio", "context": example_context()}


async def searched(settings: Settings, count: int = 5) -> Any:
    async with opened(SearchContext(settings=settings), count=count) as route:
        return await route.arun(**CALL)


# --- whose answers they are


async def test_another_engine_gives_other_answers(tmp_path: Path) -> None:
    """Google's key is the same, the sites that are searched are not."""
    with ProviderServer("google") as server:
        for engine in (ENGINE_ID, "another:engine", ENGINE_ID):
            access: Any = {"api_key": KEY, "base_url": server.base_url, "search_engine_id": engine}
            settings = Settings(home=tmp_path, provider="google", providers={"google": access})
            await searched(settings)
        assert [request.params["cx"] for request in server.requests] == [
            ENGINE_ID,
            "another:engine",
        ]


# --- answers in which something is missing


class SecondPageFails(Brave):
    """Gives no second page of results as long as it is told so."""

    fails = True

    def answer(self, request: ProviderRequest) -> Reply:
        if self.fails and request.params.get("offset") == "1":
            return self.failures()["quota_used_up"].reply
        return super().answer(request)


async def test_an_answer_without_its_second_page_is_not_kept(tmp_path: Path) -> None:
    """The next search asks again, and keeps what is whole."""
    with ProviderServer(SecondPageFails()) as server:
        access: Any = {"api_key": KEY, "base_url": server.base_url}
        settings = Settings(home=tmp_path, provider="brave", providers={"brave": access})
        part = await searched(settings, count=40)
        server.dialect.fails = False  # type: ignore[attr-defined]
        whole = await searched(settings, count=40)
        again = await searched(settings, count=40)
        assert len(server.requests) == 4
    assert len(part.results) < len(whole.results) == 40
    assert "Only 1 of 2 pages could be read" in str(part.outcome.meta["notices"])
    assert [each.outcome.meta.get("cached") for each in (part, whole, again)] == [None, None, True]


@pytest.mark.parametrize("engines", [[], [["bing", "timeout"]]])
def test_an_answer_of_some_engines_alone_is_not_whole(engines: list[Any]) -> None:
    """SearXNG tells which of its engines gave nothing."""
    row = {"url": "https://a.org/", "title": "A", "content": "a"}
    told = {"results": [row], "unresponsive_engines": engines}
    vendor = SearxngSearch(base_url="http://127.0.0.1")
    page = vendor.parse(HttpResponse(200, {}, json.dumps(told).encode()))
    assert page.complete is not bool(engines)


# --- whose time they take


class Gated(ScriptedAdapter):
    """Holds its first request until it may go on; later ones are answered at once."""

    source = "gated"

    def __init__(self, **options: Any) -> None:
        super().__init__(rows(3), provider_name="tavily", **options)
        self.asked, self.is_asked, self.may_go_on = 0, asyncio.Event(), asyncio.Event()

    async def asearch(self, query: str, *, max_results: int, **more: Any) -> SearchAdapterResponse:
        self.asked += 1
        if self.asked == 1:
            self.is_asked.set()
            await self.may_go_on.wait()
        return await super().asearch(query, max_results=max_results, **more)


def worker(adapter: Any, store: SQLiteUsage, **options: Any) -> WebSearchWorker:
    cache = SearchCache(store, "acme", "gated", 3600)
    # With observers given, nothing is awaited before the call is shared.
    observers: Any = {"spans": NULL_SINK, "metrics": NULL_METRICS}
    return WebSearchWorker(adapter, cache=cache, **observers, **options)


async def test_rows_of_which_none_can_be_used_are_not_kept(tmp_path: Path) -> None:
    """The provider is asked again, while an empty web is an answer that is kept."""
    for answer, asked in (([{"url": "javascript:alert(1)", "snippet": "S"}], 2), ([], 1)):
        adapter = ScriptedAdapter(answer)
        store = SQLiteUsage(tmp_path / f"{asked}.db")
        for _ in range(2):
            outcome = (await worker(adapter, store).arun(**CALL)).outcome
            assert outcome.decision == ("error" if answer else "ok")
        assert len(adapter.requests) == asked
        store.close()


@pytest.mark.slow
async def test_who_has_more_time_does_not_fail_with_the_first(tmp_path: Path) -> None:
    """One run had half a second, the other a minute: it asks again."""
    clock = FakeClock()

    class Slow(Gated):
        async def asearch(self, query: str, **more: Any) -> SearchAdapterResponse:
            clock.advance(1)  # the half second counts from now on, not on the way here
            return await super().asearch(query, **more)

    store, adapter = SQLiteUsage(tmp_path / "usage.db"), Slow()
    hurried = worker(adapter, store, deadline_s=0.5, timer=clock.monotonic)
    short = asyncio.ensure_future(hurried.arun(**CALL))
    await adapter.is_asked.wait()
    others = [worker(adapter, store, deadline_s=60).arun(**CALL) for _ in range(3)]
    first, *rest = await asyncio.gather(short, *others)
    assert first.outcome.rationale == "provider_timeout"
    assert [each.outcome.decision for each in rest] == ["ok"] * 3
    assert adapter.asked == 2


async def test_a_failure_of_the_providers_is_shared(tmp_path: Path) -> None:
    """All had time enough, so that nobody asks it once more."""

    class Late(Gated):
        async def asearch(self, query: str, **more: Any) -> SearchAdapterResponse:
            await super().asearch(query, **more)
            raise SearchProviderTimeout("too slow", retryable=False)

    store, adapter = SQLiteUsage(tmp_path / "usage.db"), Late()
    calls = [
        asyncio.ensure_future(worker(adapter, store, deadline_s=60).arun(**CALL)) for _ in range(5)
    ]
    await adapter.is_asked.wait()
    adapter.may_go_on.set()
    responses = await asyncio.gather(*calls)
    assert {each.outcome.rationale for each in responses} == {"provider_timeout"}
    assert adapter.asked == 1


# --- who pays for them


async def test_the_search_of_a_cancelled_run_is_in_the_books(tmp_path: Path) -> None:
    """Another run got its answer for nothing, so the first one's entry is the only one."""
    store, adapter = SQLiteUsage(tmp_path / "usage.db"), Gated()
    settings = Settings(home=tmp_path)

    async def run(run_id: str) -> Any:
        context = SearchContext(
            settings=settings, provider=adapter, usage_store=store, run_id=run_id
        )
        async with opened(context) as route:
            return await route.arun(**CALL)

    first = asyncio.ensure_future(run("first"))
    await adapter.is_asked.wait()
    second = asyncio.ensure_future(run("second"))
    loop = asyncio.get_running_loop()
    await wait_until_async(  # for the same answer
        lambda: [one.waiting for one in _FLIGHTS._loops.get(loop, {}).values()] == [2]
    )
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    adapter.may_go_on.set()
    assert (await second).outcome.meta["cached"]
    give_up = loop.time() + 60
    while not store.run_total("local", "first").requests:
        assert loop.time() < give_up, "nobody booked it"
        await asyncio.sleep(0.01)
        await asyncio.to_thread(spend_writer().flush)
    assert float(store.run_total("local", "first").cost_usd) == 0.008
    assert store.run_total("local", "second").requests == 0
    assert adapter.asked == 1
