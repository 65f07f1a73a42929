"""A thread is one tenant's: a context of another one goes on with nothing of it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NotRequired, cast

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

    return host_of(call)


def host_of(call: Any) -> Graph:
    """Return a host's graph with one node."""
    graph = StateGraph(Told, context_schema=SearchContext)
    graph.add_node("call", call)
    graph.add_edge(START, "call")
    return graph.compile(checkpointer=InMemorySaver())


async def waits(graph: Graph, owner: SearchContext, config: Any = THREAD) -> bool:
    """Return whether the owner's review still waits for an answer."""
    return "__interrupt__" in await graph.ainvoke(None, config, context=owner)


@pytest.fixture
def reviewed() -> Graph:
    """A graph with a gate and memory."""
    return collection_search.build_graph(review=True, checkpointer=InMemorySaver())


@pytest.mark.parametrize("thread_id", ["t", 7, 0, uuid.UUID(int=7)], ids=repr)
async def test_an_answer_of_another_tenant_is_not_kept(
    settings: Settings, reviewed: Graph, thread_id: object
) -> None:
    """LangGraph keeps an answer before a node runs: the owner's next call would use it.

    It also makes a string of what names a thread.
    """
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    thread: Any = {"configurable": {"thread_id": thread_id}}
    await reviewed.ainvoke(QUESTION, thread, context=owner)
    with pytest.raises(InputError, match=REFUSED):
        reviewed.invoke(APPROVED, thread, context=other)
    with pytest.raises(InputError, match=REFUSED):
        await reviewed.ainvoke(APPROVED, thread, context=other)
    assert await waits(reviewed, owner, thread)
    decided = await reviewed.ainvoke(Command(resume={"status": "rejected"}), thread, context=owner)
    assert decided["review"]["status"] == "rejected"


@pytest.mark.parametrize("is_bound", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_host_s_node_that_names_a_thread(
    settings: Settings, reviewed: Graph, *, is_async: bool, is_bound: bool
) -> None:
    """It is that thread, not the host's: LangGraph reads nothing of the node around."""
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    await reviewed.ainvoke(QUESTION, THREAD, context=owner)
    called, given = (reviewed.with_config(THREAD), None) if is_bound else (reviewed, THREAD)

    async def answer(_: Told) -> dict[str, Any]:
        return {"output": await called.ainvoke(APPROVED, given, context=other)}

    def answer_in_a_thread(_: Told) -> dict[str, Any]:
        return {"output": called.invoke(APPROVED, given, context=other)}

    host = host_of(answer if is_async else answer_in_a_thread)
    with pytest.raises(InputError, match=REFUSED):
        await host.ainvoke({"given": {}}, {"configurable": {"thread_id": "host"}})
    assert await waits(reviewed, owner)


async def test_a_namespace_in_the_call_hides_no_thread(settings: Settings, reviewed: Graph) -> None:
    """LangGraph takes no notice of it outside of a node."""
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    await reviewed.ainvoke(QUESTION, THREAD, context=owner)
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "x"}}
    with pytest.raises(InputError, match=REFUSED):
        await reviewed.ainvoke(APPROVED, place, context=other)
    assert await waits(reviewed, owner)


@pytest.mark.parametrize(
    "place",
    [{"configurable": {"thread_id": "t", "checkpoint_ns": "x"}}, {"thread_id": "t"}],
    ids=["with a namespace", "beside configurable"],
)
async def test_every_way_to_name_a_thread_is_known(
    settings: Settings, reviewed: Graph, place: Any
) -> None:
    """Outside of a node a namespace means nothing; unknown keys of a config are `configurable`."""
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    with pytest.raises(InputError, match="nonsense: there is no such field"):
        await reviewed.ainvoke({**QUESTION, "nonsense": 1}, place, context=owner)
    await reviewed.ainvoke(QUESTION, place, context=owner)
    with pytest.raises(InputError, match=REFUSED):
        await reviewed.ainvoke(APPROVED, place, context=other)
    assert await waits(reviewed, owner)
    decided = await reviewed.ainvoke(APPROVED, place, context=owner)
    assert decided["review"]["status"] == "approved"


async def test_a_checkpoint_that_names_no_owner_is_its_thread_s(
    settings: Settings, reviewed: Graph
) -> None:
    """Neither a copy of one nor one that is not there has metadata."""
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    await reviewed.ainvoke(QUESTION, THREAD, context=owner)
    unknown = str(uuid.UUID(int=6 << 76))
    places = [{"configurable": {"thread_id": "t", "checkpoint_id": unknown}}]
    history = [one async for one in reviewed.aget_state_history(THREAD)]
    before = next(one for one in history if one.next == ("k_generate_strategy",))
    places += [await reviewed.aupdate_state(before.config, None, as_node="__copy__")]
    for place in cast("list[Any]", places):
        for given in (QUESTION, None):
            with pytest.raises(InputError, match=REFUSED):
                await reviewed.ainvoke(given, place, context=other)
            with pytest.raises(InputError, match=REFUSED):
                reviewed.invoke(given, place, context=other)
    assert isinstance(other.provider, ScriptedAdapter)
    assert not other.provider.requests


async def test_a_thread_of_the_same_name_belongs_to_a_host(
    settings: Settings, reviewed: Graph
) -> None:
    """In a node that names no thread, LangGraph uses the checkpoints of the graph around."""
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    await reviewed.ainvoke(QUESTION, THREAD, context=owner)

    async def ask(_: Told) -> dict[str, Any]:
        return {"output": await reviewed.ainvoke(QUESTION, context=other)}

    asked = await host_of(ask).ainvoke({"given": {}}, THREAD)
    assert asked["__interrupt__"]
    assert await waits(reviewed, owner)


@pytest.mark.parametrize("where", ["metadata", "configurable"])
async def test_a_host_has_a_tenant_id_of_its_own(
    settings: Settings, reviewed: Graph, where: str
) -> None:
    """LangGraph copies it into its checkpoints, and the host's callbacks read it."""
    owner = context_of(settings, "acme")
    own = "acme" if where == "configurable" else "org-42"
    config: Any = {"metadata": {}, **THREAD}
    config[where] = {**config[where], "tenant_id": own}
    await reviewed.ainvoke(QUESTION, config, context=owner)
    await reviewed.aupdate_state(config, {"auto_ingest": False})
    saved = await reviewed.aget_state(THREAD)
    assert saved.metadata
    assert cast("dict[str, Any]", saved.metadata)["tenant_id"] == own
    assert await waits(reviewed, owner, config)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_fork_of_the_first_checkpoint_is_its_tenant_s(
    settings: Settings, reviewed: Graph, *, is_async: bool
) -> None:
    """Its state names no tenant yet."""
    owner, other = context_of(settings, "acme"), context_of(settings, "other")
    await reviewed.ainvoke(QUESTION, THREAD, context=owner)
    first = [one.config async for one in reviewed.aget_state_history(THREAD)][-1]
    if is_async:
        fork = await reviewed.aupdate_state(first, QUESTION, as_node=START)
    else:
        fork = reviewed.update_state(first, QUESTION, as_node=START)
    with pytest.raises(InputError, match=REFUSED):
        await reviewed.ainvoke(None, fork, context=other)
    assert await waits(reviewed, owner, fork)


async def test_a_thread_that_names_no_owner_goes_on(settings: Settings, reviewed: Graph) -> None:
    """Who changes its state before any run does not own it."""
    await reviewed.aupdate_state(THREAD, QUESTION, as_node=START)
    assert await waits(reviewed, context_of(settings, "acme"))


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
