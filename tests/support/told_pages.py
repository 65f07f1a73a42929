"""Collections that a question has filled with pages whose text the provider gives."""

from __future__ import annotations

from typing import Any, Final

from collection_search import CollectionSearchGraph, SearchContext, Settings, wait
from collection_search.contracts.collection import Document, TenantScope
from collection_search.contracts.search import ProviderSearchResult
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder

from .scripted_world import INPUT

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
    _, output = CollectionSearchGraph(context).run({**ASKED, **more})
    assert output["ingestion"]
    wait(str(output["ingestion"]["ticket"]), 60, context=context)
    return context


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
    reviews = CollectionReviewGraph(context)
    request = reviews.run({**INPUT, "collection_scope": "tea", "auto_ingest_top_k": 3})["request"]
    assert request is not None
    decision = {"status": "partial", "approved_urls": approved, "approver": approver}
    ingested = reviews.decide(request["gate_id"], decision)["ingestion"]
    assert ingested is not None
    assert ingested["count"] == len(approved)
