"""A living collection on a real site: what is new, changed, unchanged, gone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import LoopbackSite, article, essay
from support.scripted_world import INPUT
from support.told_pages import asked, documents_of, filled, searched, told

from collection_search import CollectionSearchGraph, SearchContext, Settings, ingest, refresh, wait
from collection_search.adapters.crawl.web import WebPages
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import PageDone
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import InputError, ModelError, SearchProviderUnavailable
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import (
    ProviderServer,
    RecordingTrigger,
    ScriptedAdapter,
    ScriptedEmbedder,
)
from collection_search.testing.hostile_site.stand_in_pages import CHALLENGES, SCRIPTED
from collection_search.testing.providers.wire import KEY
from collection_search.text.urls import url_key
from collection_search.tools.ingest import engine_for
from collection_search.tools.portable.files import export_file, import_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = 5


def test_a_text_that_comes_from_another_address_was_looked_at(settings: Settings) -> None:
    """Two addresses have it, and only the second one is found again."""
    context = filled(settings, [told("a"), told("b")])
    again = context.model_copy(update={"provider": ScriptedAdapter([told("b")])})
    report = refresh("tea", context=again)
    assert (report.unchanged, report.not_looked_at) == ([told("a").url], [])


def test_a_text_that_is_found_and_not_taken_was_not_looked_at(settings: Settings) -> None:
    """The question takes one result, and another one is better now."""
    context = filled(settings, [told("a")], auto_ingest_top_k=1)
    pages = [told("a", 2), told("b", 3)]
    pages[0].title = pages[0].snippet = "A timeout"
    again = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    report = refresh("tea", context=again)
    assert (report.new, report.not_looked_at) == ([told("b").url], [told("a").url])


def test_a_question_of_an_object_is_asked_of_no_other_provider(settings: Settings) -> None:
    """A collection of the house's own pages is not filled from the web."""
    context = filled(settings, [told("a")])
    elsewhere = context.model_copy(update={"provider": None})
    report = refresh("tea", context=elsewhere)
    assert (report.new, report.not_looked_at) == ([], [told("a").url])
    assert "an object of the program that asked" in str(report.questions[0].error)
    named = refresh("tea", context=context.model_copy(update={"provider": ScriptedAdapter([])}))
    assert named.questions[0].error is None


def test_a_question_is_asked_of_the_provider_that_the_settings_chose(tmp_path: Path) -> None:
    """Also when they choose another one since."""
    with ProviderServer("tavily") as tavily, ProviderServer("brave") as brave:
        providers = {
            name: {"api_key": KEY, "base_url": server.base_url}
            for name, server in (("tavily", tavily), ("brave", brave))
        }

        def context(name: str) -> SearchContext:
            settings = Settings(home=tmp_path, providers=providers, default_provider=name)
            return SearchContext(settings=settings, trigger=RecordingTrigger(), store=store)

        store = SQLiteStore(tmp_path / "collections.db")
        given = {**INPUT, "question": "asyncio", "auto_ingest": True, "auto_ingest_min_score": 0}
        CollectionSearchGraph(context("tavily")).run(given)
        scope = TenantScope("local", INPUT["collection_scope"])
        (record,) = store.collections.questions(scope)
        assert (record.provider, record.is_provider_live) == ("tavily", False)
        tavily.fail("plan_used_up")
        (again,) = refresh(scope.collection, context=context("brave")).questions
        assert again.outcome == "search_failed"
        assert brave.requests == []


def test_a_deletion_brings_no_worse_pages(settings: Settings) -> None:
    """With fewer than three good pages the threshold falls; a deleted one counts for that."""
    fair = told("fair", 9)
    fair.title, fair.snippet = "Timeouts", "About timeouts of tasks."
    pages = [*(told(f"{n}", n) for n in range(3)), fair]
    context = filled(settings, pages, auto_ingest_min_score=90)
    assert fair.url not in {document.url for document in documents_of(context)}
    collections = run_blocking(context.storage()).collections
    collections.delete_document(TenantScope("local", "tea"), url_key(pages[0].url))
    assert refresh("tea", context=context).new == []
    for page in pages[1:]:
        collections.delete_document(TenantScope("local", "tea"), url_key(page.url))
    report = refresh("tea", context=context)
    assert report.new == []
    assert "deleted by hand before" in str(report.questions[0].error)


