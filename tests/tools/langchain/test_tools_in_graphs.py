"""The LangChain tools inside graphs: contexts, restrictions, progress, callbacks, the wire."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.runtime import Runtime  # noqa: TC002 - LangGraph reads the annotation
from support.scripted_world import QUESTION
from support.tool_world import TASKS, put_page, whole_pages

from collection_search import (
    CollectionSearchTool,
    RetrieveTool,
    SearchContext,
    Settings,
    WebSearchTool,
    WebSearchWorker,
    openai_tool,
)
from collection_search.errors import SearchProviderUnavailable
from collection_search.testing import OpenAIServer, RecordingSink, ScriptedAdapter, rows

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from langgraph.graph.state import CompiledStateGraph

PAGES = whole_pages()
DOCS = {"question": "How do I cancel a task?", "collection": "docs"}


def host(*tools: Any, schema: Any = SearchContext) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph of one ToolNode."""
    graph = StateGraph(MessagesState, context_schema=schema)
    graph.add_node("tools", ToolNode(list(tools)))
    graph.add_edge(START, "tools")
    return graph.compile()


def asking(name: str, **arguments: Any) -> dict[str, Any]:
    """Return the state after a model's call."""
    calls = [{"name": name, "args": arguments, "id": "call_1"}]
    return {"messages": [AIMessage("", tool_calls=calls)]}


def last(state: dict[str, Any]) -> ToolMessage:
    """Return the answer to the call."""
    message = state["messages"][-1]
    assert isinstance(message, ToolMessage)
    return message


@pytest.mark.parametrize("is_inside", [False, True])
async def test_the_graphs_context_reaches_the_tool(settings: Settings, is_inside: bool):
    """Our context, or a host's that carries ours; sync and async."""
    ours = SearchContext(settings=settings, provider=ScriptedAdapter(rows(2)), tenant_id="acme")
    given = {"collection_search": ours, "user": "ann"} if is_inside else ours
    graph = host(WebSearchTool(), schema=dict if is_inside else SearchContext)
    for state in (
        graph.invoke(asking("web_search", query="asyncio"), context=given),
        await graph.ainvoke(asking("web_search", query="asyncio"), context=given),
    ):
        meta = last(state).artifact["outcome"]["meta"]
        assert (meta["provider"], meta["tenant_id"]) == ("scripted", "acme")


async def test_the_host_of_a_failed_search_gets_its_outcome(settings: Settings):
    """The artifact passes through the node."""
    failing = ScriptedAdapter(SearchProviderUnavailable("It is down."))
    worker = WebSearchWorker(failing, max_attempts=1, spans=RecordingSink())
    graph = host(WebSearchTool(worker=worker))
    context = SearchContext(settings=settings)
    for state in (
        graph.invoke(asking("web_search", query="asyncio"), context=context),
        await graph.ainvoke(asking("web_search", query="asyncio"), context=context),
    ):
        message = last(state)
        assert message.status == "error"
        error = message.artifact["outcome"]["meta"]["error"]
        assert (error["code"], error["retryable"]) == ("serviceUnavailable", True)


def test_tenants_read_their_own_collections_alone(settings: Settings, tmp_path: Path):
    """Also through a tool with a context of its own that names no tenant."""
    put_page(tmp_path, TASKS, tenant="acme")
    for tool in (RetrieveTool(), RetrieveTool(search_context=SearchContext(settings=settings))):
        graph = host(tool)
        for tenant, status in (("acme", "success"), ("globex", "error")):
            context = SearchContext(settings=settings, tenant_id=tenant)
            assert last(graph.invoke(asking("retrieve", **DOCS), context=context)).status == status


def test_a_tenant_that_the_tool_names_holds(settings: Settings, tmp_path: Path):
    """For a collection that all tenants of a host may read."""
    put_page(tmp_path, TASKS, tenant="library")
    shared = SearchContext(settings=settings, tenant_id="library")
    graph = host(RetrieveTool(search_context=shared))
    context = SearchContext(settings=settings, tenant_id="acme")
    assert last(graph.invoke(asking("retrieve", **DOCS), context=context)).status == "success"


def on_a_server(context: Any) -> ToolRuntime[Any, Any]:
    """Return the runtime of a run that a remote caller started."""
    server = SimpleNamespace(user=SimpleNamespace(identity="ann"), assistant_id="a", graph_id="g")
    return ToolRuntime(
        state={},
        context=context,
        config={},
        stream_writer=lambda _: None,
        tool_call_id="call_1",
        store=None,
        server_info=server,
    )


