"""What a caller writes into the state of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from support.scripted_world import INPUT
from typing_extensions import TypedDict

from collection_search import SearchContext, build_graph
from collection_search.errors import InputError
from collection_search.graphs.research_agent import build_graph as build_agent
from collection_search.graphs.universal_ingestion import build_graph as build_ingestion
from collection_search.testing import ScriptedAdapter, rows

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from collection_search import Settings

THREAD: Any = {"configurable": {"thread_id": "thread"}}
ASKED = {**INPUT, "auto_ingest": True}
NO_PAGE = {"url": "https://example.com/"}


@pytest.fixture
def context(settings: Settings) -> SearchContext:
    return SearchContext(settings=settings, provider=ScriptedAdapter(rows(3, with_text=True)))


async def stopped(context: SearchContext, before: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the search graph with a run that has stopped before one of its nodes."""
    graph = build_graph(checkpointer=InMemorySaver())
    await graph.ainvoke(ASKED, THREAD, context=context, interrupt_before=[before])
    return graph


async def make(change: Any, graph: Any, context: SearchContext, way: str) -> None:
    if way == "update":
        graph.update_state(THREAD, change)
    elif way == "aupdate":
        await graph.aupdate_state(THREAD, change)
    else:
        await graph.ainvoke(Command(update=change), THREAD, context=context)


WRONG = [
    ({"strategy": {"queries": []}}, "strategy.queries: give 1 or more of them"),
    ({"strategy": {"queries": ["asyncio"] * 21}}, "strategy.queries: give 20 or fewer of them"),
    ({"strategy": {"queries": "asyncio"}}, "strategy.queries: give a list"),
    ({"strategy": None}, "strategy: give a map of names and values"),
    ({"max_candidates": 0}, "max_candidates: give 5 or more"),
    ({"auto_ingest_top_k": 0}, "auto_ingest_top_k: give 1 or more"),
    ({"quality_mode": "best"}, "quality_mode: give standard or premium"),
    ({"question": None, "flags": 1}, "question: give a text; flags: give a list"),
    ({"candidates": None}, "candidates: give a list"),
    ({"candidates": [NO_PAGE]}, r"candidates\.0\.url_key: it is missing"),
    ({"results": [NO_PAGE]}, r"results\.0\.title: it is missing"),
    ({"flags": None}, "flags: give a list"),
    ({"strategies": {}}, "strategies: there is no such field, did you mean strategy"),
]


@pytest.mark.parametrize(("change", "said"), WRONG, ids=lambda one: str(one)[:40])
@pytest.mark.parametrize("way", ["update", "aupdate", "command"])
async def test_a_wrong_change_is_refused(
    context: SearchContext, change: dict[str, Any], said: str, way: str
) -> None:
    """Where it is made: else a node would fail, or the run would say something that is not so."""
    graph = await stopped(context, "k_parallel_web_search")
    with pytest.raises(InputError, match=rf"The change of the state is not valid\. {said}"):
        await make(change, graph, context, way)
    ended = await graph.ainvoke(None, THREAD, context=context)
    assert ended["outcome"] == "auto_ingest_triggered"


@pytest.mark.parametrize("before", ["k_parallel_web_search", "k_embedding_rank", "k_auto_ingest"])
async def test_what_a_run_has_written_can_be_written_again(
    context: SearchContext, before: str
) -> None:
    graph = await stopped(context, before)
    values = (await graph.aget_state(THREAD)).values
    await graph.aupdate_state(THREAD, values)
    ended = await graph.ainvoke(None, THREAD, context=context)
    assert ended["outcome"] == "auto_ingest_triggered"


async def test_other_queries_are_searched_for(context: SearchContext) -> None:
    """They need not say who has planned them."""
    graph = await stopped(context, "k_parallel_web_search")
    await graph.aupdate_state(THREAD, {"strategy": {"queries": ["asyncio"]}})
    ended = await graph.ainvoke(None, THREAD, context=context)
    assert [one["query"] for one in ended["search"]["queries"]] == ["asyncio"]


@pytest.mark.parametrize("before", ["k_auto_ingest", "k_hitl_gate"])
async def test_a_result_that_is_no_candidate(context: SearchContext, before: str) -> None:
    """A page that somebody has added to the results alone has no text, and no query that found it."""
    graph = build_graph(review=before == "k_hitl_gate", checkpointer=InMemorySaver())
    given = {**INPUT, "auto_ingest": before == "k_auto_ingest"}
    await graph.ainvoke(given, THREAD, context=context, interrupt_before=[before])
    results = (await graph.aget_state(THREAD)).values["results"]
    await graph.aupdate_state(THREAD, {"results": [*results, {**results[0], **NO_PAGE}]})
    with pytest.raises(InputError, match=r"results\.3: https://example\.com/ is not among the"):
        await graph.ainvoke(None, THREAD, context=context)


async def test_a_host_s_change_of_an_inner_state(context: SearchContext) -> None:
    """It is checked too, and the keys of the host's own state are not."""

    class Host(TypedDict, total=False):
        question: str
        collection_scope: str
        note: str

    builder = StateGraph(Host, context_schema=SearchContext)
    builder.add_node("collect", build_graph(review=True))
    builder.add_edge(START, "collect")
    host = builder.compile(checkpointer=InMemorySaver())
    given: Any = {**INPUT, "note": "x"}
    await host.ainvoke(given, THREAD, context=context)
    inner: Any = (await host.aget_state(THREAD, subgraphs=True)).tasks[0].state
    with pytest.raises(InputError, match="results: give a list"):
        await host.aupdate_state(inner.config, {"results": "none"})
    await host.aupdate_state(THREAD, {"note": "y"}, as_node="collect")


async def test_the_other_graphs(context: SearchContext) -> None:
    """A chat takes one message, as LangGraph does."""
    agent = build_agent(checkpointer=InMemorySaver())
    await agent.ainvoke({"question": "What is asyncio?"}, THREAD, context=context)
    with pytest.raises(InputError, match="passages: give a list"):
        await agent.aupdate_state(THREAD, {"passages": "none"})
    await agent.aupdate_state(THREAD, {"messages": ("user", "Really?")})
    ingestion = build_ingestion(checkpointer=InMemorySaver())
    given = {"source": "search", "query": "asyncio", "collection_scope": "docs"}
    await ingestion.ainvoke(given, THREAD, context=context, interrupt_before=["k_select"])
    with pytest.raises(InputError, match=r"candidates\.0\.title: it is missing"):
        await ingestion.aupdate_state(THREAD, {"candidates": [NO_PAGE]})
    await ingestion.aupdate_state(THREAD, (await ingestion.aget_state(THREAD)).values)
    ended = await ingestion.ainvoke(None, THREAD, context=context)
    assert ended["outcome"] == "ingestion_started"
