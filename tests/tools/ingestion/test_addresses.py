"""The engine and pages with several addresses, and pages that their site no longer offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import LoopbackSite, article, essay

from collection_search import SearchContext, Settings, retrieve, wait
from collection_search.adapters.crawl.web import WebPages
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.graphs.refresh import refresh
from collection_search.runtime.concurrency import run_blocking
from collection_search.text.urls import url_key
from collection_search.tools.coverage.ingestion_coverage import ingestion_coverage
from collection_search.tools.ingest import engine_for, ingest
from collection_search.tools.portable.files import export_file, import_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCOPE = TenantScope("local", "docs")
TEA = article("Green tea", essay("green tea"))
pytestmark = pytest.mark.slow


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        yield site


@pytest.fixture
def make(tmp_path: Path, site: LoopbackSite) -> Iterator[Callable[..., SearchContext]]:
    """Return a context of these settings; all share one store."""
    contexts: list[SearchContext] = []

    def build(**settings: Any) -> SearchContext:
        known = {"fetch_allowed": site.allowed, "fetch_delay_s": 0, "extract_processes": 1}
        chosen = Settings(home=tmp_path, **{**known, **settings})
        store = contexts[0].store if contexts else SQLiteStore.from_settings(chosen)
        contexts.append(SearchContext(settings=chosen, store=store))
        return contexts[-1]

    yield build
    for context in contexts:
        run_blocking(engine_for(context)).stop()
        reader = run_blocking(context.page_reader())
        assert isinstance(reader, WebPages)
        run_blocking(reader.aclose())
    if contexts and isinstance(store := contexts[0].store, SQLiteStore):
        store.close()


def test_equal_pages_are_one_passage_with_both_addresses(
    site: LoopbackSite, make: Callable[..., SearchContext]
) -> None:
    """Coverage counts both pages as stored, and a refresh finds both unchanged, then one changed."""
    context = make()
    urls = [site.put("/tea", TEA), site.put("/tea/", TEA)]
    status = wait(ingest(urls, collection="docs", context=context), 60, context=context)
    assert sorted(str(row.change) for row in status.rows) == ["duplicate", "new"]
    coverage = ingestion_coverage(status, is_done=True)
    assert (coverage["stored"], coverage["success_ratio"]) == (2, 1.0)
    (passage, *_) = retrieve("green tea", collection="docs", tenant="local", context=context)
    assert (passage.url, passage.provenance["also_at"]) == (urls[0], [urls[1]])
    assert refresh("docs", context=context).unchanged == urls
    site.put("/tea/", article("Black tea", essay("black tea")))
    report = refresh("docs", context=context)
    assert (report.unchanged, report.changed, report.new) == (urls[:1], urls[1:], [])


def test_a_new_title_of_the_same_text_is_a_change(
    site: LoopbackSite, make: Callable[..., SearchContext]
) -> None:
    """Passages are cited by it, and its words find them."""
    context = make()
    url = site.put("/tea", TEA)
    wait(ingest([url], collection="docs", context=context), 60, context=context)
    site.put("/tea", TEA.replace(b"<title>Green tea", b"<title>Sencha"))
    report = refresh("docs", context=context)
    assert (report.changed, report.unchanged) == ([url], [])
    for question in ("green tea", "sencha"):
        (passage, *_) = retrieve(question, collection="docs", tenant="local", context=context)
        assert passage.title == "Sencha"
    report = refresh("docs", context=context)
    assert (report.changed, report.unchanged) == ([], [url])


def test_a_page_is_cited_by_its_own_title_when_its_twin_is_gone(
    site: LoopbackSite, make: Callable[..., SearchContext]
) -> None:
    """From the next refresh on: the document had the title of the page that was deleted."""
    context = make()
    twin = TEA.replace(b"<title>Green tea", b"<title>Sencha")
    urls = [site.put("/a", TEA), site.put("/b", twin)]
    wait(ingest(urls, collection="docs", context=context), 60, context=context)
    assert refresh("docs", context=context).unchanged == urls
    assert context.store is not None
    assert context.store.collections.delete_document(SCOPE, url_key(urls[0]))
    assert refresh("docs", context=context).changed == [urls[1]]
    (passage, *_) = retrieve("green tea", collection="docs", tenant="local", context=context)
    assert (passage.url, passage.title) == (urls[1], "Sencha")
    assert refresh("docs", context=context).unchanged == [urls[1]]


def test_a_copy_of_a_collection_looks_at_all_its_addresses(
    site: LoopbackSite, make: Callable[..., SearchContext], tmp_path: Path
) -> None:
    """As the collection does that was exported."""
    context = make()
    urls = [site.put("/a", TEA), site.put("/b", TEA)]
    wait(ingest(urls, collection="docs", context=context), 60, context=context)
    assert context.store is not None
    path = tmp_path / "docs.jsonl"
    export_file(context.store.collections, SCOPE, path)
    import_file(context.store.collections, TenantScope("local", "copy"), path)
    site.put("/b", article("Black tea", essay("black tea")))
    for collection in ("docs", "copy"):
        report = refresh(collection, context=context)
        assert (report.changed, report.unchanged, report.new) == (urls[1:], urls[:1], [])
        found = retrieve("black tea", collection=collection, tenant="local", context=context)
        assert (found[0].url, found[0].title) == (urls[1], "Black tea")


def test_a_redirect_is_found_by_its_target(
    site: LoopbackSite, make: Callable[..., SearchContext]
) -> None:
    """Where the target is ingested, too, it has the document and the redirect is its address."""
    context = make()
    new = site.put("/new", TEA)
    old = site.put("/old", b"", status=301, headers={"Location": "/new"})
    wait(ingest([old], collection="docs", context=context), 60, context=context)
    (passage, *_) = retrieve("green tea", collection="docs", tenant="local", context=context)
    assert (passage.url, passage.provenance["also_at"]) == (old, [new])
    wait(ingest([new], collection="docs", context=context), 60, context=context)
    (passage, *_) = retrieve("green tea", collection="docs", tenant="local", context=context)
    assert (passage.url, passage.provenance["also_at"]) == (new, [old])


def test_pages_that_robots_forbids_later(
    site: LoopbackSite, make: Callable[..., SearchContext]
) -> None:
    """They stay and are named by the report, unless a setting removes them."""
    context = make()
    url = site.put("/tea", TEA)
    wait(ingest([url], collection="docs", context=context), 60, context=context)
    site.put("/robots.txt", b"User-agent: *\nDisallow: /tea")
    context = make(fetch_timeout_s=29)  # another reader, which has not read robots.txt yet
    report = refresh("docs", context=context)
    assert ([page.url for page in report.failed], report.gone) == ([url], [])
    assert report.failed[0].error.startswith("robots_disallowed: ")
    assert refresh("docs", context=make(fetch_retire_forbidden=True)).gone == [url]


def test_pages_that_ask_not_to_be_indexed(
    site: LoopbackSite, make: Callable[..., SearchContext]
) -> None:
    """They are stored, unless a setting honours it; then stored ones are removed, too."""
    url = site.put("/tea", TEA, headers={"X-Robots-Tag": "noindex"})
    context = make()
    wait(ingest([url], collection="docs", context=context), 60, context=context)
    assert refresh("docs", context=context).unchanged == [url]
    context = make(fetch_noindex=True)
    assert refresh("docs", context=context).gone == [url]
    meta = TEA.replace(b"<head>", b"<head><meta name=robots content=noindex>", 1)
    assert meta != TEA
    other = site.put("/other", meta)
    status = wait(ingest([other], collection="docs", context=context), 60, context=context)
    assert [(row.state, (row.error or "")[:8]) for row in status.rows] == [("dead", "noindex:")]
