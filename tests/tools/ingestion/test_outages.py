"""Outages: what fails for another cause than the page uses up no attempt."""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import Answer, LoopbackSite, article, essay
from support.ports import free_port

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.contracts.page import NotModified, ReadPage, Validators
from collection_search.errors import FetchError, ModelError, StoreError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedEmbedder
from collection_search.tools.ingest import engine_for, ingest
from collection_search.tools.ingestion.engine import IngestionEngine
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.ingestion import TicketStatus

SCOPE = TenantScope("local", "docs")
REFUSED = FetchError("cannot be connected to: connection refused", reason="connect_failed")
PAGE = ReadPage("", "", None, "Tea", essay("green tea"), "html", Validators(), "0" * 64, 1.0, 200)


class Web:
    """A reader of sites that fail a number of times, by host, and then answer."""

    def __init__(self, **failures: list[Exception]) -> None:
        self.failures = failures
        self.text = PAGE.text
        self.asked: list[str] = []
        self.lock = threading.Lock()

    async def read(self, url: str, **_: Any) -> ReadPage | NotModified:
        with self.lock:
            self.asked.append(url)
            left = self.failures.get(url.split("/")[2].partition(".")[0])
            if left:
                raise left.pop(0)
        return replace(PAGE, url=url, final_url=url, text=f"{self.text} {url}")


@pytest.fixture
def context(settings: Settings, store: SQLiteStore) -> Iterator[SearchContext]:
    context = SearchContext(settings=settings, store=store)
    yield context
    run_blocking(engine_for(context)).stop()


def ingested(context: SearchContext, *urls: str) -> TicketStatus:
    return wait(ingest(urls, collection="docs", context=context), 120, context=context)


def urls_of(*hosts: str, pages: int = 3) -> list[str]:
    return [f"https://{host}.org/{n}" for host in hosts for n in range(pages)]


def test_a_site_that_is_down_for_a_while_loses_nothing(context: SearchContext) -> None:
    """No attempt is used up, and few requests are made meanwhile."""
    web = context.reader = Web(down=[REFUSED, REFUSED])
    status = ingested(context, *urls_of("down", "up", pages=10))
    assert (status.stored, {row.attempts for row in status.rows}) == (20, {1})
    assert len(web.asked) <= 22


def test_a_network_that_is_down_is_one_cause(context: SearchContext) -> None:
    """After a few hosts nothing is tried but one page at a time."""
    hosts = "abcdefghij"
    down = [REFUSED] * 5
    web = context.reader = Web(**dict.fromkeys(hosts, down))
    status = ingested(context, *urls_of(*hosts, pages=1))
    assert (status.stored, {row.attempts for row in status.rows}) == (10, {1})
    assert len(web.asked) <= 20


def test_an_embedder_that_is_down_costs_no_second_fetch(context: SearchContext) -> None:
    """Texts are kept, and no attempt is used up."""
    down = ModelError("failed on its own side. Run again later.", unavailable=True)
    context.embeddings = ScriptedEmbedder(errors=[down] * 3)
    web = context.reader = Web()
    status = ingested(context, *urls_of("a", "b", "c"))
    assert (status.stored, {row.attempts for row in status.rows}) == (9, {1})
    assert len(web.asked) == 9


def test_a_model_that_refuses_a_text_is_tried_again_without_a_fetch(
    context: SearchContext,
) -> None:
    """It may be the text, so the attempts count."""
    context.embeddings = ScriptedEmbedder(errors=[ModelError("cannot read this")] * 2)
    web = context.reader = Web()
    (row,) = ingested(context, "https://a.org/").rows
    assert (row.state, row.attempts, len(web.asked)) == ("stored", 3, 1)


def test_a_slow_page_gets_two_full_time_limits(settings: Settings, store: SQLiteStore) -> None:
    """Not one for every attempt."""
    web = Web(slow=[FetchError("not in time", reason="deadline")] * 9)

    async def source(*_: Any) -> Any:
        return web

    item = IngestionItem("https://slow.org/", "slow.org/", "")
    ticket = store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    assert IngestionEngine(store, settings, reader=source, backoff_s=0.001).drain(timeout_s=60)
    status = store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    assert ([row.state for row in status.rows], len(web.asked)) == (["dead"], 2)


class FullDisk(SQLiteStore):
    """A store whose disk is full for some writes of finished pages."""

    def __init__(self, path: Path, *, failures: int) -> None:
        super().__init__(path)
        self.left = failures
        self._finish = self.ledger.finish
        self.ledger.finish = self.finish  # type: ignore[method-assign]

    def finish(self, *args: Any, **more: Any) -> bool:
        if self.left:
            self.left -= 1
            raise StoreError("The disk is full.", retryable=True)
        return self._finish(*args, **more)


