"""What one question calls, sends and costs, counted by servers that speak the providers' formats."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.testing import OpenAIServer
from collection_search.testing.provider_server import DIALECTS, ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.testing.providers.wire import ProviderRequest, Reply

QUERIES = ["asyncio timeouts", "cancel asyncio tasks", "python tasks", "sqlite in a task"]
PAGES = 10 + 10 + 7
"""Distinct pages of the queries' ten best: both about asyncio find the same."""
CLUTTER = ("?utm_source=letter", "#part-2", "?gclid=Cj0KCQ&utm_medium=mail", "")


class Counted:
    """A graph whose model, embedder and search provider are servers that count."""

    def __init__(self, provider: str, home: Path) -> None:
        self.models = OpenAIServer({"queries": QUERIES})
        self.search = ProviderServer(_cluttered(provider))
        self._provider, self._home = provider, home

    async def ask(self, question: str) -> Any:
        """Return the graph's output."""
        access = {"api_key": self.search.dialect.key, "base_url": self.search.base_url}
        settings = Settings(
            home=self._home,
            provider=self._provider,
            providers={self._provider: access},
            model="openai:gpt-4o-mini",
            embeddings="openai:text-embedding-3-small",
            openai_api_key="sk-of-the-test",
            openai_base_url=self.models.base_url,
            answer_cache_s=0,
        )
        _, result = await CollectionSearchGraph(SearchContext(settings=settings)).arun(
            {"question": question, "collection_scope": "c", "purpose": "collection_search"}
        )
        assert (result["outcome"], result["flags"]) == ("search_completed", [])
        return result

    @property
    def connections(self) -> tuple[int, int]:
        """Those that were opened until now: to the models, to the provider."""
        return self.models.connections, self.search.connections

    def forget(self) -> None:
        """Drop the requests until now."""
        self.models.requests.clear()
        self.search.requests.clear()

    def inputs(self) -> list[list[str]]:
        """Return the texts of every embedding request."""
        requests = self.models.requests
        return [one.body["input"] for one in requests if one.path.endswith("/embeddings")]


@pytest.fixture(params=["tavily", "searxng"])
def counted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Counted]:
    world = Counted(request.param, tmp_path)
    with world.models, world.search:
        yield world


@pytest.mark.slow
async def test_a_question_makes_the_fewest_possible_calls(counted: Counted) -> None:
    """One plan, one request per query, one embedding request with all pages and the question."""
    await counted.ask("How does asyncio work?")
    for question in ("How do tasks end?", "What is awaited?"):
        counted.forget()
        await counted.ask(question)
        paths = [urlsplit(one.path).path for one in counted.models.requests]
        assert paths == ["/v1/chat/completions", "/v1/embeddings"]
        asked = [one.params.get("q") or one.body["query"] for one in counted.search.requests]
        assert sorted(asked) == sorted(QUERIES)
        [texts] = counted.inputs()
        assert len(texts) == len(set(texts)) == PAGES + 1
        assert question in texts


@pytest.mark.slow
async def test_from_the_third_question_on_no_connection_is_opened(counted: Counted) -> None:
    """The first one learns how many searches may be under way, the second one opens for all."""
    await counted.ask("How does asyncio work?")
    await counted.ask("What is a loop?")
    opened = counted.connections
    assert min(opened) >= 1
    for question in ("How do tasks end?", "What is awaited?", "When is it over?"):
        await counted.ask(question)
    assert counted.connections == opened


@pytest.mark.slow
async def test_no_page_stands_twice_among_the_results(counted: Counted) -> None:
    """Tracking parameters, fragments and capitals make no other page."""
    result = await counted.ask("How does asyncio work?")
    addresses = [urlsplit(row["url"]) for row in result["results"]]
    assert len(addresses) == 20
    assert len({(one.netloc, one.path) for one in addresses}) == 20
    assert not [one for one in addresses if one.query or one.fragment]


@pytest.mark.slow
async def test_the_run_costs_the_sum_of_its_parts(counted: Counted) -> None:
    """To the last digit; the rank alone stays below $0.0004, anchors included."""
    result = await counted.ask("How does asyncio work?")
    telemetry = result["telemetry"]
    assert telemetry["cost_complete"]
    costs = {name: entry["cost_usd"] for name, entry in telemetry["nodes"].items()}
    parts = [Decimal(repr(cost)) for cost in costs.values()]
    assert sum(parts) == Decimal(repr(telemetry["cost_usd"]))
    assert len(_own(counted.inputs())) == 1
    tokens = sum(len(text.split()) for texts in counted.inputs() for text in texts)
    # 29 + 44 tokens of gpt-4o-mini, four searches, the texts once through the embedder, and the anchors
    assert costs["k_generate_strategy"] == float(
        Decimal("0.15") * 29 / 10**6 + Decimal("0.6") * 44 / 10**6
    )
    assert costs["k_parallel_web_search"] == (
        0.032 if counted.search.dialect.name == "tavily" else 0
    )
    assert costs["k_embedding_rank"] == float(Decimal("0.02") * tokens / 10**6)
    assert costs["k_embedding_rank"] < 0.0004


def _own(inputs: list[list[str]]) -> list[list[str]]:
    """Return the run's own requests: the texts that calibrate a model are no part of it."""
    return [texts for texts in inputs if len(texts) == PAGES + 1]


def _cluttered(provider: str) -> Any:
    """Return the provider's dialect, its pages under another address in every answer."""

    class Cluttered(DIALECTS[provider]):  # type: ignore[misc]
        answers = 0

        def answer(self, request: ProviderRequest) -> Reply:
            reply = super().answer(request)
            found = json.loads(reply.body)
            clutter = CLUTTER[self.answers % len(CLUTTER)]
            self.answers += 1
            for row in filter(lambda row: row["url"], found["results"]):
                row["url"] = row["url"].replace("docs.example", "Docs.Example") + clutter
            return replace(reply, body=json.dumps(found).encode())

    return Cluttered()