def test_a_page_that_was_deleted_by_itself_is_not_brought_back(settings: Settings) -> None:
    """Until the question is asked by somebody and takes it."""
    context = filled(settings, [told("a"), told("b", 2)])
    store = run_blocking(context.storage())
    scope = TenantScope("local", "tea")
    assert store.collections.delete_document(scope, url_key(told("a").url))
    for _ in range(2):
        report = refresh("tea", context=context)
        assert (report.unchanged, report.new) == ([told("b").url], [])
    asked(context)
    assert refresh("tea", context=context).unchanged == [told("a").url, told("b").url]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_search_without_ranking_brings_back_no_deleted_page(
    settings: Settings, *, is_deleted: bool
) -> None:
    """As a question does not."""
    adapter = ScriptedAdapter([told("a"), told("b", 2)])
    context = SearchContext(settings=settings, embeddings=ScriptedEmbedder(), provider=adapter)
    searched(context, "asyncio timeout")
    if is_deleted:
        store = run_blocking(context.storage())
        store.collections.delete_document(TenantScope("local", "tea"), url_key(told("a").url))
    report = refresh("tea", context=context)
    assert (report.unchanged, report.new) == ([told("a").url, told("b").url][is_deleted:], [])


class CountingPages(WebPages):
    """Counts the documents that are read."""

    extracted = 0

    async def _extracted(self, page: Any) -> Any:
        self.extracted += 1
        return await super()._extracted(page)


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        for n in range(PAGES):
            site.put(f"/tea/{n}", article(f"Tea {n}", essay(f"tea number {n}")))
        yield site


class Calendar:
    """The time of day, and the days that are said to have passed."""

    days = 0

    def time(self) -> float:
        return time.time() + self.days * 86_400


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def living(site: LoopbackSite, calendar: Calendar, tmp_path: Path) -> Iterator[SearchContext]:
    settings = Settings(
        home=tmp_path,
        fetch_allowed=site.allowed,
        fetch_delay_s=0,
        extract_processes=1,
        ingest_max_attempts=2,
    )
    reader = CountingPages.from_settings(settings)
    settings.prepared_home()
    store = SQLiteStore(settings.collections_path, clock=calendar.time)
    yield SearchContext(
        settings=settings, store=store, reader=reader, embeddings=ScriptedEmbedder()
    )
    run_blocking(reader.aclose())
    store.close()


def found(site: LoopbackSite, *numbers: int) -> ScriptedAdapter:
    """A search engine that knows these pages, as an answer to the question of these tests."""
    return ScriptedAdapter(
        [
            ProviderSearchResult(
                url=site.address(f"/tea/{n}"),
                title="Cancel an asyncio task after a timeout",
                snippet=f"How to cancel an asyncio task after a timeout, part {n}.",
                source="tea",
            )
            for n in numbers
        ]
    )


@pytest.mark.slow
def test_an_unchanged_site_costs_one_conditional_request_a_page(
    site: LoopbackSite, living: SearchContext
) -> None:
    """Nothing is read and nothing embedded."""
    urls = [site.address(f"/tea/{n}") for n in range(PAGES)]
    assert wait(ingest(urls, collection="tea", context=living), 120, context=living).stored == PAGES
    reader, embedder = living.reader, living.embeddings
    assert isinstance(reader, CountingPages)
    assert isinstance(embedder, ScriptedEmbedder)
    extracted, embedded, asked = reader.extracted, len(embedder.calls), len(site.requests)
    assert extracted == PAGES
    assert 1 <= embedded <= PAGES  # pages that are ready at the same time share a request
    report = refresh("tea", context=living)
    assert report.unchanged == sorted(urls)
    assert (report.new, report.changed, report.gone, report.failed) == ([], [], [], [])
    again = site.requests[asked:]
    assert sorted(path for _, path, _ in again) == [f"/tea/{n}" for n in range(PAGES)]
    assert all("if-none-match" in headers for _, _, headers in again)
    assert (reader.extracted, len(embedder.calls)) == (extracted, embedded)


