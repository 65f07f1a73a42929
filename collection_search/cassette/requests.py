"""Requests to the ports, as JSON-plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ports.search_function import KEYWORDS
from .codec import to_plain

if TYPE_CHECKING:
    from collections.abc import Sequence


def search_request(query: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the request of a search, without its time limit.

    >>> search_request("asyncio", {"limit": 5, "timeout": 10.0, "options": None})
    {'query': 'asyncio', 'max_results': 5}
    """
    given = {"query": query, "max_results": keywords.get("max_results", keywords.get("limit"))}
    given |= {name: value for name, value in keywords.items() if name not in KEYWORDS[:3]}
    return {name: value for name, value in to_plain(given).items() if value not in (None, {})}


def plan_request(question: str, purpose: str, count: int) -> dict[str, Any]:
    """Return the request of a plan."""
    return {"question": to_plain(question), "purpose": to_plain(purpose), "count": to_plain(count)}


def embed_request(texts: Sequence[str]) -> dict[str, Any]:
    """Return the request of vectors."""
    return {"texts": [to_plain(text) for text in texts]}
