"""The engine and the web: pages are fetched, found unchanged, retired, put off and given up."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest
from support.leases import LEASE_S, outlast_leases
from support.loopback_site import LoopbackSite, article, essay
from support.waiting import wait_until, wait_until_async

from collection_search import SearchContext, Settings, retrieve
from collection_search.adapters.crawl.web import WebPages
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, PageDone
from collection_search.contracts.page import NotModified, ReadPage, Validators
from collection_search.errors import FetchError, InputError, InvalidUrlError, StoreError
from collection_search.ports.ledger import PER_HOST
from collection_search.runtime.concurrency import THREADS, offload, run_blocking
from collection_search.testing import FakeClock, RecordingSink, ScriptedEmbedder
from collection_search.tools.ingest import engine_for, ingest
from collection_search.tools.ingestion.engine import IDLE_S, IngestionEngine
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from collection_search.contracts.ingestion import RowStatus, Ticket

SCOPE = TenantScope("local", "docs")
TEA = article("Green tea", essay("green tea"))


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite(hosts=2) as site:
        yield site


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def context(tmp_path: Path, site: LoopbackSite, sink: RecordingSink) -> Iterator[SearchContext]:
    settings = Settings(
        home=tmp_path, fetch_allowed=site.allowed, fetch_delay_s=0, extract_processes=1
    )
    store = SQLiteStore.from_settings(settings)
    context = SearchContext(settings=settings, store=store, spans=sink)
    yield context
    run_blocking(engine_for(context)).stop()
    context.reader = None
    reader = run_blocking(context.page_reader())
    assert isinstance(reader, WebPages)
    run_blocking(reader.aclose())
    store.close()


def rows_of(context: SearchContext, ticket: Ticket) -> list[RowStatus]:
    return wait(ticket, 120, context=context).rows


def refetched(context: SearchContext) -> RowStatus:
    assert context.store is not None
    ticket = context.store.ledger.refetch(SCOPE)
    (row,) = rows_of(context, ticket)
    return row


def provenance(context: SearchContext) -> dict[str, Any]:
    assert context.store is not None
    (stored,) = context.store.collections.get(SCOPE, list(context.store.collections.hashes(SCOPE)))
    return dict(stored.document.provenance)


class Pages:
    """A reader that answers what it is told to, and counts."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def read(
        self, url: str, *, validators: Validators | None = None, content_hash: str | None = None
    ) -> ReadPage | NotModified:
        self.asked.append(url)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return replace(PAGE, url=url, final_url=url)


PAGE = ReadPage(
    "", "", None, "Green tea", essay("green tea"), "html", Validators(), "0" * 64, 1.0, 200
)


@pytest.mark.slow
def test_a_page_is_fetched_and_can_be_asked(site: LoopbackSite, context: SearchContext) -> None:
    """From a URL to a passage, with where it was found."""
    url = site.put("/tea", TEA)
    ticket = ingest([f"{url}?utm_source=x", url], collection="docs", context=context)
    assert ticket.count == 1
    (row,) = rows_of(context, ticket)
    assert (row.state, row.change, row.error) == ("stored", "new", None)
    (passage, *_) = retrieve("green tea", collection="docs", tenant="local", context=context)
    assert (passage.url, passage.title) == (site.address("/tea"), "Green tea")
    assert "patience is its best friend" in passage.text
    said = provenance(context)
    assert said["final_url"] == site.address("/tea")
    assert (said["page_kind"], said["approved_by"]) == ("html", "ingest")


@pytest.mark.slow
def test_the_canonical_address_is_kept(site: LoopbackSite, context: SearchContext) -> None:
    """What a page calls its own address stands in its provenance."""
    head = f'<link rel="canonical" href="{site.address("/tea/green")}">'
    url = site.put("/tea", article("Green tea", essay("green tea"), head))
    rows_of(context, ingest([url], collection="docs", context=context))
    assert provenance(context)["canonical_url"] == site.address("/tea/green")