@pytest.mark.slow
def test_what_happened_to_a_site_is_told(site: LoopbackSite, living: SearchContext) -> None:
    """Each page under one word; what failed keeps its old text."""
    urls = [site.address(f"/tea/{n}") for n in range(PAGES)]
    wait(ingest(urls, collection="tea", context=living), 120, context=living)
    site.put("/tea/1", article("Tea 1", essay("another tea")))
    del site.pages[0, "/tea/2"]
    site.put("/tea/3", b"no", status=403)
    site.put("/tea/4", b"gone", status=410)
    report = refresh("tea", context=living)
    assert report.changed == [urls[1]]
    assert report.gone == [urls[4]]
    assert [page.url for page in report.failed] == [urls[2], urls[3]]
    assert [page.error.partition(":")[0] for page in report.failed] == ["gone", "needs_login"]
    assert report.unchanged == [urls[0]]


@pytest.mark.slow
def test_what_is_stored_outlives_challenges_and_scripts(
    site: LoopbackSite, living: SearchContext
) -> None:
    """However often they come; a new page that is one is given up at once, with the reason."""
    urls = [site.address(f"/tea/{n}") for n in range(4)]
    wait(ingest(urls, collection="tea", context=living), 120, context=living)
    scope = TenantScope("local", "tea")
    before = [row["digest"] for row in living.store.collections.export(scope)]
    site.put("/tea/0", CHALLENGES["Cloudflare"])
    site.put("/tea/1", SCRIPTED["React app"])
    site.put("/tea/2", CHALLENGES["consent wall"])
    site.put("/tea/3", CHALLENGES["Akamai"], status=403)
    for _ in range(2):
        report = refresh("tea", context=living)
        reasons = [page.error.partition(":")[0] for page in report.failed]
        assert reasons == ["challenge", "needs_javascript", "challenge", "challenge"]
        assert (report.changed, report.gone) == ([], [])
    assert [row["digest"] for row in living.store.collections.export(scope)] == before
    new = site.address("/new")
    site.put("/new", CHALLENGES["DataDome"])
    status = wait(ingest([new], collection="tea", context=living), 120, context=living)
    (row,) = status.rows
    assert (row.state, row.attempts) == ("dead", 1)
    assert "What is stored of the page stays" in str(row.error)


@pytest.mark.slow
def test_a_page_goes_when_it_is_missed_twice(site: LoopbackSite, living: SearchContext) -> None:
    """One 404 may be a slip: what is stored answers until the next look says the same."""
    urls = [site.address(f"/tea/{n}") for n in range(2)]
    wait(ingest(urls, collection="tea", context=living), 120, context=living)
    lost = {n: site.pages.pop((0, f"/tea/{n}")) for n in range(2)}
    first = refresh("tea", context=living)
    assert (first.gone, [page.url for page in first.failed]) == ([], urls)
    site.pages[0, "/tea/1"] = lost[1]
    second = refresh("tea", context=living)
    assert (second.gone, second.failed, second.unchanged) == ([urls[0]], [], [urls[1]])
    del site.pages[0, "/tea/1"]
    third = refresh("tea", context=living)
    assert (third.gone, [page.url for page in third.failed]) == ([], [urls[1]])
    assert refresh("tea", context=living).gone == [urls[1]]


@pytest.mark.slow
def test_a_failure_of_another_kind_is_no_sighting(
    site: LoopbackSite, living: SearchContext
) -> None:
    """A refused page and then a 404 are one miss."""
    url = site.address("/tea/0")
    wait(ingest(url, collection="tea", context=living), 120, context=living)
    kept = site.pages.pop((0, "/tea/0"))
    site.put("/tea/0", b"no", status=403)
    refresh("tea", context=living)
    del site.pages[0, "/tea/0"]
    assert refresh("tea", context=living).gone == []
    site.pages[0, "/tea/0"] = kept
    assert refresh("tea", context=living).unchanged == [url]
    assert living.store is not None
    (stored,) = living.store.collections.get(TenantScope("local", "tea"), [url_key(url)])
    assert "failed_before" not in stored.document.provenance


