"""The web search tool: its worker, with the types and errors that adapters and callers need."""

from __future__ import annotations

from ..contracts.options import SearchOptions
from ..contracts.search import (
    BusinessContext,
    ProviderSearchResult,
    RawSearchResult,
    ScopeContext,
    SearchAdapterResponse,
    SearchResult,
    ToolContext,
    ToolOutcome,
    WebSearchInput,
    WebSearchResponse,
)
from ..errors import (
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from ..ports import BaseSearchAdapter, SearchAdapter, SupportsOptions
from .search.search_worker import WebSearchWorker

__all__ = [
    "BaseSearchAdapter",
    "BusinessContext",
    "ProviderSearchResult",
    "RawSearchResult",
    "ScopeContext",
    "SearchAdapter",
    "SearchAdapterResponse",
    "SearchOptions",
    "SearchProviderAuthenticationFailed",
    "SearchProviderBadResponse",
    "SearchProviderError",
    "SearchProviderInvalidQuery",
    "SearchProviderQuotaExceeded",
    "SearchProviderTimeout",
    "SearchProviderUnavailable",
    "SearchResult",
    "SupportsOptions",
    "ToolContext",
    "ToolOutcome",
    "WebSearchInput",
    "WebSearchResponse",
    "WebSearchWorker",
]
