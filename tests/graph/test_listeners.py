"""What the caller's own callback handlers hear of a run: plan, searches, embedding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from langchain_core.callbacks import (
    BaseCallbackHandler,
    UsageMetadataCallbackHandler,
    get_usage_metadata_callback,
)
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langsmith import Client
from langsmith.run_helpers import tracing_context
from support.paid_world import QUERIES, PaidWorld
from support.recorded_runs import AsyncRecorder, RunRecorder
from support.scripted_world import INPUT, QUESTION, good_pages
from typing_extensions import TypedDict

from collection_search import SearchContext, Settings
from collection_search.cassette import Cassette
from collection_search.contracts.collection import Embedded
from collection_search.errors import ModelError, SearchProviderInvalidQuery
from collection_search.graphs.collection_search import build_graph, graph
from collection_search.graphs.universal_ingestion import graph as ingestion_graph
from collection_search.testing import (
    ScriptedAdapter,
    ScriptedChatModel,
    ScriptedEmbedder,
    ScriptedQueryModel,
)

if TYPE_CHECKING:
    from pathlib import Path

PLANNED = ["cancel asyncio task", "asyncio timeout", "asyncio wait_for"]
TREE = [
    ("k_embedding_rank", "embedding", "embedding"),
    ("k_generate_strategy", "chat", "scripted"),
    ("k_parallel_web_search", "tool", "web_search"),
    ("k_parallel_web_search", "tool", "web_search"),
    ("k_parallel_web_search", "tool", "web_search"),
]


@pytest.fixture
def heard(context: SearchContext) -> SearchContext:
    """A context with a model and an embedder that always work."""
    return context.model_copy(
        update={"model": ScriptedQueryModel(PLANNED), "embeddings": ScriptedEmbedder()}
    )


def config(*handlers: BaseCallbackHandler) -> Any:
    return {"callbacks": list(handlers)}


def with_(context: SearchContext, **changes: Any) -> SearchContext:
    return context.model_copy(update=changes)


async def test_the_tree_of_a_run_is_exact(heard: SearchContext) -> None:
    """One chat, each query, one embedding, all under their nodes, with usage."""
    recorder = RunRecorder()
    result = await graph.ainvoke(INPUT, config(recorder), context=heard)
    assert result["outcome"] == "search_completed"
    assert recorder.tree() == TREE
    assert all(run.ended == 1 and run.error is None for run in recorder.runs.values())
    (chat,) = recorder.of("chat")
    system, human = chat.given[0]
    assert isinstance(system, SystemMessage)
    assert isinstance(human, HumanMessage)
    assert QUESTION in str(human.content)
    assert chat.params == {"model": "scripted"}
    assert chat.metadata["ls_model_name"] == "scripted"
    message = chat.output.generations[0][0].message
    assert json.loads(message.content) == {"queries": PLANNED}
    assert message.usage_metadata == {"input_tokens": 29, "output_tokens": 44, "total_tokens": 73}
    assert message.response_metadata == {"model_name": "scripted"}
    tools = recorder.of("tool")
    # The queries run at once, and LangChain tells this handler of each in a thread: in any order.
    assert sorted(tool.given["query"] for tool in tools) == sorted(PLANNED)
    assert {tool.given["max_results"] for tool in tools} == {14}
    for tool in tools:
        assert len(tool.output["results"]) == 6
        assert set(tool.output["results"][0]) == {"title", "url", "snippet", "score"}
        assert json.loads(json.dumps(tool.output)) == tool.output
    (embedding,) = recorder.of("embedding")
    assert embedding.given == {"model": "64", "count": 7}
    assert embedding.output["dimension"] == 64
    assert embedding.output["usage_metadata"]["input_tokens"] > 0


def test_plain_invoke_tells_sync_and_async_handlers(heard: SearchContext) -> None:
    """The node runs on another loop; the handlers hear the same."""
    recorder, asynchronous = RunRecorder(), AsyncRecorder()
    graph.invoke(INPUT, config(recorder, asynchronous), context=heard)
    assert recorder.tree() == TREE
    assert sorted(asynchronous.started) == ["chat", "tool", "tool", "tool"]


async def test_as_a_part_of_a_hosts_graph(heard: SearchContext) -> None:
    """The host's handlers hear the inner runs below the inner nodes."""

    class State(TypedDict, total=False):
        question: str
        collection_scope: str
        purpose: str
        outcome: str

    host = StateGraph(State, context_schema=SearchContext)
    host.add_node("search", graph)
    host.add_edge(START, "search")
    host.add_edge("search", END)
    recorder = RunRecorder()
    chunks = host.compile().astream(
        INPUT, config(recorder), context=heard, stream_mode="messages", subgraphs=True
    )
    messages = [message async for _, (message, _) in chunks]
    assert recorder.tree() == TREE
    assert [json.loads(message.content) for message in messages] == [{"queries": PLANNED}]


