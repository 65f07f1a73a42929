"""Protocols of everything that the nodes and tools need from outside.

Search adapters, models and readers may be asynchronous. Stores are synchronous and safe to call
from several threads: a coroutine reaches them through a worker thread.
"""

from .collections import CollectionStore, Storage
from .ledger import IngestionTrigger, Ledger, StagingStore
from .pages import PageReader, SiteReader
from .provider_info import ProviderInfo
from .search import (
    BaseSearchAdapter,
    Embedder,
    QueryModel,
    QueryPlan,
    SearchAdapter,
    SupportsAsyncSearch,
    SupportsHealthCheck,
    SupportsOptions,
    SupportsPreparation,
    SupportsPrice,
)
from .search_metrics import SearchMetrics
from .tracing import Scalar, Span, SpanKind, SpanSink, TraceRef

__all__ = [
    "BaseSearchAdapter",
    "CollectionStore",
    "Embedder",
    "IngestionTrigger",
    "Ledger",
    "PageReader",
    "ProviderInfo",
    "QueryModel",
    "QueryPlan",
    "Scalar",
    "SearchAdapter",
    "SearchMetrics",
    "SiteReader",
    "Span",
    "SpanKind",
    "SpanSink",
    "StagingStore",
    "Storage",
    "SupportsAsyncSearch",
    "SupportsHealthCheck",
    "SupportsOptions",
    "SupportsPreparation",
    "SupportsPrice",
    "TraceRef",
]
