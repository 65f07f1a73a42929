"""Who is told of the embedding of a question: the caller's handlers, and the tracing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from support.recorded_runs import RunRecorder

from collection_search import RetrieveTool, SearchContext, Settings, aretrieve, retrieve
from collection_search.contracts.price_list import LIST_PRICES
from collection_search.errors import ModelError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import (
    OpenAIServer,
    OtlpServer,
    RecordingSink,
    ScriptedEmbedder,
)
from collection_search.tools.langchain.vector_store import CollectionVectorStore
from collection_search.tools.langchain_retriever import CollectionRetriever

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODEL = "text-embedding-3-small"
TASKS = "To cancel an asyncio task after a timeout, use asyncio.timeout as a context manager."
QUESTION = "How do I cancel a task?"
ASKED = {"question": QUESTION, "collection": "docs"}
CHAIN, TOOL = ("chain", "host"), ("tool", "retrieve")
EMBEDDING = ("embedding", "embedding")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def context(tmp_path: Path, server: OpenAIServer, sink: RecordingSink) -> SearchContext:
    """A context with a collection `docs` of one page, filled by the model of the server."""
    settings = Settings(
        home=tmp_path,
        embeddings=f"openai:{MODEL}",
        openai_api_key="sk-of-the-test",
        openai_base_url=server.base_url,
    )
    context = SearchContext(settings=settings, spans=sink)
    CollectionVectorStore("docs", context=context).add_texts([TASKS])
    sink.spans.clear()
    return context


def tree(recorder: RunRecorder) -> list[tuple[tuple[str, str], ...]]:
    """Return the way from the root to each run, as kinds and names, in the order of the start."""

    def way(run_id: Any) -> tuple[tuple[str, str], ...]:
        run = recorder.runs[run_id]
        above = way(run.parent_id) if run.parent_id else ()
        return (*above, (run.kind, run.name))

    return [way(run_id) for run_id in recorder.runs]


async def invoke(runnable: Any, given: Any, *handlers: Any, is_async: bool, **more: Any) -> Any:
    config = {"callbacks": list(handlers)}
    if is_async:
        return await runnable.ainvoke(given, config, **more)
    return runnable.invoke(given, config, **more)


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_embedding_is_a_run_below_the_tool(
    context: SearchContext, *, is_async: bool
) -> None:
    """With model, number of texts and tokens."""
    recorder = RunRecorder()
    tool = RetrieveTool(search_context=context)
    assert TASKS in await invoke(tool, ASKED, recorder, is_async=is_async)
    assert tree(recorder) == [(TOOL,), (TOOL, EMBEDDING)]
    (run,) = recorder.of("embedding")
    assert (run.ended, run.error) == (1, None)
    assert run.given == {"model": MODEL, "count": 1}
    assert run.metadata["ls_model_name"] == MODEL
    tokens = run.output["usage_metadata"]["input_tokens"]
    assert run.output["count"] == 1
    assert tokens == run.output["usage_metadata"]["total_tokens"] > 0


@pytest.mark.parametrize("is_async", [False, True])
async def test_in_a_graph_it_is_below_the_nodes_tool(
    context: SearchContext, *, is_async: bool
) -> None:
    """As in an agent, whose tools a ToolNode calls."""
    graph = StateGraph(MessagesState, context_schema=SearchContext)
    graph.add_node("tools", ToolNode([RetrieveTool()]))
    graph.add_edge(START, "tools")
    host, recorder = graph.compile(name="host"), RunRecorder()
    calls = [{"name": "retrieve", "args": ASKED, "id": "call_1"}]
    given = {"messages": [AIMessage("", tool_calls=calls)]}
    await invoke(host, given, recorder, is_async=is_async, context=context)
    node = ("chain", "tools")
    assert tree(recorder) == [
        (CHAIN,), (CHAIN, node), (CHAIN, node, TOOL), (CHAIN, node, TOOL, EMBEDDING)
    ]  # fmt: skip


async def test_a_node_that_retrieves_by_itself_has_the_run(context: SearchContext) -> None:
    """A function of ours in a host's node needs no tool for it."""

    async def answer(_: MessagesState) -> dict[str, Any]:
        passages = await aretrieve(QUESTION, collection="docs", context=context)
        return {"messages": [AIMessage(passages[0].text)]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    host, recorder = graph.compile(name="host"), RunRecorder()
    await invoke(host, {"messages": []}, recorder, is_async=True)
    node = ("chain", "answer")
    assert tree(recorder) == [(CHAIN,), (CHAIN, node), (CHAIN, node, EMBEDDING)]


@pytest.mark.parametrize("is_async", [False, True])
async def test_below_a_retriever(context: SearchContext, *, is_async: bool) -> None:
    """The run of LangChain's retriever has the embedding as its child."""
    recorder = RunRecorder()
    retriever = CollectionRetriever(collection="docs", search_context=context)
    assert await invoke(retriever, QUESTION, recorder, is_async=is_async)
    above = ("retriever", "CollectionRetriever")
    assert tree(recorder) == [(above,), (above, EMBEDDING)]


async def test_a_failed_embedding_ends_its_run_with_the_error(context: SearchContext) -> None:
    """Without its secrets; the tool's run ends too."""
    broken = ScriptedEmbedder(
        error=ModelError("down: password=hunter2"), fingerprint=f"openai:{MODEL}"
    )
    tool = RetrieveTool(search_context=context.model_copy(update={"embeddings": broken}))
    recorder = RunRecorder()
    await invoke(tool, ASKED, recorder, is_async=True)
    assert tree(recorder) == [(TOOL,), (TOOL, EMBEDDING)]
    (run,) = recorder.of("embedding")
    assert "down" in str(run.error)
    assert "hunter2" not in str(run.error)
    assert all(run.ended == 1 for run in recorder.runs.values())


async def test_words_alone_are_no_embedding(tmp_path: Path, sink: RecordingSink) -> None:
    """A collection without vectors makes neither run nor observation."""
    context = SearchContext(settings=Settings(home=tmp_path), spans=sink)
    CollectionVectorStore("docs", context=context).add_texts([TASKS])
    recorder = RunRecorder()
    await invoke(RetrieveTool(search_context=context), ASKED, recorder, is_async=True)
    assert tree(recorder) == [(TOOL,)]
    assert sink.spans == []


def test_the_observation_has_tokens_and_cost(context: SearchContext, sink: RecordingSink) -> None:
    """Of a plain call, in a trace of the context's."""
    retrieve(**ASKED, context=context.model_copy(update={"trace_id": "t-1", "case_id": "crm-7"}))
    (span,) = sink.spans
    assert (span.name, span.kind, span.parent, span.ended) == ("embedding", "embedding", None, True)
    assert span.trace is not None
    assert (span.trace.trace_id, span.trace.session_id) == ("t-1", "crm-7")
    tokens = span.tokens["input_tokens"]
    assert isinstance(tokens, int)
    assert span.tokens == {
        "model": MODEL,
        "input_tokens": tokens,
        "output_tokens": None,
        "cost_usd": LIST_PRICES.embedding_cost(MODEL, tokens),
    }
    assert span.failure is None


@pytest.mark.parametrize(("may_be_billed", "cost_usd"), [(True, None), (False, 0.0)])
def test_a_failed_embedding_is_an_observation(
    context: SearchContext, sink: RecordingSink, *, may_be_billed: bool, cost_usd: float | None
) -> None:
    """What it cost is unknown, unless the model made no answer."""
    broken = ScriptedEmbedder(
        errors=[ModelError("down", may_be_billed=may_be_billed)], fingerprint=f"openai:{MODEL}"
    )
    with pytest.raises(ModelError):
        retrieve(**ASKED, context=context.model_copy(update={"embeddings": broken}))
    (span,) = sink.spans
    assert span.failure == ("ModelError", "down")
    assert span.tokens["cost_usd"] == cost_usd


def test_a_vector_stores_question_and_texts_are_observed(
    context: SearchContext, sink: RecordingSink
) -> None:
    """One observation for each request to the model; texts added at once have one trace."""
    words = CollectionVectorStore("notes", context=context)
    words.add_texts([f"Tea {n}." for n in range(65)])
    words.similarity_search("tea")
    spans = sink.named("embedding")
    assert [span.fields["input_count"] for span in spans] == [64, 1, 1]
    first, second, third = (span.trace and span.trace.trace_id for span in spans)
    assert first == second != third


@pytest.mark.slow
def test_langfuse_gets_an_embedding(context: SearchContext) -> None:
    """Model, tokens and cost are Langfuse's own attributes."""
    with OtlpServer() as langfuse:
        settings = context.using().model_copy(
            update={
                "langfuse_public_key": "pk-lf-retrieve",
                "langfuse_secret_key": "sk-lf-retrieve",
                "langfuse_base_url": langfuse.base_url,
            }
        )
        traced = SearchContext(settings=Settings(**dict(settings)))
        retrieve(**ASKED, context=traced)
        run_blocking(traced.sink()).flush(60)
        (span,) = langfuse.spans
    assert span.name == "embedding"
    assert span.attributes["langfuse.observation.type"] == "embedding"
    assert span.attributes["langfuse.observation.model.name"] == MODEL
    assert '"input"' in span.attributes["langfuse.observation.usage_details"]
    assert span.cost_usd is not None
    assert span.cost_usd > 0


@pytest.mark.slow
def test_without_listeners_nothing_is_imported(tmp_path: Path) -> None:
    """Neither LangChain nor Langfuse, for a question that a model embeds."""
    code = f"""
import sys
from pathlib import Path
import numpy as np
from collection_search import SearchContext, Settings, retrieve
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import Chunk, Document, Embedded, TenantScope

class Embedder:
    fingerprint = "mine:1"
    async def embed(self, texts):
        return Embedded(np.ones((len(texts), 1), np.float32), input_tokens=1)

store, scope = SQLiteStore(Path({str(tmp_path)!r}) / "c.db"), TenantScope("local", "docs")
store.collections.bind_embedder(scope, "mine:1")
page = Document("https://a.example/", "a.example/", "Tea", "0" * 64)
chunk = Chunk(0, "Green tea.", 0, 10, np.ones(1, np.float32))
store.collections.replace_document(scope, page, [chunk])
context = SearchContext(
    settings=Settings(home={str(tmp_path)!r}), store=store, embeddings=Embedder()
)
assert retrieve("tea", collection="docs", context=context)
print([name for name in ("langchain_core", "langfuse", "opentelemetry") if name in sys.modules])
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "[]", ended.stderr
