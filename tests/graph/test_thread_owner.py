"""A thread is one tenant's: a context of another one goes on with nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from collection_search import SearchContext, Settings
from collection_search.errors import InputError
from collection_search.graphs import collection_search, research_agent
from collection_search.testing import (
    ScriptedAdapter,
    ScriptedAnswerModel,
    ScriptedToolCalls,
    rows,
)

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph[Any, Any, Any, Any]

QUESTION = {"question": "How do I cancel an asyncio task?", "collection_scope": "python"}
THREAD: Any = {"configurable": {"thread_id": "t"}}
REFUSED = "started for another tenant .* as `context`"
APPROVED: Command[Any] = Command(resume={"status": "approved", "approver": "another"})


class Told(TypedDict):
    """The state of a host: what its node gives a graph of ours, and what that returns."""

    given: dict[str, Any]
    output: NotRequired[dict[str, Any]]


def context_of(settings: Settings, tenant: str, **given: Any) -> SearchContext:
    provider = ScriptedAdapter(rows(3, with_text=True))
    return SearchContext(
        tenant_id=tenant, settings=settings, provider=provider, embeddings=None, **given
    )


def inside(inner: Graph) -> Graph:
    """Return a host's graph with a node that calls a graph with memory of its own."""

    async def call(state: Told) -> dict[str, Any]:
        return {"output": await inner.ainvoke(state["given"])}

    graph = StateGraph(Told, context_schema=SearchContext)
    graph.add_node("call", call)
    graph.add_edge(START, "call")
    return graph.compile(checkpointer=InMemorySaver())


async def test_an_answer_of_another_tenant_is_not_kept(settings: Settings) -> None:
    """LangGraph keeps an answer before a node runs: the owner's next call would use it."""
    graph = collection_search.build_graph(review=True, checkpointer=InMemorySaver())
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    await graph.ainvoke(QUESTION, THREAD, context=owner)
    with pytest.raises(InputError, match=REFUSED):
        graph.invoke(APPROVED, THREAD, context=other)
    with pytest.raises(InputError, match=REFUSED):
        await graph.ainvoke(APPROVED, THREAD, context=other)
    waiting = await graph.ainvoke(None, THREAD, context=owner)
    assert waiting["__interrupt__"]
    decided = await graph.ainvoke(Command(resume={"status": "rejected"}), THREAD, context=owner)
    assert decided["review"]["status"] == "rejected"


async def test_a_run_that_failed_at_once_is_its_tenant_s(settings: Settings) -> None:
    """The state has no tenant yet."""
    graph = collection_search.build_graph(checkpointer=InMemorySaver())
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    with pytest.raises(InputError, match="need a model"):
        await graph.ainvoke({**QUESTION, "criteria": ["names a price"]}, THREAD, context=owner)
    with pytest.raises(InputError, match=REFUSED):
        await graph.ainvoke(None, THREAD, context=other)
    assert isinstance(other.provider, ScriptedAdapter)
    assert not other.provider.requests


@pytest.mark.parametrize("is_inside", [False, True])
async def test_a_conversation_is_read_by_its_tenant_only(
    settings: Settings, *, is_inside: bool
) -> None:
    """Its messages and passages go to no other tenant's model."""
    search = ScriptedToolCalls(("web_search", {"query": "asyncio timeout"}))
    models = ScriptedAnswerModel(search, "So it is [1]."), ScriptedAnswerModel("So it is [1].")
    owner, other = (
        context_of(settings, tenant, model=model)
        for tenant, model in zip(("acme", "other"), models, strict=True)
    )
    if is_inside:
        graph = inside(research_agent.build_graph(checkpointer=True))
        given: Any = {"given": {"question": "What is a task?"}}
    else:
        graph = research_agent.build_graph(checkpointer=InMemorySaver())
        given = {"question": "What is a task?"}
    await graph.ainvoke(given, THREAD, context=owner)
    with pytest.raises(InputError, match=REFUSED):
        await graph.ainvoke(given, THREAD, context=other)
    assert not models[1].chats


async def test_a_choice_holds_for_one_run_of_a_node_s_memory(settings: Settings) -> None:
    """A later input ingests nothing unless it says so itself."""
    graph = inside(collection_search.build_graph(checkpointer=True))
    context = context_of(settings, "acme")
    chosen = {**QUESTION, "auto_ingest": True, "auto_ingest_min_score": 0}
    first = await graph.ainvoke({"given": chosen}, THREAD, context=context)
    second = await graph.ainvoke({"given": QUESTION}, THREAD, context=context)
    assert first["output"]["ingestion"]
    assert not second["output"]["ingestion"]


async def test_a_thread_that_the_graph_is_bound_to(settings: Settings) -> None:
    """It is as one of the call: a choice holds for one run, and what is left out is known."""
    graph = collection_search.build_graph(checkpointer=InMemorySaver()).with_config(THREAD)
    context = context_of(settings, "acme")
    chosen = {**QUESTION, "auto_ingest": True, "auto_ingest_min_score": 0}
    assert (await graph.ainvoke(chosen, context=context))["ingestion"]
    later = await graph.ainvoke({"question": "What is a future?"}, context=context)
    assert not later["ingestion"]
    with pytest.raises(InputError, match=REFUSED):
        await graph.ainvoke(QUESTION, context=context_of(settings, "other"))
