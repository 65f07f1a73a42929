"""The graph of the application, and a program that shows both sides at work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph
from nodes.article import Article, Desk
from nodes.research import research
from nodes.write import write

from collection_search import SearchContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

builder = StateGraph(Article, context_schema=Desk)
builder.add_node("research", research)
builder.add_node("write", write)
builder.add_edge(START, "research")
builder.add_edge("research", "write")
builder.add_edge("write", END)
newsroom = builder.compile()


async def show(topic: str) -> None:
    """Print each step, those inside `research` too, and the article."""
    desk = Desk("ann", SearchContext(tenant_id="newsroom"))
    article: Article = {"topic": topic}
    steps: AsyncIterator[Any] = newsroom.astream(
        article, context=desk, stream_mode=["updates", "custom"], subgraphs=True
    )
    async for path, mode, event in steps:
        if mode == "custom" and event["type"] == "node_finished":
            print(f"  {path[0].partition(':')[0]} > {event['node']}")
        elif mode == "updates" and not path:
            print(*event)
            article |= next(iter(event.values()))
    print(article["title"])


def main() -> None:
    """Run the program."""
    asyncio.run(show("asyncio.timeout"))


if __name__ == "__main__":
    main()
