"""Names of the adapters: the built-in table first, then entry points of third parties.

A value is `module:attribute`, imported on first use. An adapter class offers
`from_settings(settings, ...)`; a configured name such as `openai:gpt-x` passes `model` to it.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Literal

from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

Group = Literal[
    "search",
    "checkpoints",
    "models",
    "embeddings",
    "graphs",
    "metrics",
    "parsers",
    "queues",
    "readers",
    "rerankers",
    "runs",
    "stores",
    "triggers",
    "tracing",
    "turns",
    "usage",
]

BUILTIN: Final[dict[Group, dict[str, str]]] = {
    "search": {
        "brave": "collection_search.adapters.search.brave:BraveSearch",
        "ddgs": "collection_search.adapters.search.ddgs:DdgsSearch",
        "exa": "collection_search.adapters.search.exa:ExaSearch",
        "google": "collection_search.adapters.search.google:GoogleSearchAdapter",
        "json_api": "collection_search.adapters.search.json_api:JsonApiSearch",
        "kagi": "collection_search.adapters.search.kagi:KagiSearch",
        "langchain": "collection_search.adapters.search.langchain:LangChainSearch",
        "linkup": "collection_search.adapters.search.linkup:LinkupSearch",
        "mojeek": "collection_search.adapters.search.mojeek:MojeekSearch",
        "offline": "collection_search.adapters.search.offline:OfflineSearch",
        "openalex": "collection_search.adapters.search.openalex:OpenAlexSearch",
        "perplexity": "collection_search.adapters.search.perplexity:PerplexitySearch",
        "searxng": "collection_search.adapters.search.searxng:SearxngSearch",
        "serpapi": "collection_search.adapters.search.serpapi:SerpApiSearch",
        "serper": "collection_search.adapters.search.serper:SerperSearch",
        "tavily": "collection_search.adapters.search.tavily:TavilySearch",
        "wikipedia": "collection_search.adapters.search.wikipedia:WikipediaSearch",
    },
    "models": {
        "langchain": "collection_search.adapters.models.langchain:LangChainQueryModel",
        "openai": "collection_search.adapters.models.openai:OpenAIQueryModel",
    },
    "embeddings": {
        "langchain": "collection_search.adapters.embeddings.langchain:LangChainEmbedder",
        "local": "collection_search.adapters.embeddings.local:LocalEmbedder",
        "openai": "collection_search.adapters.embeddings.openai:OpenAIEmbedder",
    },
    "checkpoints": {
        "postgres": "collection_search.adapters.checkpoints.postgres:PostgresCheckpoints",
        "sqlite": "collection_search.adapters.checkpoints.sqlite:SQLiteCheckpoints",
    },
    "graphs": {
        "collection_search": "collection_search.graphs.collection_search:CollectionSearchGraph",
    },
    "parsers": {},  # the built-in reader of a kind has no name
    "queues": {"celery": "collection_search.adapters.queues.celery_queue:CeleryQueue"},
    "readers": {"web": "collection_search.adapters.crawl.web:WebPages"},
    "rerankers": {
        "local": "collection_search.adapters.rerankers.cross_encoder:CrossEncoder",
    },
    "runs": {
        "postgres": "collection_search.adapters.stores.postgres.run_history:PostgresRuns",
        "sqlite": "collection_search.adapters.stores.sqlite.run_history:SQLiteRuns",
    },
    "stores": {
        "postgres": "collection_search.adapters.stores.postgres:PostgresStore",
        "sqlite": "collection_search.adapters.stores.sqlite:SQLiteStore",
    },
    "triggers": {
        "graph": "collection_search.graphs.universal_ingestion:GraphTrigger",
        "ledger": "collection_search.tools.ingest:LedgerTrigger",
    },
    "tracing": {
        "callbacks": "collection_search.adapters.tracing.callbacks:CallbackListener",
        "langfuse": "collection_search.adapters.tracing.langfuse:LangfuseSink",
    },
    "metrics": {"prometheus": "collection_search.adapters.metrics.prometheus:PrometheusMetrics"},
    "turns": {
        "postgres": "collection_search.adapters.stores.postgres.request_turns:PostgresRequestTurns",
    },
    "usage": {
        "postgres": "collection_search.adapters.stores.postgres.usage:PostgresUsage",
        "sqlite": "collection_search.adapters.stores.sqlite.usage:SQLiteUsage",
    },
}

JSON_API: Final = "json_api"
"""Adapter of the JSON endpoints that the settings describe, each under a name of its own."""
UNNAMED: Final = frozenset({"langchain", JSON_API})
"""Adapters that are not for use by name; `langchain` is for live objects and vendors' packages."""
OTHER_KEYS: Final = frozenset({"embeddings", "langfuse", "openai"})
"""Names under which keys are given that belong to no search provider."""
OF_LANGCHAIN: Final[frozenset[Group]] = frozenset({"models", "embeddings"})
"""Groups to which LangChain's packages of many vendors belong."""
_EXAMPLES: Final[dict[Group, tuple[str, str]]] = {
    "models": ("chat model", "openai:gpt-4o-mini"),
    "embeddings": ("embedder", "openai:text-embedding-3-small; or lexical, without a model"),
    "rerankers": ("reranker", "local:/path/to/folder; or model or none"),
}


def names(group: Group) -> list[str]:
    """Return every known name of a group, sorted, third parties included."""
    return sorted({*BUILTIN[group], *(point.name for point in _entry_points(group))})


def load_adapter(group: Group, name: str) -> Any:
    """Return the class or function called `name`. Raises ConfigError listing the known names."""
    if target := BUILTIN[group].get(name):
        module, _, attribute = target.partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in _entry_points(group):
        if point.name == name:
            return point.load()
    known = ", ".join(one for one in names(group) if one not in UNNAMED) or "none"
    if group not in _EXAMPLES:
        raise ConfigError(f"There is no {group} adapter called {name!r}. Known: {known}.")
    kind, example = _EXAMPLES[group]
    vendors = " and vendors with a LangChain package, such as azure_openai, mistralai or ollama"
    others = f",{vendors}" if group in OF_LANGCHAIN else ""
    raise ConfigError(
        f"{name!r} names no {kind}: write provider:model, for example {example}."
        f" Known: {known}{others}."
    )


def builder_of(adapter_class: Any) -> Callable[..., Any] | None:
    """Return the factory from settings; None for an adapter of live objects only."""
    return getattr(adapter_class, "from_settings", None)


def _entry_points(group: Group) -> list[Any]:
    return list(entry_points(group=f"collection_search.{group}"))
