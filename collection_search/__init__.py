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
        CostLimitReached,
        ExtractionError,
        FetchError,
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
        WebSearchError,
    )
    from .graphs.collection_search import CollectionSearchGraph, build_graph, graph
    from .graphs.refresh import RefreshReport, refresh
    from .graphs.universal_ingestion import UniversalIngestionGraph
    from .inputs import GraphInput, IngestionInput
    from .options import SearchOptions
    from .records import Passage
    from .service_contract import SearchRequest, SearchResponse, ServiceSearchResult
    from .settings import Settings
    from .tickets import Ticket, TicketStatus
    from .tools.ingest import ingest, wait
    from .tools.langchain.retriever import CollectionRetriever
    from .tools.langchain.vector_store import CollectionVectorStore
    from .tools.reembed import reembed
    from .tools.retrieve import retrieve
    from .tools.service import WebSearchService
    from .tools.web_search import WebSearchWorker

__version__ = "0.1.0"

_HOME = {
    "BusinessContext": "contracts",
    "CollectionRetriever": "tools.langchain.retriever",
    "CollectionSearchError": "errors",
    "CollectionSearchGraph": "graphs.collection_search",
    "CollectionVectorStore": "tools.langchain.vector_store",
    "ConfigError": "errors",
    "CostLimitReached": "errors",
    "ExtractionError": "errors",
    "FetchError": "errors",
    "GraphInput": "inputs",
    "IngestError": "errors",
    "IngestionInput": "inputs",
    "InputError": "errors",
    "InvalidQueryError": "errors",
    "InvalidUrlError": "errors",
    "MissingExtraError": "errors",
    "ModelError": "errors",
    "Passage": "records",
    "QualityThresholdError": "errors",
    "RefreshReport": "graphs.refresh",
    "ScopeContext": "contracts",
    "SearchContext": "context",
    "SearchOptions": "options",
    "SearchProviderAuthenticationFailed": "errors",
    "SearchProviderBadResponse": "errors",
    "SearchProviderError": "errors",
    "SearchProviderInvalidQuery": "errors",
    "SearchProviderQuotaExceeded": "errors",
    "SearchProviderTimeout": "errors",
    "SearchProviderUnavailable": "errors",
    "SearchRequest": "service_contract",
    "SearchResponse": "service_contract",
    "SearchResult": "contracts",
    "ServiceSearchResult": "service_contract",
    "Settings": "settings",
    "StoreError": "errors",
    "Ticket": "tickets",
    "TicketStatus": "tickets",
    "ToolContext": "contracts",
    "ToolOutcome": "contracts",
    "UniversalIngestionGraph": "graphs.universal_ingestion",
    "WebSearchError": "errors",
    "WebSearchInput": "contracts",
    "WebSearchResponse": "contracts",
    "WebSearchService": "tools.service",
    "WebSearchWorker": "tools.web_search",
    "build_graph": "graphs.collection_search",
    "graph": "graphs.collection_search",
    "ingest": "tools.ingest",
    "reembed": "tools.reembed",
    "refresh": "graphs.refresh",
    "retrieve": "tools.retrieve",
    "wait": "tools.ingest",
}

__all__ = [
    "BusinessContext",
    "CollectionRetriever",
    "CollectionSearchError",
    "CollectionSearchGraph",
    "CollectionVectorStore",
    "ConfigError",
    "CostLimitReached",
    "ExtractionError",
    "FetchError",
    "GraphInput",
    "IngestError",
    "IngestionInput",
    "InputError",
    "InvalidQueryError",
    "InvalidUrlError",
    "MissingExtraError",
    "ModelError",
    "Passage",
    "QualityThresholdError",
    "RefreshReport",
    "ScopeContext",
    "SearchContext",
    "SearchOptions",
    "SearchProviderAuthenticationFailed",
    "SearchProviderBadResponse",
    "SearchProviderError",
    "SearchProviderInvalidQuery",
    "SearchProviderQuotaExceeded",
    "SearchProviderTimeout",
    "SearchProviderUnavailable",
    "SearchRequest",
    "SearchResponse",
    "SearchResult",
    "ServiceSearchResult",
    "Settings",
    "StoreError",
    "Ticket",
    "TicketStatus",
    "ToolContext",
    "ToolOutcome",
    "UniversalIngestionGraph",
    "WebSearchError",
    "WebSearchInput",
    "WebSearchResponse",
    "WebSearchService",
    "WebSearchWorker",
    "build_graph",
    "graph",
    "ingest",
    "reembed",
    "refresh",
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
