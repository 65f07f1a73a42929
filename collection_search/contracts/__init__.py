"""What crosses the package's borders, as pure data: validated, and free of any adapter.

The contexts and results of a search are importable from here. They are loaded on first use: other
contracts need no pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .search import (
        BusinessContext,
        Identifier,
        Name,
        NormalizedQuery,
        NormalizedUrl,
        ProviderSearchResult,
        RawSearchResult,
        ScopeContext,
        SearchAdapterResponse,
        SearchResult,
        ToolContext,
        ToolMetadata,
        ToolOutcome,
        WebSearchInput,
        WebSearchResponse,
    )

__all__ = [
    "BusinessContext",
    "Identifier",
    "Name",
    "NormalizedQuery",
    "NormalizedUrl",
    "ProviderSearchResult",
    "RawSearchResult",
    "ScopeContext",
    "SearchAdapterResponse",
    "SearchResult",
    "ToolContext",
    "ToolMetadata",
    "ToolOutcome",
    "WebSearchInput",
    "WebSearchResponse",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import search

    return getattr(search, name)