@pytest.mark.slow
def test_a_question_that_finds_a_vanished_page_makes_no_dead_letter(
    site: LoopbackSite, living: SearchContext
) -> None:
    """It is looked at, is still not there, and stays retired; once it is there it comes back."""
    living.provider = found(site, 0, 1)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    output = CollectionSearchGraph(living).run(given)[1]
    assert output["ingestion"] is not None
    wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
    kept = site.pages[0, "/tea/1"]
    site.put("/tea/1", b"gone", status=410)
    assert refresh("tea", context=living).gone == [site.address("/tea/1")]
    assert living.store is not None
    for status in (410, 404):
        site.put("/tea/1", b"gone", status=status)
        report = refresh("tea", context=living)
        assert (report.gone, report.failed, report.unread) == ([], [], [])
        assert living.store.ledger.dead_letters("local") == []
    site.pages[0, "/tea/1"] = kept
    assert refresh("tea", context=living).new == [site.address("/tea/1")]


@pytest.mark.slow
def test_questions_are_asked_again(site: LoopbackSite, living: SearchContext) -> None:
    """New results are ingested as they were then; those that are no longer found stay."""
    living.provider = found(site, 0, 1)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    output = CollectionSearchGraph(living).run(given)[1]
    assert output["ingestion"] is not None
    ticket = str(output["ingestion"]["ticket"])
    assert wait(ticket, 120, tenant="local", context=living).stored == 2
    living.provider = found(site, 1, 2)
    report = refresh("tea", context=living)
    assert [(one.outcome, one.error) for one in report.questions] == [
        ("auto_ingest_triggered", None)
    ]
    assert report.new == [site.address("/tea/2")]
    assert report.unchanged == [site.address("/tea/0"), site.address("/tea/1")]
    without = refresh("tea", context=living, ask=False)
    assert (without.questions, len(without.unchanged)) == ([], 3)


@pytest.mark.slow
def test_a_second_run_looks_at_its_pages_again(site: LoopbackSite, living: SearchContext) -> None:
    """What changed is stored anew, what did not costs one conditional request."""
    living.provider = found(site, 0, 1)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    changes: list[dict[str, str | None]] = []
    for _ in range(2):
        output = CollectionSearchGraph(living).run(given)[1]
        assert output["ingestion"] is not None
        status = wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
        changes.append({row.url: row.change for row in status.rows})
        site.put("/tea/1", article("Tea 1", essay("another tea")))
    first, second = site.address("/tea/0"), site.address("/tea/1")
    assert changes == [{first: "new", second: "new"}, {first: "unchanged", second: "changed"}]
    assert ["if-none-match" in headers for headers in site.asked("/tea/0")] == [False, True]
    assert len(site.asked("/tea/1")) == 2


@pytest.mark.slow
def test_a_question_leaves_what_was_given_up(site: LoopbackSite, living: SearchContext) -> None:
    """A page that never was stored is told once, by the refresh that found it."""
    living.provider = found(site, 0, 8)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    output = CollectionSearchGraph(living).run(given)[1]
    assert output["ingestion"] is not None
    wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
    asked = len(site.asked("/tea/8"))
    living.provider = found(site, 0, 8, 9)
    report = refresh("tea", context=living)
    assert (report.failed, [page.url for page in report.unread]) == ([], [site.address("/tea/9")])
    assert len(site.asked("/tea/8")) == asked
    assert len(site.asked("/tea/0")) == 2
    assert refresh("tea", context=living).unread == []
    assert report.unchanged == [site.address("/tea/0")]


@pytest.mark.slow
def test_a_page_that_vanished_comes_back_with_its_question(
    site: LoopbackSite, living: SearchContext
) -> None:
    """A refresh by itself does not ask for it so soon."""
    living.provider = found(site, 0, 1)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    output = CollectionSearchGraph(living).run(given)[1]
    assert output["ingestion"] is not None
    wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
    page = site.pages[0, "/tea/1"]
    site.put("/tea/1", b"", status=410)
    assert refresh("tea", context=living, ask=False).gone == [site.address("/tea/1")]
    asked = len(site.asked("/tea/1"))
    assert refresh("tea", context=living, ask=False).gone == []
    assert len(site.asked("/tea/1")) == asked
    site.pages[0, "/tea/1"] = page
    report = refresh("tea", context=living)
    assert report.new == report.returned == [site.address("/tea/1")]


def vanished(site: LoopbackSite, living: SearchContext, status: int) -> str:
    """Return the address of a page that was stored and is retired."""
    url = site.put("/tea/0", article("Tea 0", essay("tea number 0")))
    wait(ingest(url, collection="tea", context=living), 120, context=living)
    site.put("/tea/0", b"gone", status=status)
    for _ in range(2):
        refresh("tea", context=living)
    assert living.store is not None
    assert living.store.collections.hashes(TenantScope("local", "tea")) == {}
    return url


