"""A graph of your own runs `collection_search` on a LangGraph server, by `RemoteGraph`.

Start the server first: `langgraph dev --no-browser --port 2025` in the folder of `langgraph.json`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from typing_extensions import TypedDict

ADDRESS = "http://127.0.0.1:2025"


class State(TypedDict, total=False):
    """The state of the local graph."""

    question: str
    collection_scope: str
    results: list[dict[str, Any]]
    outcome: str


async def main(address: str = ADDRESS) -> None:
    """Stream the remote nodes, then run the graph that has the remote one as a node."""
    remote = RemoteGraph("collection_search", url=address)
    given = {"question": "How do I cancel an asyncio task?", "collection_scope": "remote"}
    async for update in remote.astream(given, stream_mode="updates"):
        print("remote node:", *update)
    builder = StateGraph(State)
    builder.add_node("search", remote)
    builder.add_edge(START, "search")
    builder.add_edge("search", END)
    result = await builder.compile().ainvoke(given)
    print(result["outcome"], len(result["results"]), "pages")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2]))
