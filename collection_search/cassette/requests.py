"""What is asked of a port, as the cassette has it, and how the parts are called there."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from .codec import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEYWORDS: Final = ("max_results", "limit", "timeout", "options")
"""What a search may take besides the query, older names included."""


def keywords_of(search: Callable[..., Any]) -> list[str]:
    """Return which of the keywords the search function takes.

    >>> keywords_of(lambda query, *, max_results, timeout=None: None)
    ['max_results', 'timeout']
    """
    try:
        parameters = inspect.signature(search).parameters
    except (TypeError, ValueError):
        return ["max_results"]
    known = [name for name in KEYWORDS if name in parameters]
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    has_count = "max_results" in known or "limit" in known
    return known if has_count or not takes_any else ["max_results", *known]


def search_request(query: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the request of a search; how long it may take makes no difference.

    >>> search_request("asyncio", {"limit": 5, "timeout": 10.0, "options": None})
    {'query': 'asyncio', 'max_results': 5}
    """
    told = {"query": query, "max_results": keywords.get("max_results", keywords.get("limit"))}
    told |= {name: value for name, value in keywords.items() if name not in KEYWORDS[:3]}
    request = {name: plain(value) for name, value in told.items()}
    return {name: value for name, value in request.items() if value not in (None, {})}


def plan_request(question: str, purpose: str, count: int) -> dict[str, Any]:
    """Return the request of a plan."""
    return {"question": plain(question), "purpose": plain(purpose), "count": plain(count)}


def embed_request(texts: Sequence[str]) -> dict[str, Any]:
    """Return the request of vectors."""
    return {"texts": [plain(text) for text in texts]}