@pytest.mark.slow
def test_a_page_that_was_missed_by_mistake_returns(
    site: LoopbackSite, living: SearchContext, calendar: Calendar
) -> None:
    """A refresh asks for it once a week has passed; it is stored as it was before."""
    assert living.store is not None
    scope = TenantScope("local", "tea")
    wait(ingest(site.address("/tea/0"), collection="tea", context=living), 120, context=living)
    before = list(living.store.collections.export(scope))
    url = vanished(site, living, 404)
    site.put("/tea/0", article("Tea 0", essay("tea number 0")))
    asked = len(site.asked("/tea/0"))
    calendar.days = 6
    assert refresh("tea", context=living).returned == []
    assert len(site.asked("/tea/0")) == asked
    calendar.days = 8
    report = refresh("tea", context=living)
    assert (report.returned, report.new, report.gone) == ([url], [url], [])
    assert list(living.store.collections.export(scope)) == before
    again = refresh("tea", context=living)
    assert (again.returned, again.new, again.unchanged) == ([], [], [url])


@pytest.mark.slow
@pytest.mark.parametrize("status", [403, 404, 410, 429, 500])
def test_a_page_that_stays_away_costs_one_request(
    site: LoopbackSite, living: SearchContext, calendar: Calendar, status: int
) -> None:
    """Whatever its site answers; it is neither failed nor given up, and is asked for later."""
    vanished(site, living, 404)
    site.put("/tea/0", b"no", status=status)
    asked = len(site.asked("/tea/0"))
    for days in (8, 9):
        calendar.days = days
        report = refresh("tea", context=living)
        assert (report.new, report.gone, report.left) == ([], [], [])
        assert (report.failed, report.unread) == ([], [])
        assert len(site.asked("/tea/0")) == asked + 1
    assert living.store is not None
    assert living.store.ledger.dead_letters("local") == []
    assert len(living.store.ledger.retired(TenantScope("local", "tea"))) == 1


@pytest.mark.slow
def test_a_page_is_not_lost_to_our_own_failures(
    site: LoopbackSite, living: SearchContext, calendar: Calendar
) -> None:
    """A page that is back while the model is down stays retired, and returns a week later."""
    assert living.store is not None
    embedder = living.embeddings
    assert isinstance(embedder, ScriptedEmbedder)
    url = vanished(site, living, 404)
    site.put("/tea/0", article("Tea 0", essay("tea number 0")))
    embedder.errors += [ModelError("down")] * living.using().ingest_max_attempts
    engine, done = run_blocking(engine_for(living)), list[PageDone]()
    engine.equip(on_page_done=done.append)
    calendar.days = 100
    report = refresh("tea", context=living)
    assert (report.returned, report.failed, report.unread, report.left) == ([], [], [], [])
    assert living.store.ledger.dead_letters("local") == []
    assert "failed" not in {page.outcome for page in done}
    calendar.days = 108
    assert refresh("tea", context=living).returned == [url]


@pytest.mark.slow
def test_a_question_that_finds_a_vanished_page_of_a_broken_site_makes_no_dead_letter(
    site: LoopbackSite, living: SearchContext, calendar: Calendar
) -> None:
    """It stays retired, and a later refresh brings it back without the question."""
    living.provider = found(site, 0)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    CollectionSearchGraph(living).run(given)
    url = vanished(site, living, 410)
    site.put("/tea/0", b"no", status=500)
    report = refresh("tea", context=living)
    assert (report.failed, report.unread, report.left) == ([], [], [])
    site.put("/tea/0", article("Tea 0", essay("tea number 0")))
    calendar.days = 8
    assert refresh("tea", context=living, ask=False).returned == [url]


@pytest.mark.slow
def test_a_page_that_returns_after_a_refresh_was_cut_short_is_told(
    site: LoopbackSite, living: SearchContext, calendar: Calendar
) -> None:
    """By the next one, which waits for it too."""
    assert living.store is not None
    scope = TenantScope("local", "tea")
    url = vanished(site, living, 404)
    site.put("/tea/0", article("Tea 0", essay("tea number 0")))
    calendar.days = 8
    living.store.ledger.refetch(scope, url_keys=living.store.ledger.retired(scope, due=True))
    report = refresh("tea", context=living)
    assert (report.returned, report.new, report.left) == ([url], [url], [])