async def test_the_messages_stream_yields_the_plan(heard: SearchContext) -> None:
    """As one message of the node that plans."""
    chunks = [chunk async for chunk in graph.astream(INPUT, context=heard, stream_mode="messages")]
    ((message, metadata),) = chunks
    assert isinstance(message, AIMessage)
    assert json.loads(str(message.content)) == {"queries": PLANNED}
    assert metadata["langgraph_node"] == "k_generate_strategy"


async def test_events_of_the_run(heard: SearchContext) -> None:
    """`astream_events` shows start and end of each."""
    seen = [
        event["event"]
        async for event in graph.astream_events(INPUT, context=heard, version="v2")
        if not event["event"].startswith("on_chain")
    ]
    assert sorted(seen) == sorted(
        ["on_chat_model_start", "on_chat_model_end", "on_embedding_start", "on_embedding_end"]
        + 3 * ["on_tool_start", "on_tool_end"]
    )


@pytest.mark.parametrize("as_object", [False, True], ids=["query model", "LangChain object"])
async def test_tokens_are_counted_once(heard: SearchContext, *, as_object: bool) -> None:
    """By a handler that was passed, and by one that lies in the context."""
    chat = ScriptedChatModel(replies=[{"queries": PLANNED}])
    context = with_(heard, model=chat) if as_object else heard
    counter, recorder = UsageMetadataCallbackHandler(), RunRecorder()
    with get_usage_metadata_callback() as around:
        await graph.ainvoke(INPUT, config(counter, recorder), context=context)
    usage = {"scripted": {"input_tokens": 29, "output_tokens": 44, "total_tokens": 73}}
    assert counter.usage_metadata == around.usage_metadata == usage
    assert recorder.tree() == TREE