@pytest.mark.slow
@pytest.mark.parametrize("known_by", ["etag", "date"])
def test_an_unchanged_page_costs_one_conditional_request(
    site: LoopbackSite, context: SearchContext, known_by: str
) -> None:
    """It is neither read nor embedded again."""
    embedder = ScriptedEmbedder()
    context.embeddings = embedder
    url = site.put("/tea", TEA, is_known_by=known_by)
    rows_of(context, ingest([url], collection="docs", context=context))
    calls = len(embedder.calls)
    row = refetched(context)
    assert (row.state, row.change) == ("stored", "unchanged")
    (first, second) = site.asked("/tea")
    assert "if-none-match" not in first
    assert {"if-none-match", "if-modified-since"} & second.keys()
    assert len(embedder.calls) == calls
    assert provenance(context)["checked_at"]


@pytest.mark.slow
def test_the_same_bytes_are_not_read_again(site: LoopbackSite, context: SearchContext) -> None:
    """A site without validators is asked in full, but its page is told by its hash."""
    url = site.put("/tea", TEA, is_known_by="")
    rows_of(context, ingest([url], collection="docs", context=context))
    reader = run_blocking(context.page_reader())
    extraction: Any = reader._extraction  # type: ignore[attr-defined]
    extraction.close()
    assert refetched(context).change == "unchanged"
    assert extraction._pool is None  # no process was started to read it


@pytest.mark.slow
def test_other_bytes_of_the_same_text_are_not_embedded_again(
    site: LoopbackSite, context: SearchContext
) -> None:
    """A page with a new banner in its head says the same."""
    embedder = ScriptedEmbedder()
    context.embeddings = embedder
    url = site.put("/tea", TEA)
    rows_of(context, ingest([url], collection="docs", context=context))
    calls = len(embedder.calls)
    site.put("/tea", article("Green tea", essay("green tea"), '<meta name="nonce" content="2">'))
    assert refetched(context).change == "unchanged"
    assert len(embedder.calls) == calls


@pytest.mark.slow
def test_a_changed_page_replaces_the_old_one(site: LoopbackSite, context: SearchContext) -> None:
    """Nothing of the old text is left."""
    url = site.put("/tea", TEA)
    rows_of(context, ingest([url], collection="docs", context=context))
    site.put("/tea", article("Black tea", essay("black tea")))
    assert refetched(context).change == "changed"
    (passage, *_) = retrieve("tea", collection="docs", tenant="local", context=context)
    assert passage.title == "Black tea"
    assert "green" not in passage.text


@pytest.mark.slow
@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_vanished_is_retired(
    site: LoopbackSite, context: SearchContext, status: int
) -> None:
    """It leaves the collection, and comes back when the site brings it back."""
    url = site.put("/tea", TEA)
    rows_of(context, ingest([url], collection="docs", context=context))
    site.put("/tea", article("Gone", "Gone."), status=status)
    assert context.store is not None
    if status == 404:  # perhaps a slip of the site: a second look decides
        assert refetched(context).state == "dead"
        assert len(context.store.collections.hashes(SCOPE)) == 1
    row = refetched(context)
    assert (row.state, row.change) == ("retired", "gone")
    assert (row.error or "").startswith("gone: ")
    assert context.store.collections.hashes(SCOPE) == {}
    site.put("/tea", TEA)
    assert refetched(context).change == "new"


