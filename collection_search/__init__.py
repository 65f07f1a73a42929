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
    from .context import SearchContext as SearchContext
    from .contracts.answer import Answer as Answer
    from .contracts.collection import Passage as Passage
    from .contracts.coverage import Coverage as Coverage
    from .contracts.functions import FunctionDefinition as FunctionDefinition
    from .contracts.functions import FunctionResult as FunctionResult
    from .contracts.ingestion import Ticket as Ticket
    from .contracts.ingestion import TicketStatus as TicketStatus
    from .contracts.inputs import GraphInput as GraphInput
    from .contracts.inputs import IngestionInput as IngestionInput
    from .contracts.inputs import ReviewInput as ReviewInput
    from .contracts.options import SearchOptions as SearchOptions
    from .contracts.page import ReadPage as ReadPage
    from .contracts.refresh_report import RefreshReport as RefreshReport
    from .contracts.review import ReviewDecision as ReviewDecision
    from .contracts.search import BusinessContext as BusinessContext
    from .contracts.search import ScopeContext as ScopeContext
    from .contracts.search import SearchResult as SearchResult
    from .contracts.search import ToolContext as ToolContext
    from .contracts.search import ToolOutcome as ToolOutcome
    from .contracts.search import WebSearchInput as WebSearchInput
    from .contracts.search import WebSearchResponse as WebSearchResponse
    from .contracts.service import SearchRequest as SearchRequest
    from .contracts.service import SearchResponse as SearchResponse
    from .contracts.service import ServiceSearchResult as ServiceSearchResult
    from .errors import ArrowSyntaxError as ArrowSyntaxError
    from .errors import CollectionSearchError as CollectionSearchError
    from .errors import ConfigError as ConfigError
    from .errors import CostLimitReached as CostLimitReached
    from .errors import ExtractionError as ExtractionError
    from .errors import FetchError as FetchError
    from .errors import IngestError as IngestError
    from .errors import InputError as InputError
    from .errors import InvalidQueryError as InvalidQueryError
    from .errors import InvalidUrlError as InvalidUrlError
    from .errors import MissingExtraError as MissingExtraError
    from .errors import ModelError as ModelError
    from .errors import QualityThresholdError as QualityThresholdError
    from .errors import SearchProviderAuthenticationFailed as SearchProviderAuthenticationFailed
    from .errors import SearchProviderBadResponse as SearchProviderBadResponse
    from .errors import SearchProviderError as SearchProviderError
    from .errors import SearchProviderInvalidQuery as SearchProviderInvalidQuery
    from .errors import SearchProviderQuotaExceeded as SearchProviderQuotaExceeded
    from .errors import SearchProviderTimeout as SearchProviderTimeout
    from .errors import SearchProviderUnavailable as SearchProviderUnavailable
    from .errors import StoreError as StoreError
    from .errors import WebSearchError as WebSearchError
    from .graphs.collection_review import CollectionReviewGraph as CollectionReviewGraph
    from .graphs.collection_search import CollectionSearchGraph as CollectionSearchGraph
    from .graphs.collection_search import build_graph as build_graph
    from .graphs.collection_search import graph as graph
    from .graphs.refresh import arefresh as arefresh
    from .graphs.refresh import refresh as refresh
    from .graphs.research_agent import ResearchAgent as ResearchAgent
    from .graphs.universal_ingestion import UniversalIngestionGraph as UniversalIngestionGraph
    from .ports.functions import CallContext as CallContext
    from .runtime.gc import relieve_collector as relieve_collector
    from .settings import Settings as Settings
    from .tools.answer import aanswer as aanswer
    from .tools.answer import answer as answer
    from .tools.coverage.verification import averify_coverage as averify_coverage
    from .tools.coverage.verification import verify_coverage as verify_coverage
    from .tools.function_calls import call_function as call_function
    from .tools.function_provider import FunctionRegistry as FunctionRegistry
    from .tools.function_provider import WebSearchProvider as WebSearchProvider
    from .tools.function_specs import answer_anthropic_call as answer_anthropic_call
    from .tools.function_specs import answer_openai_call as answer_openai_call
    from .tools.function_specs import anthropic_tool as anthropic_tool
    from .tools.function_specs import openai_tool as openai_tool
    from .tools.ingest import aingest as aingest
    from .tools.ingest import ingest as ingest
    from .tools.langchain.function_tools import CollectionSearchTool as CollectionSearchTool
    from .tools.langchain.function_tools import ReadPageTool as ReadPageTool
    from .tools.langchain.function_tools import RetrieveTool as RetrieveTool
    from .tools.langchain.function_tools import WebSearchTool as WebSearchTool
    from .tools.langchain.vector_store import CollectionVectorStore as CollectionVectorStore
    from .tools.langchain_retriever import CollectionRetriever as CollectionRetriever
    from .tools.metrics_export import make_metrics_app as make_metrics_app
    from .tools.metrics_export import metrics_collectors as metrics_collectors
    from .tools.metrics_export import write_metrics as write_metrics
    from .tools.read_page import aread_page as aread_page
    from .tools.read_page import read_page as read_page
    from .tools.reembed import areembed as areembed
    from .tools.reembed import reembed as reembed
    from .tools.retrieve import aretrieve as aretrieve
    from .tools.retrieve import retrieve as retrieve
    from .tools.service import WebSearchService as WebSearchService
    from .tools.tickets import await_ticket as await_ticket
    from .tools.tickets import wait as wait
    from .tools.web_search import WebSearchWorker as WebSearchWorker