async def test_langsmith_gets_each_call_once(heard: SearchContext) -> None:
    """Switched on by its own context, and with a model object that would announce itself."""

    class Kept(Client):
        """Keeps what it would send."""

        runs: ClassVar[list[tuple[str, str]]] = []

        def create_run(self, name: str, inputs: Any, run_type: Any, **_: Any) -> None:
            self.runs.append((run_type, name))

        def update_run(self, *_: Any, **__: Any) -> None:
            """Keep nothing more."""

    client = Kept(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
    chat = ScriptedChatModel(replies=[{"queries": PLANNED}])
    with tracing_context(enabled=True, client=client):
        await graph.ainvoke(INPUT, context=with_(heard, model=chat))
    wait_for_all_tracers()
    calls = sorted(run for run in client.runs if run[0] != "chain")
    assert calls == [("embedding", "embedding"), ("llm", "scripted")] + [("tool", "web_search")] * 3


async def test_a_models_own_handlers_still_hear_it(heard: SearchContext) -> None:
    """They were given to the object, not to the run."""
    own, recorder = RunRecorder(), RunRecorder()
    chat = ScriptedChatModel(replies=[{"queries": PLANNED}], callbacks=[own])
    await graph.ainvoke(INPUT, config(recorder), context=with_(heard, model=chat))
    assert len(own.of("chat")) == len(recorder.of("chat")) == 1
    assert own.of("tool") == []


async def test_a_langchain_search_stands_below_its_tool_run(heard: SearchContext) -> None:
    """What the caller's object does inside is heard where it happens."""

    class Pages(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document(page.snippet, metadata={"source": page.url}) for page in good_pages()]

    recorder = RunRecorder()
    await graph.ainvoke(INPUT, config(recorder), context=with_(heard, provider=Pages()))
    inner = recorder.of("retriever")
    assert len(inner) == 3
    tools = {run.id: run for run in recorder.of("tool")}
    assert {tools[run.parent_id].given["query"] for run in inner if run.parent_id} == set(PLANNED)


async def test_a_failing_model_ends_its_run_with_the_error(heard: SearchContext) -> None:
    """Without its secrets; the run goes on with deterministic queries."""
    model = ScriptedQueryModel(ModelError("refused: api_key=hunter2"))
    recorder = RunRecorder()
    result = await graph.ainvoke(INPUT, config(recorder), context=with_(heard, model=model))
    assert result["flags"] == ["strategy_fallback"]
    (chat,) = recorder.of("chat")
    assert "refused" in str(chat.error)
    assert "hunter2" not in str(chat.error)


async def test_a_failing_search_ends_its_run_with_the_error(heard: SearchContext) -> None:
    """Only the failed one."""
    adapter = ScriptedAdapter(good_pages()).on(
        PLANNED[1], SearchProviderInvalidQuery("no: token=hunter2")
    )
    recorder = RunRecorder()
    await graph.ainvoke(INPUT, config(recorder), context=with_(heard, provider=adapter))
    failed = [run for run in recorder.of("tool") if run.error]
    assert [run.given["query"] for run in failed] == [PLANNED[1]]
    assert str(failed[0].error) == "SearchProviderInvalidQuery: no: token=[secret]"


async def test_a_failing_embedder_ends_its_run_with_the_error(heard: SearchContext) -> None:
    """The ranking by words goes on."""
    embedder = ScriptedEmbedder(error=ModelError("down: password=hunter2"))
    recorder = RunRecorder()
    result = await graph.ainvoke(INPUT, config(recorder), context=with_(heard, embeddings=embedder))
    assert "embedding_degraded" in result["flags"]
    (run,) = recorder.of("embedding")
    assert run.error is not None
    assert "hunter2" not in str(run.error)


async def test_a_run_that_fails_ends_all_its_runs(heard: SearchContext) -> None:
    """An error of ours in a node is told up to the graph's own run."""

    class Wrong:
        fingerprint = "wrong:1"

        async def embed(self, texts: Any) -> Embedded:
            return Embedded(np.zeros((1, 1), dtype=np.float32))

    recorder = RunRecorder()
    await graph.ainvoke(INPUT, config(recorder), context=with_(heard, embeddings=Wrong()))
    (run,) = recorder.of("embedding")
    assert "1 vectors for 7 texts" in str(run.error)
    assert all(run.ended == 1 for run in recorder.runs.values())


class Failing(BaseCallbackHandler):
    """Raises at every call, as loud as a handler can."""

    def __init__(self, *, raise_error: bool) -> None:
        self.raise_error = raise_error
        self.calls = 0

    def _fail(self, *_: Any, **__: Any) -> None:
        self.calls += 1
        raise OSError("sink is gone: key=sk-ant-abcdefgh")

    on_chat_model_start = on_llm_end = on_tool_start = on_tool_end = _fail


@pytest.mark.parametrize("raises", [False, True])
async def test_a_failing_handler_does_not_fail_the_run(
    heard: SearchContext, caplog: pytest.LogCaptureFixture, *, raises: bool
) -> None:
    """Not even one that insists; the other handlers hear what they would."""
    failing, recorder = Failing(raise_error=raises), RunRecorder()
    result = await graph.ainvoke(INPUT, config(recorder, failing), context=heard)
    assert result["outcome"] == "search_completed"
    assert result["flags"] == []
    assert failing.calls >= 4
    assert caplog.records


async def test_secrets_in_question_and_results_are_not_told(heard: SearchContext) -> None:
    """Personal data is: the handler is the caller's own."""
    pages = good_pages(1)
    pages[0].snippet = "call +49 30 1234567 with api_key=hunter2hunter2"
    question = "who is jane@example.com? password=hunter2hunter2"
    recorder = RunRecorder()
    context = with_(heard, provider=ScriptedAdapter(pages))
    await graph.ainvoke({**INPUT, "question": question}, config(recorder), context=context)
    told = "".join(
        str((run.given, run.output)) for run in recorder.runs.values() if run.kind != "chain"
    )
    assert "hunter2" not in told
    assert "jane@example.com" in told
    assert "+49 30 1234567" in told


async def test_without_calls_there_are_no_runs(context: SearchContext) -> None:
    """No model, no embedder: searches alone."""
    recorder = RunRecorder()
    await graph.ainvoke(INPUT, config(recorder), context=context)
    assert {run[1] for run in recorder.tree()} == {"tool"}


@pytest.mark.slow
async def test_cached_plans_and_vectors_are_no_calls(tmp_path: Path) -> None:
    """A cached search is told, for it was asked; it says that it was cached."""
    with PaidWorld(tmp_path) as world:
        context = world.context(run_id="first")
        given = {"question": "How does asyncio work?", "collection_scope": "c", "purpose": "docs"}
        first, second = RunRecorder(), RunRecorder()
        counter = UsageMetadataCallbackHandler()
        await graph.ainvoke(given, config(first, counter), context=context)
        await graph.ainvoke(given, config(second, counter), context=context)
    kinds = [kind for _, kind, _ in first.tree()]
    assert (kinds.count("chat"), kinds.count("tool"), kinds.count("embedding")) == (
        1, len(QUERIES), 1,
    )  # fmt: skip
    assert {kind for _, kind, _ in second.tree()} == {"tool"}
    assert {run.output["cached"] for run in first.of("tool")} == {False}
    assert {run.output["cached"] for run in second.of("tool")} == {True}
    (usage,) = counter.usage_metadata.values()
    assert usage["total_tokens"] == 73


async def test_a_replay_tells_the_same(heard: SearchContext, tmp_path: Path) -> None:
    """Model, provider and embedder are replayed; who listens hears no difference."""
    path = tmp_path / "run.jsonl"
    recorded, replayed = RunRecorder(), RunRecorder()
    recording = with_(heard, cassette=Cassette.record(path))
    await graph.ainvoke(INPUT, config(recorded), context=recording)
    replaying = SearchContext(settings=heard.settings, cassette=Cassette.replay(path))
    await graph.ainvoke(INPUT, config(replayed), context=replaying)
    assert recorded.tree() == replayed.tree() == TREE
    chats = [one.of("chat")[0].output.generations[0][0].message for one in (recorded, replayed)]
    assert chats[0].content == chats[1].content
    assert chats[0].usage_metadata == chats[1].usage_metadata


async def test_a_search_for_ingestion_is_a_tool_run(context: SearchContext) -> None:
    """Of the node that acquires."""
    recorder = RunRecorder()
    given = {"source": "search", "query": QUESTION, "collection_scope": "c", "mode": "acquire_only"}
    await ingestion_graph.ainvoke(given, config(recorder), context=context)
    assert recorder.tree() == [("k_acquire", "tool", "web_search")]


async def test_the_delegated_ingestion_stands_below_its_node(
    heard: SearchContext, settings: Settings
) -> None:
    """The inner graph's run is a child of the node that started it."""
    recorder = RunRecorder()
    context = with_(heard, trigger=None, ingests=False)
    await graph.ainvoke({**INPUT, "auto_ingest": True}, config(recorder), context=context)
    inner = next(run for run in recorder.of("chain") if run.name == "universal_ingestion")
    assert recorder.node(inner) == "k_auto_ingest"


async def test_a_resumed_run_tells_each_call_once(heard: SearchContext) -> None:
    """Interrupted before the search, the plan is not told again."""
    compiled = build_graph(checkpointer=InMemorySaver(), interrupt_before=["k_parallel_web_search"])
    recorder = RunRecorder()
    thread = {"configurable": {"thread_id": "1"}, **config(recorder)}
    await compiled.ainvoke(INPUT, thread, context=heard)
    assert [kind for _, kind, _ in recorder.tree()] == ["chat"]
    await compiled.ainvoke(None, thread, context=heard)
    assert recorder.tree() == TREE
