"""Finds sources with Collection Search, and maps its keys to those of the article."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collection_search import graph

if TYPE_CHECKING:
    from nodes.article import Article


async def research(state: Article) -> Article:
    """Return the best three sources; what is good enough goes into the collection `articles`."""
    given = {
        "question": f"How does {state['topic']} work?",
        "collection_scope": "articles",
        "auto_ingest": True,
    }
    found = await graph.ainvoke(given)
    return {"sources": [page["url"] for page in found["results"][:3]]}