def test_a_full_disk_loses_no_finished_page(
    tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """It is written later: nothing is fetched or embedded again."""
    store = FullDisk(tmp_path / "full.db", failures=2)
    embedder = ScriptedEmbedder()
    context = SearchContext(settings=settings, store=store, embeddings=embedder)
    web = context.reader = Web()
    with caplog.at_level(logging.WARNING):
        (row,) = ingested(context, "https://a.org/").rows
    assert (row.state, row.attempts) == ("stored", 1)
    assert (len(web.asked), len(embedder.calls)) == (1, 1)
    assert "waits for its store: The disk is full." in caplog.text
    run_blocking(engine_for(context)).stop()
    store.close()


def test_nobody_waits_for_a_page_that_is_put_off_for_hours(context: SearchContext) -> None:
    """The status says why and until when, and the other pages are stored."""
    later = FetchError("asks for time", reason="rate_limited", retry_in_s=7200, status=429)
    context.reader = Web(asks=[later, later])
    status = ingested(context, *urls_of("asks", "up", pages=2))
    assert (status.stored, status.left(fetch=True)) == (2, 2)
    put_off = [row for row in status.rows if row.put_off_until]
    assert {row.error for row in put_off} == {"rate_limited: asks for time"}
    engine = run_blocking(engine_for(context))
    assert not engine.drain()
    assert engine.is_put_off()


@pytest.mark.slow
def test_a_site_that_starts_late_is_read(settings: Settings, store: SQLiteStore) -> None:
    """Its robots.txt could not be read at first: that is not remembered for long."""
    port = free_port()  # nobody listens there at first
    allowed, urls = [f"127.0.0.1:{port}"], [f"http://127.0.0.1:{port}/{n}" for n in range(5)]
    mine = {"fetch_allowed": allowed, "fetch_delay_s": 0, "extract_processes": 1}
    context = SearchContext(settings=settings.model_copy(update=mine), store=store)
    late = LoopbackSite(ports=[port])
    for n in range(5):
        late.pages[0, f"/{n}"] = Answer(article(f"Tea {n}", essay(f"tea {n}")))
    with ExitStack() as started:

        def is_noticed(status: TicketStatus) -> None:
            is_down = any("connect_failed" in (row.error or "") for row in status.rows)
            if is_down and not late.is_served:
                started.enter_context(late)

        ticket = ingest(urls, collection="docs", context=context)
        status = wait(ticket, 120, context=context, on_progress=is_noticed)
        assert (status.stored, {row.attempts for row in status.rows}) == (5, {1})
        run_blocking(engine_for(context)).stop()
        run_blocking(run_blocking(context.page_reader()).aclose())  # type: ignore[attr-defined]


@pytest.mark.slow
def test_each_page_is_judged_by_the_rules_of_its_own_run(
    settings: Settings, store: SQLiteStore
) -> None:
    """Also where workers of the process have other settings."""
    with LoopbackSite() as site:
        urls = [site.put(f"/{n}", article(f"Tea {n}", essay(f"tea {n}"))) for n in range(9)]
        mine = {"fetch_allowed": site.allowed, "fetch_delay_s": 0, "extract_processes": 1}
        run = SearchContext(settings=settings.model_copy(update=mine), store=store)
        process = SearchContext(settings=settings, store=store)
        ticket = ingest(urls, collection="docs", context=run, work=False)
        status = wait(ticket, 120, context=process)
        assert (status.stored, status.failed) == (9, 0)
        run_blocking(engine_for(process)).stop()
        run_blocking(run_blocking(run.page_reader()).aclose())  # type: ignore[attr-defined]


def test_pages_are_fetched_behind_the_proxy_of_their_own_run(
    settings: Settings, store: SQLiteStore
) -> None:
    """Also where one process has contexts with and without one, and the password changes."""
    webs = {}
    for proxy in ("http://user:old@proxy.intra:3128", None):
        own = settings.model_copy(update={"fetch_proxy": proxy})
        webs[proxy] = Web()
        context = SearchContext(settings=own, store=store, reader=webs[proxy])
        url = f"https://{'behind' if proxy else 'direct'}.org/"
        engine = run_blocking(engine_for(context))
        ingest([url], collection="docs", context=context, work=False)
    own = settings.model_copy(update={"fetch_proxy": "http://user:new@proxy.intra:3128"})
    assert engine.drain(timeout_s=60)
    assert webs[None].asked == ["https://direct.org/"]
    assert webs["http://user:old@proxy.intra:3128"].asked == ["https://behind.org/"]
    status = wait(
        ingest(["https://behind.org/2"], collection="docs", context=context, work=False),
        60,
        context=SearchContext(settings=own, store=store, reader=webs[None]),
    )
    assert status.stored == 1
    engine.stop()


def test_a_site_whose_robots_file_fails_is_no_fault_of_the_network(
    context: SearchContext,
) -> None:
    """It has answered."""
    failed = FetchError("cannot be read", reason="robots_unreachable", status=500)
    hosts = "abcd"
    context.reader = Web(**{host: [failed] for host in hosts})
    seen = list[str]()
    engine = run_blocking(engine_for(context))
    engine.equip(on_pause=lambda cause, _: seen.append(cause))
    assert ingested(context, *urls_of(*hosts, pages=1)).stored == 4
    assert {*seen} == {f"host:{host}.org" for host in hosts}


def test_a_refresh_ends_the_pause_of_an_embedder(context: SearchContext) -> None:
    """As soon as one page was embedded."""
    assert context.store is not None
    embedder = context.embeddings = ScriptedEmbedder()
    context.reader = Web()
    assert ingested(context, *urls_of("a", pages=2)).stored == 2
    down = ModelError("503", unavailable=True)
    embedder.errors += [down, down]
    new = Web()
    new.text = "Another text about tea. "
    context.reader = new
    status = ingested(context, *urls_of("a", pages=2))
    assert [row.change for row in status.rows] == ["changed", "changed"]
    assert context.store.ledger.put_off() == []
    with sqlite3.connect(context.using().collections_path) as database:
        assert database.execute("SELECT count(*) FROM pauses").fetchone() == (0,)
    database.close()
