"""From a question to a vetted, searchable collection.

Public names are loaded on first use: importing the package loads neither LangGraph nor OpenAI
nor Langfuse.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import SearchContext
    from .contracts import (
        BusinessContext,
        GraphInput,
        ScopeContext,
        SearchResult,
        ToolContext,
        ToolOutcome,
        WebSearchInput,
        WebSearchResponse,
    )
    from .errors import (
        CollectionSearchError,
        ConfigError,
        ExtractionError,
        IngestError,
        InputError,
        InvalidQueryError,
        InvalidUrlError,
        MissingExtraError,
        ModelError,
        QualityThresholdError,
        SearchProviderAuthenticationFailed,
        SearchProviderBadResponse,
        SearchProviderError,
        SearchProviderInvalidQuery,
        SearchProviderQuotaExceeded,
        SearchProviderTimeout,
        SearchProviderUnavailable,
        StoreError,
    )
    from .graphs.collection_search import CollectionSearchGraph, build_graph, graph
    from .records import Passage, Ticket, TicketStatus
    from .settings import Settings
    from .tools.ingest import wait
    from .tools.reembed import reembed
    from .tools.retrieve import retrieve
    from .tools.web_search import WebSearchWorker

__version__ = "0.1.0"

_HOME = {
    "BusinessContext": "contracts",
    "CollectionSearchError": "errors",
    "CollectionSearchGraph": "graphs.collection_search",
    "ConfigError": "errors",
    "ExtractionError": "errors",
    "GraphInput": "contracts",
    "IngestError": "errors",
    "InputError": "errors",
    "InvalidQueryError": "errors",
    "InvalidUrlError": "errors",
    "MissingExtraError": "errors",
    "ModelError": "errors",
    "Passage": "records",
    "QualityThresholdError": "errors",
    "ScopeContext": "contracts",
    "SearchContext": "context",
    "SearchProviderAuthenticationFailed": "errors",
    "SearchProviderBadResponse": "errors",
    "SearchProviderError": "errors",
    "SearchProviderInvalidQuery": "errors",
    "SearchProviderQuotaExceeded": "errors",
    "SearchProviderTimeout": "errors",
    "SearchProviderUnavailable": "errors",
    "SearchResult": "contracts",
    "Settings": "settings",
    "StoreError": "errors",
    "Ticket": "records",
    "TicketStatus": "records",
    "ToolContext": "contracts",
    "ToolOutcome": "contracts",
    "WebSearchInput": "contracts",
    "WebSearchResponse": "contracts",
    "WebSearchWorker": "tools.web_search",
    "build_graph": "graphs.collection_search",
    "graph": "graphs.collection_search",
    "reembed": "tools.reembed",
    "retrieve": "tools.retrieve",
    "wait": "tools.ingest",
}

__all__ = [
    "BusinessContext",
    "CollectionSearchError",
    "CollectionSearchGraph",
    "ConfigError",
    "ExtractionError",
    "GraphInput",
    "IngestError",
    "InputError",
    "InvalidQueryError",
    "InvalidUrlError",
    "MissingExtraError",
    "ModelError",
    "Passage",
    "QualityThresholdError",
    "ScopeContext",
    "SearchContext",
    "SearchProviderAuthenticationFailed",
    "SearchProviderBadResponse",
    "SearchProviderError",
    "SearchProviderInvalidQuery",
    "SearchProviderQuotaExceeded",
    "SearchProviderTimeout",
    "SearchProviderUnavailable",
    "SearchResult",
    "Settings",
    "StoreError",
    "Ticket",
    "TicketStatus",
    "ToolContext",
    "ToolOutcome",
    "WebSearchInput",
    "WebSearchResponse",
    "WebSearchWorker",
    "build_graph",
    "graph",
    "reembed",
    "retrieve",
    "wait",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
