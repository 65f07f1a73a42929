"""What crosses the package's borders, as pure data: validated, and free of any adapter."""

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