@pytest.mark.slow
def test_a_listener_learns_how_each_page_ended(site: LoopbackSite, context: SearchContext) -> None:
    """Once per look at a page, with the error where there is one."""
    told: SimpleQueue[PageDone] = SimpleQueue()
    engine = run_blocking(engine_for(context))  # held, or another one takes its place
    engine.equip(on_page_done=told.put)
    url = site.put("/tea", TEA)
    rows_of(context, ingest([url], collection="docs", context=context))
    refetched(context)
    site.put("/tea", article("Black tea", essay("black tea")))
    refetched(context)
    site.put("/tea", article("Gone", "Gone."), status=410)
    refetched(context)
    rows_of(context, ingest([site.address("/none")], collection="docs", context=context))
    done = [told.get(timeout=60) for _ in range(5)]  # the ledger knows before the listener does
    assert told.empty()
    assert [page.outcome for page in done] == ["new", "unchanged", "changed", "gone", "failed"]
    assert {page.claim.url for page in done[:4]} == {site.address("/tea")}
    assert [bool(page.error) for page in done] == [False] * 3 + [True] * 2


@pytest.mark.slow
def test_pages_that_are_named_again_are_looked_at_again(
    site: LoopbackSite, context: SearchContext
) -> None:
    """Each by one conditional request; its row says what changed."""
    urls = [site.put("/tea", TEA), site.put("/mate", article("Mate", essay("mate")))]
    rows_of(context, ingest(urls, collection="docs", context=context))
    asked = len(site.requests)
    site.put("/tea", article("Green tea", essay("greener tea")))
    rows = rows_of(context, ingest(urls, collection="docs", context=context))
    assert [row.change for row in rows] == ["changed", "unchanged"]
    again = site.requests[asked:]
    assert sorted(path for _, path, _ in again) == ["/mate", "/tea"]
    assert all("if-none-match" in headers for _, _, headers in again)
    assert retrieve("greener tea", collection="docs", tenant="local", context=context)


@pytest.mark.slow
def test_a_crawl_hands_its_pages_on(site: LoopbackSite, context: SearchContext) -> None:
    """What was fetched for its links is not fetched once more to be stored."""
    start = site.put("/", article("Teas", essay("teas") + '<a href="/tea">t</a>'))
    site.put("/tea", TEA)
    rows = rows_of(context, ingest([start], collection="docs", depth=2, context=context))
    assert [row.state for row in rows] == ["stored", "stored"]
    assert (len(site.asked("/")), len(site.asked("/tea"))) == (1, 1)


def test_a_private_address_names_the_setting_that_allows_it(context: SearchContext) -> None:
    """The way out is in the reason."""
    (row,) = rows_of(context, ingest(["http://127.0.0.1:1/"], collection="docs", context=context))
    assert "host:port in the setting fetch_allowed" in (row.error or "")


@pytest.mark.slow
def test_what_cannot_be_had_is_given_up_with_the_reason(
    site: LoopbackSite, context: SearchContext
) -> None:
    """A refusal is typed, and tried once."""
    site.put("/robots.txt", b"User-agent: *\nDisallow: /private")
    urls = [
        site.put("/private/tea", TEA),
        site.address("/missing"),
        site.put("/empty", article("", "")),
        "http://127.0.0.1:1/",
    ]
    rows = rows_of(context, ingest(urls, collection="docs", context=context))
    assert {(row.state, row.attempts) for row in rows} == {("dead", 1)}
    reasons = [(row.error or "").partition(":")[0] for row in rows]
    assert reasons == ["robots_disallowed", "gone", "empty", "blocked_address"]


@pytest.mark.slow
def test_a_refresh_that_fails_keeps_what_is_stored(
    site: LoopbackSite, context: SearchContext
) -> None:
    """A login page in front of an article takes nothing away."""
    url = site.put("/tea", TEA)
    rows_of(context, ingest([url], collection="docs", context=context))
    site.put("/tea", b"no", status=403)
    assert refetched(context).state == "dead"
    assert retrieve("green tea", collection="docs", tenant="local", context=context)


