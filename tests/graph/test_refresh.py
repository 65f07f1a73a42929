"""A living collection on a real site: what is new, changed, unchanged, gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from loopback_site import LoopbackSite, article, essay
from scripted_world import INPUT

from collection_search import CollectionSearchGraph, SearchContext, Settings, ingest, refresh, wait
from collection_search.adapters.crawl.web import WebPages
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.bridge import run_blocking
from collection_search.contracts import ProviderSearchResult
from collection_search.errors import InputError, SearchProviderUnavailable
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = 5


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


@pytest.fixture
def living(site: LoopbackSite, tmp_path: Path) -> Iterator[SearchContext]:
    settings = Settings(
        home=tmp_path, fetch_allowed=site.allowed, fetch_delay_s=0, extract_processes=1
    )
    reader = CountingPages.from_settings(settings)
    store = SQLiteStore.from_settings(settings)
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
    assert (extracted, embedded) == (PAGES, PAGES)
    report = refresh("tea", context=living)
    assert report.unchanged == sorted(urls)
    assert (report.new, report.changed, report.gone, report.failed) == ([], [], [], [])
    again = site.requests[asked:]
    assert sorted(path for _, path, _ in again) == [f"/tea/{n}" for n in range(PAGES)]
    assert all("if-none-match" in headers for _, _, headers in again)
    assert (reader.extracted, len(embedder.calls)) == (extracted, embedded)


def test_what_happened_to_a_site_is_told(site: LoopbackSite, living: SearchContext) -> None:
    """Each page under one word; what failed keeps its old text."""
    urls = [site.address(f"/tea/{n}") for n in range(PAGES)]
    wait(ingest(urls, collection="tea", context=living), 120, context=living)
    site.put("/tea/1", article("Tea 1", essay("another tea")))
    del site.pages[0, "/tea/2"]
    site.put("/tea/3", b"no", status=403)
    report = refresh("tea", context=living)
    assert report.changed == [urls[1]]
    assert report.gone == [urls[2]]
    assert [page.url for page in report.failed] == [urls[3]]
    assert report.failed[0].error.startswith("needs_login: ")
    assert report.unchanged == [urls[0], urls[4]]


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


def test_an_unknown_collection_is_refused(living: SearchContext) -> None:
    """Nothing is created by asking."""
    with pytest.raises(InputError, match="has no collection 'tea'"):
        refresh("tea", context=living)
