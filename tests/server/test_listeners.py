"""Who listens to a run on a `langgraph dev` server: its `messages` stream, and Langfuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest
from langfuse import Langfuse
from langgraph_sdk import get_sync_client
from support.langgraph_server import langgraph_dev
from support.waiting import wait_until

from collection_search.contracts.prices import total_cost
from collection_search.testing import OpenAIServer, OtlpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langgraph_sdk.client import SyncLangGraphClient

    from collection_search.testing.otlp import ReceivedSpan

pytestmark = pytest.mark.server

QUERIES = ["asyncio cancel task", "asyncio timeout", "asyncio wait_for"]
QUESTION = {
    "question": "How do I cancel an asyncio task after a timeout?",
    "collection_scope": "py",
    "purpose": "collection_search",
}


class World(NamedTuple):
    client: SyncLangGraphClient
    traces: OtlpServer


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server with a model, an embedder and Langfuse, all on the loopback address."""
    with OpenAIServer({"queries": QUERIES}) as models, OtlpServer() as traces:
        variables = {
            "COLLECTION_SEARCH_PROVIDER": "offline",
            "COLLECTION_SEARCH_MODEL": "openai:gpt-4o-mini",
            "COLLECTION_SEARCH_EMBEDDINGS": "openai:text-embedding-3-small",
            "COLLECTION_SEARCH_ANSWER_CACHE_S": "0",
            "OPENAI_API_KEY": "sk-of-the-test",
            "OPENAI_BASE_URL": models.base_url,
            "LANGFUSE_PUBLIC_KEY": "pk-lf-server",
            "LANGFUSE_SECRET_KEY": "sk-lf-server",
            "LANGFUSE_BASE_URL": traces.base_url,
            "LANGFUSE_FLUSH_INTERVAL": "0.5",
        }
        folder = tmp_path_factory.mktemp("listeners")
        with (
            langgraph_dev(folder, **variables) as server,
            get_sync_client(url=server.url, api_key=None) as client,
        ):
            yield World(client, traces)


def test_the_messages_stream_yields_the_plan(world: World) -> None:
    """As one message of the node that plans, as Studio shows it."""
    parts = world.client.runs.stream(
        None, "collection_search", input=QUESTION, stream_mode="messages-tuple"
    )
    ((message, metadata),) = [part.data for part in parts if part.event == "messages"]
    assert json.loads(message["content"]) == {"queries": QUERIES}
    assert message["usage_metadata"]["total_tokens"] == 73
    assert metadata["langgraph_node"] == "k_generate_strategy"


def test_events_name_every_call(world: World) -> None:
    """Plan, queries and embedding, below their nodes."""
    parts = world.client.runs.stream(
        None, "collection_search", input=QUESTION, stream_mode="events"
    )
    events = [part.data for part in parts if part.event == "events"]
    started = [
        (event["metadata"]["langgraph_node"], event["event"])
        for event in events
        if event["event"].endswith("_start") and not event["event"].startswith("on_chain")
    ]
    assert sorted(started) == sorted(
        [
            ("k_generate_strategy", "on_chat_model_start"),
            ("k_embedding_rank", "on_embedding_start"),
            *[("k_parallel_web_search", "on_tool_start")] * 3,
        ]
    )


def test_langfuse_has_one_root_per_run(world: World) -> None:
    """Although the server runs each node by itself; and the whole cost."""
    thread = world.client.threads.create()
    result = world.client.runs.wait(
        thread["thread_id"], "collection_search", input=QUESTION, context={"trace_id": "this-test"}
    )
    trace_id = Langfuse.create_trace_id(seed="this-test")

    def spans() -> list[ReceivedSpan]:
        return [span for span in world.traces.spans if span.trace_id == trace_id]

    wait_until(lambda: any(span.parent_id is None for span in spans()))  # the root ends last
    (root,) = [span for span in spans() if span.parent_id is None]
    assert root.name == "collection_search"
    ids = {span.span_id for span in spans()}
    assert all(span.parent_id in ids for span in spans() if span is not root)
    cost = total_cost(span.cost_usd or 0.0 for span in spans())
    assert cost == result["telemetry"]["cost_usd"] > 0
