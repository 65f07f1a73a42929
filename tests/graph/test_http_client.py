"""A whole run through the caller's own httpx client, and what is kept for one."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from langgraph.runtime import Runtime
from pydantic import ValidationError
from support.httpx_clients import loopback_client
from support.scripted_world import INPUT, good_pages
from support.waiting import wait_until

from collection_search import (
    CollectionSearchGraph,
    SearchContext,
    Settings,
    UniversalIngestionGraph,
    WebSearchService,
)
from collection_search.cassette import Cassette
from collection_search.errors import ConfigError, InputError
from collection_search.settings import adapter_factory
from collection_search.settings.adapter_factory import adapter_of, make_adapter
from collection_search.settings.collection_embedder import restore_embedder
from collection_search.testing import OpenAIServer, ScriptedAdapter
from collection_search.tools.retrieve import aretrieve
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INSIDE = "https://gateway.internal.example"
"""Where nobody is: only a client of the caller's knows the way."""
EMBEDDINGS = "openai:text-embedding-3-small"
AGENT = {"X-Team": "search"}


def inside(home: Path, **more: Any) -> Settings:
    return Settings(
        home=home,
        provider="brave",
        default_provider="brave",
        providers={"brave": {"api_key": "BSA-of-the-test", "base_url": INSIDE}},
        model="openai:gpt-4o-mini",
        embeddings=EMBEDDINGS,
        openai_api_key="sk-of-the-test",
        openai_base_url=f"{INSIDE}/v1",
        answer_cache_s=0,
        **more,
    )


class Gateway:
    """A transport without a network that answers as provider, model and embedder do."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        rows = [
            {"title": page.title, "url": page.url, "description": page.snippet}
            for page in good_pages()
        ]
        self._search = {"web": {"results": rows}}

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert request.url.host == "gateway.internal.example"
        self.paths.append(request.url.path)
        if request.url.path.endswith("/chat/completions"):
            plan = json.dumps({"queries": ["cancel a task", "asyncio timeout", "wait_for"]})
            return httpx.Response(200, json={"choices": [{"message": {"content": plan}}]})
        if request.url.path.endswith("/embeddings"):
            texts = json.loads(request.content)["input"]
            rows = [
                {"index": n, "embedding": [1.0, float("timeout" in text), len(text) / 1000]}
                for n, text in enumerate(texts)
            ]
            return httpx.Response(200, json={"data": rows})
        return httpx.Response(200, json=self._search)


async def test_every_call_of_a_run_goes_through_the_client(tmp_path: Path) -> None:
    """Plan, searches and embeddings, the anchors of the calibration included; nothing closes it."""
    gateway = Gateway()
    async with gateway.client() as client:
        context = SearchContext(settings=inside(tmp_path), http_client=client)
        _, result = await CollectionSearchGraph(context).arun(INPUT)
        assert not client.is_closed
    assert result["outcome"] == "search_completed"
    assert {"strategy_fallback", "partial_search"}.isdisjoint(result["flags"])
    assert {"/v1/chat/completions", "/v1/embeddings"} < set(gateway.paths)
    assert len(gateway.paths) == 1 + 3 + 2


def test_synchronous_runs_share_the_client(tmp_path: Path) -> None:
    """They run on one background loop, to which it belongs then."""
    gateway = Gateway()
    graph = CollectionSearchGraph(
        SearchContext(settings=inside(tmp_path), http_client=gateway.client())
    )
    for _ in range(2):
        assert graph.run(INPUT)[1]["outcome"] == "search_completed"


@pytest.mark.slow
async def test_a_run_through_the_client_is_recorded_and_played(tmp_path: Path) -> None:
    """The replay needs no client."""
    tape, gateway = tmp_path / "tape.jsonl", Gateway()
    async with gateway.client() as client:
        context = SearchContext(
            settings=inside(tmp_path), http_client=client, cassette=Cassette.record(tape)
        )
        _, live = await CollectionSearchGraph(context).arun(INPUT)
    played = SearchContext(settings=inside(tmp_path), cassette=Cassette.replay(tape))
    _, again = await CollectionSearchGraph(played).arun(INPUT)
    assert [row["url"] for row in again["results"]] == [row["url"] for row in live["results"]]


async def test_the_service_searches_through_the_client(tmp_path: Path) -> None:
    """Its check of a key as well."""
    gateway = Gateway()
    async with gateway.client() as client:
        service = WebSearchService(inside(tmp_path), http_client=client)
        assert await service.ainitialize("BSA-of-the-test", "brave")
        response = await service.asearch({"query": "asyncio", "options": {"maxResults": 2}})
    assert len(response.results) == 2
    assert len(gateway.paths) == 2


@pytest.fixture
def models() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def rows() -> list[Any]:
    pages = good_pages()
    for page in pages:
        page.content = f"{page.title}. {page.snippet} " * 5
    return pages


@pytest.mark.slow
async def test_what_is_ingested_in_the_background_is_embedded_through_the_client(
    models: OpenAIServer, tmp_path: Path
) -> None:
    """The workers have a loop of their own; later the collection's own embedder has the client."""
    settings = Settings(home=tmp_path, openai_base_url=models.base_url)
    async with loopback_client(headers=AGENT) as client:
        context = SearchContext(
            settings=settings,
            provider=ScriptedAdapter(rows()),
            embeddings=EMBEDDINGS,
            http_client=client,
        )
        asked = {"source": "search", "query": "asyncio timeout", "collection_scope": "docs"}
        started = await UniversalIngestionGraph(context).graph.ainvoke(asked, context=context)
        ticket = started["ingestion"]["ticket"]
        status = await asyncio.to_thread(
            wait, ticket, tenant="local", timeout_s=60, context=context
        )
        assert (status.stored, status.failed) == (6, 0)
        plain = SearchContext(settings=settings, http_client=client)
        found = await aretrieve("timeout", collection="docs", tenant="local", context=plain)
    assert found
    assert [one for one in models.requests if one.path.endswith("/embeddings")]
    assert {one.headers.get("x-team") for one in models.requests} == {"search"}


