"""The loopback servers of the overhead benchmark: true formats, and a log that can be trusted."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.benchmark_modules import benchmark

from collection_search.adapters.http import HttpRequest, send

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

stub, world = benchmark("stub"), benchmark("world")
AT_ONCE = {"chat": 0.0, "search": 0.0, "embeddings": 0.0}
CHAT = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": world.question(3)}]}


@pytest.fixture
async def servers() -> AsyncIterator[Any]:
    async with stub.serving(AT_ONCE) as running:
        yield running


async def fetched(url: str, body: Any = None, **params: str) -> Any:
    request = HttpRequest("GET" if body is None else "POST", url, params=params, json=body)
    answer = await send(request, timeout_s=60)
    assert answer.status == 200
    return answer.json()


def test_every_question_has_37_addresses_of_30_pages_of_its_own() -> None:
    for number in (1, 2, 40):
        hits = [hit for part in range(world.QUERIES) for hit in world.hits(number, part)]
        assert len(hits) == 40
        assert len({hit.url for hit in hits}) == 37
        assert len({world.page_of(hit.url) for hit in hits}) == 30
        assert len({hit.snippet for hit in hits}) == 30
    assert not world.pages(1) & world.pages(2)


@pytest.mark.parametrize("form", ["json_schema", "json_object"])
async def test_the_plan_comes_as_json(servers: Any, form: str) -> None:
    body = CHAT | {"response_format": {"type": form}}
    answer = await fetched(f"{servers.models_url}/chat/completions", body)
    message = answer["choices"][0]["message"]
    assert json.loads(message["content"]) == {"queries": world.queries(3)}
    assert answer["usage"]["prompt_tokens"] == len(world.question(3)) // 4


async def test_the_plan_comes_as_tool_call_where_tools_are_given(servers: Any) -> None:
    tools = [{"type": "function", "function": {"name": "Plan", "parameters": {}}}]
    answer = await fetched(f"{servers.models_url}/chat/completions", CHAT | {"tools": tools})
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "Plan"
    assert json.loads(call["function"]["arguments"]) == {"queries": world.queries(3)}


async def test_both_dialects_find_the_same_pages(servers: Any) -> None:
    query = world.queries(3)[1]
    tavily = await fetched(f"{servers.search_url}/search", {"query": query, "max_results": 10})
    searxng = await fetched(f"{servers.search_url}/search", q=query, format="json")
    urls = [hit.url for hit in world.hits(3, 1)]
    assert [row["url"] for row in tavily["results"]] == urls
    assert [row["url"] for row in searxng["results"]] == urls
    assert searxng["unresponsive_engines"] == []


async def test_vectors_come_in_base64_or_as_lists(servers: Any) -> None:
    body = {"model": "text-embedding-3-small", "input": ["a red fox", "a red dog", "sums"]}
    url = f"{servers.models_url}/embeddings"
    packed = await fetched(url, body | {"encoding_format": "base64"})
    listed = await fetched(url, body)
    vectors = [np.frombuffer(base64.b64decode(d["embedding"]), "<f4") for d in packed["data"]]
    assert np.allclose(vectors, [d["embedding"] for d in listed["data"]], atol=1e-6)
    assert np.shape(vectors) == (3, 1536)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert [d["index"] for d in packed["data"]] == [0, 1, 2]


async def test_the_log_counts_calls_items_tokens_and_connections(servers: Any) -> None:
    before = time.monotonic_ns()
    for _ in range(2):
        await fetched(f"{servers.models_url}/chat/completions", CHAT)
        await fetched(f"{servers.search_url}/search", {"query": "q", "max_results": 5})
    texts = [world.question(3), "title\nsnippet"]
    body = {"model": "m", "input": texts, "encoding_format": "base64"}
    await fetched(f"{servers.models_url}/embeddings", body)
    log = await fetched(f"{servers.control_url}/control/read")
    assert [call[0] for call in log["calls"]] == ["chat", "search", "chat", "search", "embeddings"]
    times = [time for _, start, end in log["calls"] for time in (start, end)]
    in_order = [before, *times, time.monotonic_ns()]
    assert in_order == sorted(in_order)
    assert log["connections"] == {"chat": 1, "search": 1}
    assert log["embedding_items"] == 2
    assert log["tokens"]["embeddings"] == sum(map(len, texts)) // 4


async def test_a_reset_log_is_empty_and_knows_the_old_connections(servers: Any) -> None:
    await fetched(f"{servers.models_url}/chat/completions", CHAT)
    await fetched(f"{servers.control_url}/control/reset")
    await fetched(f"{servers.models_url}/chat/completions", CHAT)
    log = await fetched(f"{servers.control_url}/control/read")
    assert len(log["calls"]) == 1
    assert log["connections"] == {}


async def test_pages_are_graded_where_that_is_asked(servers: Any) -> None:
    asked = f"{stub.GRADING} from 0 to 3.\nQuestion: {world.question(3)}\n\n[1] Tasks\n\n[2] Herons"
    body = CHAT | {"messages": [{"role": "user", "content": asked}]}
    answer = await fetched(f"{servers.models_url}/chat/completions", body)
    assert json.loads(answer["choices"][0]["message"]["content"]) == {"grades": [0, 1]}
