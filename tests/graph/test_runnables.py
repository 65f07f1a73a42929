"""How the graphs run their nodes: callbacks see every one, and without them nothing else changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackHandler

from collection_search.contracts.search import SearchAdapterResponse
from collection_search.graphs.collection_search import CollectionSearchGraph, graph
from collection_search.testing.search_adapter import rows

if TYPE_CHECKING:
    from collection_search import SearchContext

GIVEN = {
    "question": "How do I cancel an asyncio task?",
    "collection_scope": "python",
    "purpose": "collection_search",
}
NODES = ["k_generate_strategy", "k_parallel_web_search", "k_embedding_rank"]


class Listener(AsyncCallbackHandler):
    """Notes what starts and ends, by name."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended = 0

    async def on_chain_start(self, *_: Any, **told: Any) -> None:
        self.started.append(told["name"])

    async def on_chain_end(self, *_: Any, **__: Any) -> None:
        self.ended += 1


async def test_callbacks_are_told_of_every_node(context: SearchContext) -> None:
    listener = Listener()
    heard = await graph.ainvoke(GIVEN, config={"callbacks": [listener]}, context=context)
    assert [name for name in listener.started if name in NODES] == NODES
    assert listener.ended == len(listener.started)

    unheard = await graph.ainvoke(GIVEN, context=context)
    assert unheard["results"] == heard["results"]


async def test_events_are_streamed_for_every_node(context: SearchContext) -> None:
    stream = graph.astream_events(GIVEN, context=context, version="v2")
    told = [event["name"] async for event in stream if event["event"] == "on_chain_end"]
    assert [name for name in told if name in NODES] == NODES


class Sending:
    """An adapter that prepares a request, lets it leave, and then waits for its answer."""

    provider_name = "sending"

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        raise NotImplementedError(query, max_results)

    async def asearch(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        self.log.append((query, "prepared"))
        await asyncio.sleep(0)
        self.log.append((query, "sent"))
        await asyncio.sleep(0.01)
        return SearchAdapterResponse(rows(max_results), status_code=200)


async def test_the_first_request_leaves_before_others_are_prepared(context: SearchContext) -> None:
    adapter = Sending()
    mine = context.model_copy(update={"provider": adapter})
    _, result = await CollectionSearchGraph(mine).arun(GIVEN)
    first = result["strategy"]["queries"][0]
    assert adapter.log[:2] == [(first, "prepared"), (first, "sent")]
    assert len(adapter.log) == 2 * len(result["strategy"]["queries"])
