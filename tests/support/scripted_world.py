"""A question and pages for tests that need neither network, model nor database."""

from __future__ import annotations

from typing import Any

from collection_search.contracts.search import ProviderSearchResult

QUESTION = "How do I cancel an asyncio task after a timeout?"
INPUT: dict[str, Any] = {
    "question": QUESTION,
    "collection_scope": "software_docs",
    "purpose": "collection_search",
}


def good_pages(count: int = 6) -> list[ProviderSearchResult]:
    """Pages that answer the question in so many words."""
    return [
        ProviderSearchResult(
            url=f"https://docs.example.com/asyncio/cancel-task-{n}",
            title="Cancel an asyncio task after a timeout",
            snippet=f"How to cancel an asyncio task after a timeout, part {n}: use asyncio.timeout.",
            source="docs.example.com",
        )
        for n in range(count)
    ]


def fair_pages() -> list[ProviderSearchResult]:
    """Three pages that are about the question's subject without answering it word for word."""
    texts = {
        "Coroutines and tasks": "asyncio.timeout() limits how long a task waits before it ends.",
        "Asyncio tasks": "Tasks run coroutines concurrently; a task can be cancelled.",
        "Timeouts in asyncio": "Every task may be given a timeout.",
    }
    return [
        ProviderSearchResult(
            url=f"https://docs.example.com/fair/{n}", title=title, snippet=snippet, source="docs"
        )
        for n, (title, snippet) in enumerate(texts.items())
    ]


def poor_pages(count: int = 6) -> list[ProviderSearchResult]:
    """Pages that share nothing with the question."""
    return [
        ProviderSearchResult(
            url=f"https://cooking.example.com/soup/{n}",
            title=f"Grandmother's potato soup {n}",
            snippet="Peel the potatoes, chop the onions and let them simmer gently.",
            source="cooking.example.com",
        )
        for n in range(count)
    ]
