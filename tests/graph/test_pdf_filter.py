"""Only PDFs, or everything else: in both graphs, kept for the refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import INPUT

from collection_search import (
    CollectionSearchGraph,
    SearchContext,
    UniversalIngestionGraph,
    refresh,
    wait,
)
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.search import ProviderSearchResult
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter
from collection_search.text.urls import url_key

if TYPE_CHECKING:
    from collection_search.testing import RecordingTrigger

PDFS = ["https://a.org/paper.pdf", "https://a.org/download?id=7"]
PAGES = ["https://a.org/guide", "https://a.org/tutorial"]


@pytest.fixture
def mixed(context: SearchContext) -> SearchContext:
    """A provider that finds PDFs, of which one is known by its content type alone, and pages."""
    kinds = dict.fromkeys(PDFS, "application/pdf") | dict.fromkeys(PAGES, "text/html")
    found = [
        ProviderSearchResult(
            url=url,
            title="Cancel an asyncio task after a timeout",
            snippet=f"How to cancel an asyncio task after a timeout, by {url}.",
            source="a.org",
            content_type=kind,
            content="Use asyncio.timeout to cancel an asyncio task after a timeout. " * 9,
        )
        for url, kind in kinds.items()
    ]
    return context.model_copy(update={"provider": ScriptedAdapter(found)})


@pytest.mark.parametrize(
    ("wanted", "urls", "notice"),
    [
        (True, PDFS, ["2 pages are left out: not PDF."]),
        (False, PAGES, ["2 pages are left out: PDF."]),
        (None, [*PDFS, *PAGES], []),
    ],
)
def test_a_search_keeps_the_wanted_kind(
    mixed: SearchContext, wanted: bool | None, urls: list[str], notice: list[str]
) -> None:
    """Results have that kind alone, and a notice counts the others."""
    _, output = CollectionSearchGraph(mixed).run({**INPUT, "is_pdf": wanted})
    assert {result["url"] for result in output["results"]} == set(urls)
    assert output["search"]["notices"] == notice


def test_nothing_of_the_wanted_kind_is_no_candidate(context: SearchContext) -> None:
    """The outcome is as if nothing had been found; the notice says why."""
    _, output = CollectionSearchGraph(context).run({**INPUT, "is_pdf": True})
    assert output["outcome"] == "no_candidates"
    assert output["search"]["notices"] == ["6 pages are left out: not PDF."]


@pytest.mark.parametrize(
    ("wanted", "kept", "reason"), [(True, PDFS, "is_no_pdf"), (False, PAGES, "is_pdf")]
)
def test_a_dropped_page_has_its_reason(
    mixed: SearchContext, wanted: bool, kept: list[str], reason: str
) -> None:
    """`k_select` of the ingestion drops the other kind."""
    given = {"source": "search", "query": "asyncio timeout", "collection_scope": "docs"}
    output = UniversalIngestionGraph(mixed).run({**given, "is_pdf": wanted})
    assert [page["url"] for page in output["candidates"]] == kept
    dropped = {*PDFS, *PAGES} - set(kept)
    assert {page["url"] for page in output["dropped"]} == dropped
    assert {page["reason"] for page in output["dropped"]} == {reason}
    assert output["telemetry"]["nodes"]["k_select"]["unwanted_kind_count"] == 2


def test_a_preselected_page_says_its_kind(context: SearchContext) -> None:
    """Else its address tells."""
    named: list[Any] = [*PAGES, PDFS[0], {"url": PDFS[1], "is_pdf": True}]
    given = {"source": "preselected", "collection_scope": "docs", "preselected_results": named}
    output = UniversalIngestionGraph(context).run({**given, "is_pdf": True})
    assert [page["url"] for page in output["candidates"]] == PDFS


def test_the_kind_is_kept_with_the_page(mixed: SearchContext, trigger: RecordingTrigger) -> None:
    """So that a collection can be asked for its PDFs, however their addresses end."""
    CollectionSearchGraph(mixed).run({**INPUT, "auto_ingest": True, "auto_ingest_min_score": 0})
    said = {item.url: item.provenance.get("is_pdf") for item in trigger.requests[0].items}
    assert said == dict.fromkeys(PDFS, True) | dict.fromkeys(PAGES)


def test_a_refresh_wants_the_same_kind(mixed: SearchContext) -> None:
    """The question is asked again as it was."""
    living = mixed.model_copy(update={"trigger": None})
    asked = {**INPUT, "auto_ingest": True, "auto_ingest_min_score": 0, "is_pdf": True}
    _, output = CollectionSearchGraph(living).run(asked)
    assert output["ingestion"] is not None
    assert wait(str(output["ingestion"]["ticket"]), 120, context=living).stored == len(PDFS)
    report = refresh("software_docs", context=living)
    assert [again.outcome for again in report.questions] == ["auto_ingest_triggered"]
    store, scope = run_blocking(living.storage()), TenantScope(living.tenant(), "software_docs")
    assert store.collections.hashes(scope).keys() == {url_key(url) for url in PDFS}