def test_a_servers_restriction_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The authenticated user is the tenant, and a provider must be one of the operator's."""
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
    put_page(tmp_path, TASKS, tenant="acme")
    put_page(tmp_path, f"{TASKS} Of Ann.", tenant="ann")
    runtime = on_a_server(SearchContext(tenant_id="acme"))
    for tool in (RetrieveTool(), RetrieveTool(search_context=SearchContext())):
        assert "Of Ann." in tool.invoke({**DOCS, "runtime": runtime})
    foreign = on_a_server(SearchContext(provider="brave"))
    said = WebSearchTool().invoke({"query": "asyncio", "runtime": foreign})
    assert said == (
        "Error: provider 'brave' is not configured on this server. It has: auto, offline."
    )


@pytest.mark.slow
async def test_progress_is_in_the_custom_stream(settings: Settings):
    """Step by step to the end, sync and async."""
    context = SearchContext(settings=settings, provider=ScriptedAdapter(PAGES))
    graph = host(CollectionSearchTool())
    for collection in ("one", "two"):
        given = asking("collection_search", question=QUESTION, collection=collection)
        if collection == "one":
            parts = list(graph.stream(given, context=context, stream_mode="custom"))
        else:
            stream = graph.astream(given, context=context, stream_mode="custom")
            parts = [part async for part in stream]
        assert {(part["type"], part["tool"]) for part in parts} == {
            ("tool_progress", "collection_search")
        }
        assert [part["done"] for part in parts] == [1, 2, 3, 4, 5]
        assert {part["total"] for part in parts} == {5}


class Runs(BaseCallbackHandler):
    """Records the tree of runs."""

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}
        self.parents: dict[UUID, UUID | None] = {}

    def _start(
        self,
        serialized: dict[str, Any] | None,
        *_: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        name: str | None = None,
        **__: Any,
    ) -> None:
        self.names[run_id] = name or (serialized or {})["name"]
        self.parents[run_id] = parent_run_id

    on_chain_start = on_tool_start = _start

    def path(self, name: str) -> list[str]:
        """Return the names from the root to the last run of this name."""
        run: UUID | None = [run_id for run_id, one in self.names.items() if one == name][-1]
        path = []
        while run is not None:
            path.insert(0, self.names[run])
            run = self.parents[run]
        return path


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
async def test_the_tools_run_has_its_children(settings: Settings, is_async: bool):
    """The tool is a child of the host's node, the tool's graph a child of the tool."""
    context = SearchContext(settings=settings, provider=ScriptedAdapter(PAGES))
    runs, graph = Runs(), host(CollectionSearchTool())
    given = asking("collection_search", question=QUESTION, collection="new")
    config: Any = {"callbacks": [runs]}
    if is_async:
        await graph.ainvoke(given, config, context=context)
    else:
        graph.invoke(given, config, context=context)
    inside = ["LangGraph", "tools", "collection_search", "collection_search"]
    assert runs.path("k_embedding_rank")[: len(inside) + 1] == [*inside, "k_embedding_rank"]


async def test_a_node_that_calls_a_tool_gives_it_its_runtime(settings: Settings):
    """Then the tool has the graph's context, as in a ToolNode."""

    async def search(state: MessagesState, runtime: Runtime[SearchContext]) -> dict[str, Any]:
        question = state["messages"][-1].content
        text = await WebSearchTool().ainvoke({"query": question, "runtime": runtime})
        return {"messages": [AIMessage(text)]}

    graph = StateGraph(MessagesState, context_schema=SearchContext)
    graph.add_node("search", search)
    graph.add_edge(START, "search")
    context = SearchContext(settings=settings, provider=ScriptedAdapter(rows(2)))
    state = await graph.compile().ainvoke({"messages": ["asyncio"]}, context=context)
    assert "https://example.com/asyncio/2" in state["messages"][-1].content


@pytest.mark.slow
async def test_the_definition_on_the_wire():
    """LangChain's client for OpenAI sends what `openai_tool` returns; the call comes back."""
    with OpenAIServer({"query": "asyncio", "max_results": 2}) as server:
        model = ChatOpenAI(model="gpt-x", base_url=server.base_url, api_key="sk-of-the-test")
        bound = model.bind_tools([WebSearchTool(), RetrieveTool()])
        answer = await bound.ainvoke("What is asyncio?")
    first, second = server.requests[0].body["tools"]
    assert first == openai_tool("web_search")
    assert second == openai_tool("retrieve")
    assert answer.tool_calls[0]["name"] == "web_search"
    context = SearchContext(provider=ScriptedAdapter(rows(3)))
    message = await WebSearchTool(search_context=context).ainvoke(answer.tool_calls[0])
    assert message.tool_call_id == answer.tool_calls[0]["id"]
    assert len(message.artifact["results"]) == 2