def test_bad_addresses_are_refused_at_once(context: SearchContext) -> None:
    """Nothing is accepted then."""
    with pytest.raises(InvalidUrlError):
        ingest(["https://example.com/", "ftp://example.com/"], collection="docs", context=context)
    with pytest.raises(InputError, match="Give the URLs"):
        ingest([], collection="docs", context=context)
    with pytest.raises(InputError, match="Into which collection"):
        ingest(["https://example.com/"], context=context)
    with pytest.raises(InputError, match="no staged session"):
        ingest(session="session-x", collection="docs", context=context)
    assert context.store is not None
    assert context.store.collections.collections("local") == []


@pytest.mark.slow
def test_further_pages_of_a_site(site: LoopbackSite, context: SearchContext) -> None:
    """Links of the same site are followed, over `depth` steps and for `max_pages`."""
    links = "".join(f'<a href="/{n}">Page {n}</a> ' for n in range(5))
    start = site.put(
        "/", article("Teas", essay("all teas") + f'{links}<a href="http://e.org/">x</a>')
    )
    for n in range(5):
        site.put(f"/{n}", article(f"Tea {n}", essay(f"tea {n}") + '<a href="/deeper">on</a>'))
    site.put("/deeper", TEA)
    done = wait(ingest([start], collection="docs", depth=1, context=context), 120, context=context)
    assert (done.count, done.stored) == (6, 6)
    few = ingest([start], collection="few", depth=1, max_pages=3, context=context)
    assert few.count == 3
    with pytest.raises(InputError, match="depth needs"):
        ingest([start], collection="few", depth=99, context=context)


@pytest.mark.slow
def test_a_site_that_asks_for_time_gets_it(context: SearchContext) -> None:
    """The attempt does not count; nor does one for a host that many of ours wait for."""
    later = FetchError("later", reason="rate_limited", retry_in_s=0.02, status=429)
    busy = FetchError("busy", reason="host_busy", retry_in_s=0.02)
    context.reader = Pages(later, busy, later, PAGE)
    (row,) = rows_of(context, ingest(["https://e.org/"], collection="docs", context=context))
    assert (row.state, row.attempts) == ("stored", 1)


def test_a_site_that_fails_is_asked_again_a_few_times(context: SearchContext) -> None:
    """A 503 without a time is a failure of the page; after the last one it is given up."""
    assert context.store is not None
    assert context.settings is not None
    reader = Pages(FetchError("down", reason="rate_limited", retry_in_s=0.5, status=503))

    async def source(*_: Any) -> Any:
        return reader

    item = IngestionItem("https://e.org/", "e.org/", "E")
    ticket = context.store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    engine = IngestionEngine(context.store, context.settings, reader=source, backoff_s=0.001)
    assert engine.drain(timeout_s=60)
    status = context.store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    (row,) = status.rows
    assert (row.state, row.attempts) == ("dead", context.settings.ingest_max_attempts)
    assert row.error == "rate_limited: down"
    assert len(reader.asked) == context.settings.ingest_max_attempts


class FailingOnce:
    """A store whose first claim fails; then all threads of the background loop are busy."""

    def __init__(self, store: SQLiteStore) -> None:
        self._store = store
        self.ledger = self
        self.free = threading.Event()
        self.busy: list[Future[bool]] = []

    def claim(self, *arguments: Any, **more: Any) -> Any:
        if not self.busy:
            self.busy = [run_blocking(self._occupy()) for _ in range(THREADS)]
            raise StoreError("The disk fails.")
        return self._store.ledger.claim(*arguments, **more)

    async def _occupy(self) -> Future[bool]:
        loop = asyncio.get_running_loop()
        return asyncio.run_coroutine_threadsafe(offload(self.free.wait, 60), loop)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name, None) or getattr(self._store.ledger, name)


def test_a_start_while_a_failure_ends_the_work_begins_anew(
    context: SearchContext, settings: Settings
) -> None:
    """It was taken for a start of the work that ends, and the pages were left."""
    assert isinstance(context.store, SQLiteStore)
    store: Any = FailingOnce(context.store)
    engine = IngestionEngine(store, settings)
    (ref,) = context.store.staging.put("local", ["All about green tea."])
    item = IngestionItem("https://e.org/", "e.org/", "E", ref)
    ticket = context.store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    engine.start()
    wait_until(lambda: engine.failure is not None)
    engine.start()
    store.free.set()
    assert engine.drain(timeout_s=60)
    status = context.store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    assert status.stored == 1