# --- what is kept


@pytest.mark.slow
async def test_adapters_are_kept_per_client(tmp_path: Path) -> None:
    """And per settings; without a client there is another one."""
    settings = inside(tmp_path)
    one, other = httpx.AsyncClient(), httpx.AsyncClient()
    for group, name in (("search", "brave"), ("models", "openai:m"), ("embeddings", "openai:e")):
        first = await adapter_of(settings, group, name, one)
        assert await adapter_of(settings, group, name, one) is first
        others = [make_adapter(settings, group, name, other), make_adapter(settings, group, name)]
        assert len({id(each) for each in (first, *others)}) == 3
    assert restore_embedder(settings, "openai:e", one) is make_adapter(
        settings, "embeddings", "openai:e", one
    )


def test_what_takes_no_client_is_made_once(tmp_path: Path) -> None:
    """A model in memory, or a client of its own, is not there twice."""
    settings, client = Settings(home=tmp_path), httpx.AsyncClient()
    for name in ("offline", "ddgs"):
        pytest.importorskip("ddgs")
        assert make_adapter(settings, "search", name, client) is make_adapter(
            settings, "search", name
        )


def test_a_client_is_not_kept_alive(tmp_path: Path) -> None:
    """What is made for it ends with it."""
    settings, client = inside(tmp_path), Gateway().client()
    adapter = weakref.ref(make_adapter(settings, "search", "brave", client))
    service = WebSearchService(settings, http_client=client)
    assert service.search("asyncio").results
    alive = weakref.ref(client)
    del client, service

    def is_gone() -> bool:
        gc.collect()
        return (alive(), adapter()) == (None, None)

    wait_until(is_gone)  # the background loop holds its last task until it is idle


@pytest.mark.slow
def test_a_client_keeps_a_bounded_number_of_adapters(tmp_path: Path) -> None:
    """Users may bring ever new keys."""
    client = httpx.AsyncClient()
    first = make_adapter(inside(tmp_path, tenant="first"), "search", "brave", client)
    for n in range(adapter_factory.MAX_ADAPTERS):
        make_adapter(inside(tmp_path, tenant=f"tenant-{n}"), "search", "brave", client)
    assert make_adapter(inside(tmp_path, tenant="first"), "search", "brave", client) is not first


# --- what is refused


@pytest.mark.parametrize("wrong", ["https://proxy.example", {"proxy": "x"}, httpx.Client(), 7])
def test_only_a_client_is_taken(wrong: Any) -> None:
    """A name, a mapping or a synchronous client is none; a remote caller can give no other."""
    with pytest.raises(ValidationError, match=r"http_client must be an httpx\.AsyncClient"):
        SearchContext(http_client=wrong)
    if not isinstance(wrong, httpx.Client):
        server = Runtime(context={"collection_search": {"http_client": wrong}})
        with pytest.raises(ConfigError, match=r"http_client must be an httpx\.AsyncClient"):
            SearchContext.of(server)
    with pytest.raises(InputError, match=r"http_client must be an httpx\.AsyncClient"):
        WebSearchService(Settings(), http_client=wrong)


def test_the_schema_does_not_show_it() -> None:
    """It is a live object of Python."""
    assert "http_client" not in SearchContext.model_json_schema()["properties"]
