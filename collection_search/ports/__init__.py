"""Protocols of everything that the nodes and tools need from outside.

Search adapters, models and readers may be asynchronous. Stores are synchronous and safe to call
from several threads: a coroutine reaches them through a worker thread.
"""

from .backlog import BacklogMetrics
from .chat import ChatMessage, ChatModel, ChatReply, ChatTool, ChatToolCall
from .collections import CollectionStore, Storage
from .comparisons import ComparisonStore
from .gates import GateStore
from .ledger import IngestionTrigger, Ledger
from .listening import ChatCall, EmbeddingCall, Listener, ToolCall
from .pages import PageParser, PageReader, SiteReader
from .provider_info import ProviderInfo
from .reranker import JudgedPage, Judgement, Judgements, Reranker
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
from .staging import StagingStore
from .tracing import EndedRun, FullQuery, Scalar, Span, SpanKind, SpanSink, SupportsRuns, TraceRef
from .work_queue import QueuedWork, WorkQueue

__all__ = [
    "BacklogMetrics",
    "BaseSearchAdapter",
    "ChatCall",
    "ChatMessage",
    "ChatModel",
    "ChatReply",
    "ChatTool",
    "ChatToolCall",
    "CollectionStore",
    "ComparisonStore",
    "Embedder",
    "EmbeddingCall",
    "EndedRun",
    "FullQuery",
    "GateStore",
    "IngestionTrigger",
    "JudgedPage",
    "Judgement",
    "Judgements",
    "Ledger",
    "Listener",
    "PageParser",
    "PageReader",
    "ProviderInfo",
    "QueryModel",
    "QueryPlan",
    "QueuedWork",
    "Reranker",
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
    "SupportsRuns",
    "ToolCall",
    "TraceRef",
    "WorkQueue",
]