class EndedPages:
    """A reader whose every call ends in a cancellation that nobody asked for."""

    async def read(self, *_: Any, **__: Any) -> Any:
        raise asyncio.CancelledError


class EndedEmbedder(ScriptedEmbedder):
    async def embed(self, texts: Any) -> Any:
        raise asyncio.CancelledError


@pytest.mark.parametrize("failing", ["reader", "embedder"])
def test_a_call_that_ends_in_a_cancellation_is_a_failure(
    context: SearchContext, failing: str
) -> None:
    """It ended the work as if all was done, or kept the page for ever."""
    assert context.store is not None
    assert context.settings is not None

    async def source(*_: Any) -> Any:
        return EndedPages()

    embedder = EndedEmbedder()
    engine = IngestionEngine(context.store, context.settings, reader=source, backoff_s=0.001)
    engine.add_embedder(embedder)
    (ref,) = context.store.staging.put("local", ["All about green tea."])
    if failing == "embedder":
        context.store.collections.bind_embedder(SCOPE, embedder.fingerprint)
    item = IngestionItem("https://e.org/", "e.org/", "E", ref if failing == "embedder" else None)
    ticket = context.store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    assert engine.drain(timeout_s=60)
    status = context.store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    (row,) = status.rows
    assert row.state == "dead"
    assert "CancelledError" in str(row.error)


class HeldPages(Pages):
    """Holds every page until `free` is set."""

    def __init__(self) -> None:
        super().__init__(PAGE)
        self.free = threading.Event()
        self.in_hand: list[str] = []
        self.most: dict[str, int] = {}
        self.cancelled = 0

    async def read(self, url: str, **options: Any) -> ReadPage | NotModified:
        host = url.split("/")[2]
        self.in_hand.append(host)
        self.most[host] = max(self.most.get(host, 0), self.in_hand.count(host))
        try:
            await wait_until_async(self.free.is_set)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_hand.remove(host)
        return await super().read(url, **options)


def held(reader: HeldPages, count: int) -> None:
    """Wait until that many pages are being fetched."""
    wait_until(lambda: len(reader.in_hand) >= count)


def test_a_host_never_has_more_than_two_pages_in_hand(context: SearchContext) -> None:
    """The others of it wait in the ledger, where they hold up nobody."""
    reader = context.reader = HeldPages()
    urls = [f"https://{host}.org/{n}" for host in "ab" for n in range(6)]
    ticket = ingest(urls, collection="docs", context=context)
    held(reader, 2 * PER_HOST)
    assert sum(row.state == "working" for row in wait(ticket, 0, context=context).rows) == 4
    reader.free.set()
    assert wait(ticket, 120, context=context).stored == 12
    assert reader.most == {"a.org": PER_HOST, "b.org": PER_HOST}


def test_stopping_calls_off_what_is_still_fetched(context: SearchContext) -> None:
    """Requests end, and their rows are free at once, the attempt not counted."""
    reader = context.reader = HeldPages()
    ticket = ingest(["https://a.org/", "https://b.org/"], collection="docs", context=context)
    held(reader, 2)
    run_blocking(engine_for(context)).stop(timeout_s=0.05)
    status = wait(ticket, 0, context=context, work=False)
    assert [(row.state, row.attempts) for row in status.rows] == [("to_fetch", 0)] * 2
    assert (reader.cancelled, reader.in_hand) == (2, [])
    reader.free.set()
    assert wait(ticket, 120, context=context).stored == 2


