"""Collections that a question has filled with pages whose text the provider gives."""

from __future__ import annotations

from typing import Any, Final

from collection_search import CollectionSearchGraph, SearchContext, Settings, wait
from collection_search.contracts.collection import Document, TenantScope
from collection_search.contracts.search import ProviderSearchResult
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.graphs.universal_ingestion import UniversalIngestionGraph
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder

from .scripted_world import INPUT, QUESTION

SCOPE: Final = TenantScope("local", "tea")
ASKED: Final = {**INPUT, "collection_scope": "tea", "auto_ingest": True}


def told(name: str, number: int = 1, *, host: str = "docs.example.com") -> ProviderSearchResult:
    """Return a page whose text the provider gives."""
    return ProviderSearchResult(
        url=f"https://{host}/{name}",
        title="Cancel an asyncio task after a timeout",
        snippet=f"How to cancel an asyncio task after a timeout, chapter {number}.",
        content=f"How to cancel an asyncio task after a timeout, part {number}.",
        source="docs",
    )


def filled(settings: Settings, pages: list[ProviderSearchResult], **more: Any) -> SearchContext:
    """Return the context of a collection that a question has filled."""
    adapter = ScriptedAdapter(pages)
    context = SearchContext(settings=settings, embeddings=ScriptedEmbedder(), provider=adapter)
    asked(context, **more)
    return context


def asked(context: SearchContext, **more: Any) -> None:
    """Ask the question without a review, and ingest what it finds."""
    _, output = CollectionSearchGraph(context).run({**ASKED, **more})
    _ingested(output, context)


def searched(context: SearchContext, query: str = QUESTION) -> None:
    """Ask by a search without ranking, and ingest what it finds."""
    given = {"source": "search", "query": query, "collection_scope": "tea"}
    output = UniversalIngestionGraph(context).run({**given, "mode": "acquire_and_ingest"})
    _ingested(output, context)


def _ingested(output: Any, context: SearchContext) -> None:
    assert output["ingestion"]
    wait(str(output["ingestion"]["ticket"]), 60, context=context)


def documents_of(context: SearchContext) -> list[Document]:
    """Return the documents of the collection."""
    collections = run_blocking(context.storage()).collections
    keys = list(collections.hashes(SCOPE))
    return [stored.document for stored in collections.get(SCOPE, keys)]


def reviewed(settings: Settings, *approved: int) -> tuple[SearchContext, list[str]]:
    """Return the context of a collection with these of six pages, and the addresses of all."""
    pages = [told(f"{n}", n) for n in range(6)]
    adapter = ScriptedAdapter(pages)
    context = SearchContext(settings=settings, embeddings=ScriptedEmbedder(), provider=adapter)
    urls = [page.url for page in pages]
    review(context, [urls[n] for n in approved])
    return context, urls


def review(context: SearchContext, approved: list[str], *, approver: str | None = None) -> None:
    """Ask the question with a review that approves these pages."""
    reviews, gate_id = begin_review(context, auto_ingest_top_k=3)
    decision = {"status": "partial", "approved_urls": approved, "approver": approver}
    ingested = reviews.decide(gate_id, decision)["ingestion"]
    assert ingested is not None
    assert ingested["count"] == len(approved)


def begin_review(context: SearchContext, **more: Any) -> tuple[CollectionReviewGraph, str]:
    """Ask the question with a review; return the reviews and the id of the gate that waits."""
    reviews = CollectionReviewGraph(context)
    request = reviews.run({**INPUT, "collection_scope": "tea", **more})["request"]
    assert request is not None
    return reviews, request["gate_id"]
