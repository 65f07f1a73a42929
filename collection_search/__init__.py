"""From a question to a vetted, searchable collection.

Public names are loaded on first use: importing the package loads neither LangGraph nor OpenAI
nor Langfuse.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import SearchContext
    from .contracts.collection import Passage
    from .contracts.ingestion import Ticket, TicketStatus
    from .contracts.inputs import GraphInput, IngestionInput
    from .contracts.options import SearchOptions
    from .contracts.refresh_report import RefreshReport
    from .contracts.search import (
        BusinessContext,
        ScopeContext,
        SearchResult,
        ToolContext,
        ToolOutcome,
        WebSearchInput,
        WebSearchResponse,
    )
    from .contracts.service import SearchRequest, SearchResponse, ServiceSearchResult
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
    from .graphs.refresh import arefresh, refresh
    from .graphs.universal_ingestion import UniversalIngestionGraph
    from .runtime.gc import relieve_collector
    from .settings import Settings
    from .tools.ingest import aingest, ingest
    from .tools.langchain.vector_store import CollectionVectorStore
    from .tools.langchain_retriever import CollectionRetriever
    from .tools.reembed import areembed, reembed
    from .tools.retrieve import aretrieve, retrieve
    from .tools.service import WebSearchService
    from .tools.tickets import await_ticket, wait
    from .tools.web_search import WebSearchWorker

__version__ = "0.1.0"

_HOME = {
    "BusinessContext": "contracts.search",
    "CollectionRetriever": "tools.langchain_retriever",
    "CollectionSearchError": "errors",
    "CollectionSearchGraph": "graphs.collection_search",
    "CollectionVectorStore": "tools.langchain.vector_store",
    "ConfigError": "errors",
    "CostLimitReached": "errors",
    "ExtractionError": "errors",
    "FetchError": "errors",
    "GraphInput": "contracts.inputs",
    "IngestError": "errors",
    "IngestionInput": "contracts.inputs",
    "InputError": "errors",
    "InvalidQueryError": "errors",
    "InvalidUrlError": "errors",
    "MissingExtraError": "errors",
    "ModelError": "errors",
    "Passage": "contracts.collection",
    "QualityThresholdError": "errors",
    "RefreshReport": "contracts.refresh_report",
    "ScopeContext": "contracts.search",
    "SearchContext": "context",
    "SearchOptions": "contracts.options",
    "SearchProviderAuthenticationFailed": "errors",
    "SearchProviderBadResponse": "errors",
    "SearchProviderError": "errors",
    "SearchProviderInvalidQuery": "errors",
    "SearchProviderQuotaExceeded": "errors",
    "SearchProviderTimeout": "errors",
    "SearchProviderUnavailable": "errors",
    "SearchRequest": "contracts.service",
    "SearchResponse": "contracts.service",
    "SearchResult": "contracts.search",
    "ServiceSearchResult": "contracts.service",
    "Settings": "settings",
    "StoreError": "errors",
    "Ticket": "contracts.ingestion",
    "TicketStatus": "contracts.ingestion",
    "ToolContext": "contracts.search",
    "ToolOutcome": "contracts.search",
    "UniversalIngestionGraph": "graphs.universal_ingestion",
    "WebSearchError": "errors",
    "WebSearchInput": "contracts.search",
    "WebSearchResponse": "contracts.search",
    "WebSearchService": "tools.service",
    "WebSearchWorker": "tools.web_search",
    "aingest": "tools.ingest",
    "areembed": "tools.reembed",
    "arefresh": "graphs.refresh",
    "aretrieve": "tools.retrieve",
    "await_ticket": "tools.tickets",
    "build_graph": "graphs.collection_search",
    "graph": "graphs.collection_search",
    "ingest": "tools.ingest",
    "reembed": "tools.reembed",
    "refresh": "graphs.refresh",
    "relieve_collector": "runtime.gc",
    "retrieve": "tools.retrieve",
    "wait": "tools.tickets",
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
    "aingest",
    "areembed",
    "arefresh",
    "aretrieve",
    "await_ticket",
    "build_graph",
    "graph",
    "ingest",
    "reembed",
    "refresh",
    "relieve_collector",
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


class _MovedModule(ModuleType):
    """A module under its former path: it works as before, and warns."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        home = _MOVED[self.__name__.rpartition(".")[2]]
        warnings.warn(
            f"{self.__name__} is now {__name__}.{home}; import {name} from {__name__}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(f".{home}", __name__), name)


_MOVED = {"collector": "runtime.gc"}
for _name in _MOVED:
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _MovedModule(f"{__name__}.{_name}")