@pytest.mark.slow
def test_a_slow_fetch_keeps_its_lease(settings: Settings, clock: FakeClock) -> None:
    """Nobody takes over a page that is still on its way."""
    reader, usual = HeldPages(), Pages(PAGE)

    async def held_source(*_: Any) -> Any:
        return reader

    async def usual_source(*_: Any) -> Any:
        return usual

    ours = settings.model_copy(update={"ingest_lease_s": LEASE_S})
    store = SQLiteStore(settings.home / "leases.db", clock=clock.time)
    item = IngestionItem("https://a.org/", "a.org/", "A")
    ticket = store.ledger.enqueue(IngestionRequest(SCOPE, [item]))
    slow = IngestionEngine(store, ours, reader=held_source)
    other = IngestionEngine(store, ours, reader=usual_source)
    slow.start()
    held(reader, 1)
    outlast_leases(settings.home / "leases.db", clock)
    assert not other.drain(timeout_s=0.5)
    reader.free.set()
    assert slow.drain(timeout_s=60)
    status = store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    assert [(row.state, row.attempts) for row in status.rows] == [("stored", 1)]
    assert usual.asked == []
    other.stop()
    store.close()


def test_a_process_that_does_not_fetch_leaves_pages_alone(context: SearchContext) -> None:
    """They wait for one that does."""
    assert context.settings is not None
    assert context.store is not None
    ticket = ingest(["https://a.org/"], collection="docs", context=context, work=False)
    assert IngestionEngine(context.store, context.settings).drain(timeout_s=60)
    status = context.store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    assert (status.to_fetch, status.settled) == (1, True)


@pytest.mark.slow
def test_every_page_has_an_observation_in_the_trace_of_its_run(
    site: LoopbackSite, context: SearchContext, sink: RecordingSink
) -> None:
    """Scalars only: what was done, and why not."""
    context.trace_id = "trace-1"
    urls = [site.put("/tea", TEA), site.address("/missing")]
    rows_of(context, ingest(urls, collection="docs", context=context))
    assert run_blocking(engine_for(context)).drain(timeout_s=60)  # observations end after the rows
    spans = [span for span in sink.spans if span.name == "ingest_document"]
    assert {span.trace.trace_id for span in spans if span.trace} == {"trace-1"}
    stored, failed = sorted(spans, key=lambda span: span.failure is not None)
    assert (stored.fields["kind"], stored.fields["changed"]) == ("html", True)
    assert int(str(stored.fields["chunks"])) >= 1
    assert failed.fields["reason"] == "gone"
    assert all(span.ended for span in spans)
    assert all("latency_ms" in span.fields for span in spans)


def test_a_text_is_used_where_its_terms_allow_it(context: SearchContext) -> None:
    """A vendor's text of unknown terms is not stored: the page is fetched instead."""
    assert context.store is not None
    (ref,) = context.store.staging.put("local", ["What the vendor delivered about herons."])
    items = [
        IngestionItem(f"https://{name}.org/", f"{name}.org/", name, ref, {"provider": name})
        for name in ("tavily", "wikipedia", "my_own")
    ]
    reader = context.reader = Pages(PAGE)
    trigger = run_blocking(context.ledger_trigger())
    ticket = run_blocking(trigger.trigger(IngestionRequest(SCOPE, items)))
    assert {row.state for row in rows_of(context, ticket)} == {"stored"}
    assert reader.asked == ["https://tavily.org/"]


def test_drain_returns_after_the_thread_has_ended(context: SearchContext) -> None:
    engine = run_blocking(engine_for(context))
    others, at_end = set(threading.enumerate()), set[threading.Thread]()

    def linger() -> None:
        running = set(threading.enumerate()) - others  # those of other engines may go on
        at_end.update(each for each in running if each.name == "ingest")
        time.sleep(3 * IDLE_S)  # longer than `drain` waits at a time

    with engine.watchers.waking(linger):
        assert engine.drain()
    assert at_end
    assert not any(thread.is_alive() for thread in at_end)
