"""The embedded default with real files: no node blocks the event loop, no context is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from blockbuster import blockbuster_ctx
from langgraph.graph import START, StateGraph
from support.offline_index import copy_offline_index
from support.scripted_world import INPUT

from collection_search import CollectionSearchGraph, SearchContext, Settings, graph
from collection_search.contracts.state import CollectionSearchState
from collection_search.testing import OpenAIServer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def settings(offline_index_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    copy_offline_index(offline_index_folder, settings.home)
    return settings


async def test_embedded_default_never_blocks_the_loop(settings: Settings) -> None:
    """Search in SQLite, staging, ranking and the ledger run off the loop."""
    graph = CollectionSearchGraph(SearchContext(settings=settings, provider="offline"))
    with blockbuster_ctx():
        _, result = await graph.arun({**INPUT, "auto_ingest": True})
    assert result["outcome"] == "auto_ingest_triggered"
    assert result["ingestion"] is not None
    assert result["ingestion"]["count"] >= 3


async def test_chat_model_never_blocks_the_loop(settings: Settings) -> None:
    """The OpenAI client is imported and called without blocking."""
    with OpenAIServer({"queries": ["asyncio cancel", "asyncio timeout", "wait_for"]}) as server:
        ours = settings.model_copy(update={"openai_base_url": server.base_url})
        context = SearchContext(settings=ours, provider="offline", model="openai:gpt-4o-mini")
        with blockbuster_ctx():
            _, result = await CollectionSearchGraph(context).arun(INPUT)
    assert result["strategy"]["fallback"] is False, result["strategy"]
    assert result["telemetry"]["nodes"]["k_generate_strategy"]["cost_usd"] > 0


def test_graph_runs_without_any_context(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither alone nor inside a parent graph is a context needed: tenant `local`, offline."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(settings.home))
    builder = StateGraph(CollectionSearchState)
    builder.add_node("research", graph)
    builder.add_edge(START, "research")
    for outermost in (graph, builder.compile()):
        result = outermost.invoke(INPUT)
        assert result["outcome"] == "search_completed"
        assert result["search"]["provider"] == "offline"