__version__ = "0.1.0"

_NAMES = {
    "context": "SearchContext",
    "contracts.answer": "Answer",
    "contracts.collection": "Passage",
    "contracts.coverage": "Coverage",
    "contracts.functions": "FunctionDefinition FunctionResult",
    "contracts.ingestion": "Ticket TicketStatus",
    "contracts.inputs": "GraphInput IngestionInput ReviewInput",
    "contracts.options": "SearchOptions",
    "contracts.page": "ReadPage",
    "contracts.refresh_report": "RefreshReport",
    "contracts.review": "ReviewDecision",
    "contracts.search": (
        "BusinessContext ScopeContext SearchResult ToolContext ToolOutcome WebSearchInput"
        " WebSearchResponse"
    ),
    "contracts.service": "SearchRequest SearchResponse ServiceSearchResult",
    "errors": (
        "ArrowSyntaxError CollectionSearchError ConfigError CostLimitReached ExtractionError"
        " FetchError IngestError InputError InvalidQueryError InvalidUrlError MissingExtraError"
        " ModelError"
        " QualityThresholdError SearchProviderAuthenticationFailed SearchProviderBadResponse"
        " SearchProviderError SearchProviderInvalidQuery SearchProviderQuotaExceeded"
        " SearchProviderTimeout SearchProviderUnavailable StoreError WebSearchError"
    ),
    "graphs.collection_search": "CollectionSearchGraph build_graph graph",
    "graphs.collection_review": "CollectionReviewGraph",
    "graphs.refresh": "arefresh refresh",
    "graphs.research_agent": "ResearchAgent",
    "graphs.universal_ingestion": "UniversalIngestionGraph",
    "runtime.gc": "relieve_collector",
    "settings": "Settings",
    "ports.functions": "CallContext",
    "tools.coverage.verification": "averify_coverage verify_coverage",
    "tools.answer": "aanswer answer",
    "tools.function_calls": "call_function",
    "tools.function_provider": "FunctionRegistry WebSearchProvider",
    "tools.function_specs": ("answer_anthropic_call answer_openai_call anthropic_tool openai_tool"),
    "tools.ingest": "aingest ingest",
    "tools.langchain.function_tools": (
        "CollectionSearchTool ReadPageTool RetrieveTool WebSearchTool"
    ),
    "tools.langchain.vector_store": "CollectionVectorStore",
    "tools.langchain_retriever": "CollectionRetriever",
    "tools.metrics_export": "make_metrics_app metrics_collectors write_metrics",
    "tools.read_page": "aread_page read_page",
    "tools.reembed": "areembed reembed",
    "tools.retrieve": "aretrieve retrieve",
    "tools.service": "WebSearchService",
    "tools.tickets": "await_ticket wait",
    "tools.web_search": "WebSearchWorker",
}
"""The public names by the module that defines them."""
_HOME = dict(sorted((name, module) for module, names in _NAMES.items() for name in names.split()))

if not TYPE_CHECKING:  # a type checker reads the imports above instead
    __all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home.startswith("graphs.") and f"{__name__}.adapters.http" not in sys.modules:
        from .runtime.import_threads import start_importing

        # the questions of a graph need it, and its client reads certificates for long
        start_importing(lambda: importlib.import_module(".adapters.http", __name__))
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


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
