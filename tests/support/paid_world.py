"""A model, an embedder and a search provider on the loopback address, which count what they get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.ranking.anchors import anchor_texts
from collection_search.testing import OpenAIServer
from collection_search.testing.provider_server import ProviderServer

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = ["asyncio timeouts", "sqlite in a task", "python tasks", "asyncio cancelled"]
PLAN_USD = 0.00003075
"""29 and 44 tokens of gpt-4o-mini."""
SEARCH_USD = 0.008
"""One search of Tavily."""


class PaidWorld:
    """Servers inside a `with` block, and the graph that calls them."""

    def __init__(
        self, home: Path, provider: str = "tavily", queries: Any = QUERIES, reply: Any = None
    ) -> None:
        """Make the servers; `reply` is what the chat model says in place of a plan."""
        self.home = home
        self.models = OpenAIServer({"queries": queries} if reply is None else reply)
        self.search = ProviderServer(provider)

    def __enter__(self) -> Self:
        self.models.__enter__()
        self.search.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.search.__exit__()
        self.models.__exit__()

    def settings(self, **changes: Any) -> Settings:
        name = self.search.dialect.name
        access = {"api_key": self.search.dialect.key, "base_url": self.search.base_url}
        return Settings(
            **{
                "home": self.home,
                "provider": name,
                "providers": {name: access},
                "model": "openai:gpt-4o-mini",
                "embeddings": "openai:text-embedding-3-small",
                "openai_api_key": "sk-of-the-test",
                "openai_base_url": self.models.base_url,
                **changes,
            }
        )

    def context(self, settings: dict[str, Any] | None = None, **choices: Any) -> SearchContext:
        return SearchContext(settings=self.settings(**settings or {}), **choices)

    def ask(
        self,
        question: str = "How does asyncio work?",
        settings: dict[str, Any] | None = None,
        **choices: Any,
    ) -> Any:
        """Return the graph's output."""
        graph = CollectionSearchGraph(self.context(settings, **choices))
        return graph.run({"question": question, "collection_scope": "c", "purpose": "docs"})[1]

    def forget(self) -> None:
        """Drop the requests until now."""
        self.models.requests.clear()
        self.search.requests.clear()

    @property
    def plans(self) -> int:
        """Requests to the chat model."""
        return sum(one.path.endswith("/chat/completions") for one in self.models.requests)

    @property
    def searches(self) -> list[str]:
        """Queries that the provider got."""
        return [str(one.body["query"]) for one in self.search.requests]

    @property
    def embedded(self) -> list[list[str]]:
        """Texts of each embedding request, but for those that calibrate the model."""
        asked = [one.body.get("input", []) for one in self.models.requests]
        return [texts for texts in asked if texts and texts[0] not in anchor_texts()]


def facts(result: Any, node: str) -> Any:
    """Return the telemetry of a node, `plan`, `search` or `rank`."""
    names = {"plan": "k_generate_strategy", "search": "k_parallel_web_search"}
    return result["telemetry"]["nodes"][names.get(node, "k_embedding_rank")]