@pytest.mark.slow
def test_a_page_that_is_gone_for_good_is_left_alone_for_long(
    site: LoopbackSite, living: SearchContext, calendar: Calendar
) -> None:
    """410 is likely to last: it is asked for after half a year."""
    url = vanished(site, living, 410)
    site.put("/tea/0", article("Tea 0", essay("tea number 0")))
    asked = len(site.asked("/tea/0"))
    calendar.days = 179
    assert refresh("tea", context=living).returned == []
    assert len(site.asked("/tea/0")) == asked
    calendar.days = 181
    assert refresh("tea", context=living).returned == [url]


@pytest.mark.slow
def test_a_search_that_was_ingested_is_repeated_as_such(
    site: LoopbackSite, living: SearchContext
) -> None:
    """Without ranking, and with the same number of pages."""
    from collection_search import UniversalIngestionGraph

    living.provider = found(site, 0)
    given = {"source": "search", "query": "tea", "collection_scope": "tea", "max_results": 2}
    output = UniversalIngestionGraph(living).run({**given, "min_snippet_chars": 0})
    assert output["ingestion"] is not None
    wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
    living.provider = found(site, 0, 1, 2)
    report = refresh("tea", context=living)
    assert [one.outcome for one in report.questions] == ["ingestion_started"]
    assert report.new == [site.address("/tea/1")]


@pytest.mark.slow
def test_a_question_that_fails_is_told(site: LoopbackSite, living: SearchContext) -> None:
    """The stored pages are looked at all the same."""
    living.provider = found(site, 0)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    output = CollectionSearchGraph(living).run(given)[1]
    assert output["ingestion"] is not None
    wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
    living.provider = ScriptedAdapter(SearchProviderUnavailable("down", retryable=False))
    report = refresh("tea", context=living)
    assert [(one.outcome, one.error) for one in report.questions] == [("search_failed", "down")]
    assert report.unchanged == [site.address("/tea/0")]


@pytest.mark.slow
def test_a_providers_text_is_not_fetched(site: LoopbackSite, living: SearchContext) -> None:
    """It comes again with its question, or stays."""
    pages = [
        ProviderSearchResult(
            url=site.address("/tea/0"),
            title="Cancel an asyncio task after a timeout",
            snippet="How to cancel an asyncio task after a timeout.",
            source="tea",
            content="How to cancel an asyncio task after a timeout, in full.",
        )
    ]
    living.provider = ScriptedAdapter(pages)
    given = {**INPUT, "collection_scope": "tea", "auto_ingest": True}
    output = CollectionSearchGraph(living).run(given)[1]
    assert output["ingestion"] is not None
    wait(str(output["ingestion"]["ticket"]), 120, tenant="local", context=living)
    report = refresh("tea", context=living)
    assert report.unchanged == [site.address("/tea/0")]
    assert site.requests == []


@pytest.mark.slow
def test_an_imported_collection_is_kept_fresh(
    site: LoopbackSite, living: SearchContext, tmp_path: Path
) -> None:
    """By a refresh as by naming its pages; an export holds no times."""
    assert living.store is not None
    urls = [site.address(f"/tea/{n}") for n in range(2)]
    wait(ingest(urls, collection="tea", context=living), 120, context=living)
    path = tmp_path / "tea.jsonl"
    export_file(living.store.collections, TenantScope("local", "tea"), path)
    for copy in ("asked", "named"):
        import_file(living.store.collections, TenantScope("local", copy), path)
    site.put("/tea/1", article("Tea 1", essay("another tea")))
    report = refresh("asked", context=living)
    assert (report.changed, report.unchanged) == ([urls[1]], [urls[0]])
    status = wait(ingest(urls, collection="named", context=living), 120, context=living)
    assert [row.change for row in status.rows] == ["unchanged", "changed"]


def test_an_unknown_collection_is_refused(living: SearchContext) -> None:
    """Nothing is created by asking."""
    with pytest.raises(InputError, match="has no collection 'tea'"):
        refresh("tea", context=living)
