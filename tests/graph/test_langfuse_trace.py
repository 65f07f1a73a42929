"""A whole run as it arrives at Langfuse: decoded from the OTLP request at a loopback sink."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.paid_world import QUERIES, SEARCH_USD, PaidWorld
from support.scripted_world import INPUT, QUESTION, good_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.contracts.prices import total_cost
from collection_search.errors import ConfigError
from collection_search.graphs.collection_search import build_graph
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import (
    OtlpServer,
    ProviderServer,
    RecordingTrigger,
    ScriptedAdapter,
    ScriptedQueryModel,
)
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.testing.otlp import ReceivedSpan

NODES = {"k_generate_strategy", "k_parallel_web_search", "k_embedding_rank", "k_auto_ingest"}


@pytest.mark.slow
def test_one_run_is_one_trace(tmp_path: Path) -> None:
    """Nodes, queries and tool calls share the trace; the worker sits below its query."""
    with OtlpServer() as server:
        settings = Settings(
            home=tmp_path,
            langfuse_public_key="pk-lf-graph",
            langfuse_secret_key="sk-lf-graph",
            langfuse_base_url=server.base_url,
        )
        context = SearchContext(
            settings=settings,
            provider=ScriptedAdapter(good_pages()),
            trigger=RecordingTrigger(),
            tenant_id="acme",
            case_id="crm-7421",
        )
        _, result = CollectionSearchGraph(context).run({**INPUT, "auto_ingest": True})
        run_blocking(context.sink()).flush(60)
        spans = server.spans
    assert result["outcome"] == "auto_ingest_triggered"
    assert len({span.trace_id for span in spans}) == 1
    by_id = {span.span_id: span for span in spans}
    (root,) = [span for span in spans if span.parent_id is None]
    assert root.name == "collection_search"
    assert root.resource["service.name"] == "collection-search"
    assert root.attributes["langfuse.observation.input"] == QUESTION
    output = json.loads(root.attributes["langfuse.observation.output"])
    assert output == {"outcome": "auto_ingest_triggered", "result_count": 6}
    assert {span.name for span in spans if span.parent_id == root.span_id} == NODES
    assert all(span.parent_id in by_id for span in spans if span is not root)
    assert all(root.started_ns <= span.started_ns for span in spans)
    assert all(root.ended_ns >= span.ended_ns for span in spans)
    tools = [span for span in spans if span.name == "tool.web_search"]
    assert len(tools) == 3
    for tool in tools:
        query = by_id[tool.parent_id]
        assert query.name == "web_search_query"
        assert by_id[query.parent_id].name == "k_parallel_web_search"
        assert tool.metadata["tenant_id"] == "acme"
        assert tool.metadata["http.status"] == 200
    rank = next(span for span in spans if span.name == "k_embedding_rank").metadata
    assert rank["node_name"] == "k_embedding_rank"
    assert rank["input_count"] == 6
    assert {"latency_ms", "avg_embedding_score", "avg_heuristic_score", "cost_usd"} <= rank.keys()
    for node, facts in result["telemetry"]["nodes"].items():
        [span] = [span for span in spans if span.name == node]
        known = {
            name: fact
            for name, fact in facts.items()
            if fact is not None and not isinstance(fact, list)
        }
        assert known.items() <= span.metadata.items()


def traced(home: Path, server: OtlpServer, **changes: Any) -> dict[str, Any]:
    return {
        "home": home,
        "langfuse_public_key": f"pk-lf-{uuid.uuid4()}",
        "langfuse_secret_key": "sk-lf-graph",
        "langfuse_base_url": server.base_url,
        **changes,
    }


def spans_of(context: SearchContext, server: OtlpServer, given: dict[str, Any]) -> Any:
    """Return the graph's output and the spans of its run."""
    _, result = CollectionSearchGraph(context).run(given)
    run_blocking(context.sink()).flush(60)
    return result, server.spans


def cost_of(spans: list[ReceivedSpan]) -> float:
    return total_cost(span.cost_usd or 0.0 for span in spans)


@pytest.mark.slow
def test_the_spans_cost_what_the_run_costs(tmp_path: Path) -> None:
    """Plan, searches and embedding, to the last digit; asked again from the cache, nothing."""
    with OtlpServer() as server, PaidWorld(tmp_path) as world:
        context = world.context(traced(tmp_path, server))
        given = {"question": "How does asyncio work?", "collection_scope": "c", "purpose": "docs"}
        first, spans = spans_of(context, server, given)
        assert cost_of(spans) == first["telemetry"]["cost_usd"] > SEARCH_USD * len(QUERIES)
        priced = sorted(span.name for span in spans if span.cost_usd)
        assert priced == ["k_embedding_rank", "k_generate_strategy"] + ["tool.web_search"] * 4
        (root,) = [span for span in spans if span.parent_id is None]
        assert root.cost_usd is None
        again, all_spans = spans_of(context, server, given)
        assert cost_of(all_spans[len(spans) :]) == again["telemetry"]["cost_usd"] == 0.0
        roots = [span for span in all_spans if span.parent_id is None]
        assert len({span.span_id for span in roots}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("fails", ["plan_used_up", "server_error"])
def test_attempts_and_fallback_are_among_the_costs(tmp_path: Path, fails: str) -> None:
    """What failed may have been billed; each provider's call has its own cost."""
    with (
        OtlpServer() as server,
        ProviderServer("tavily") as tavily,
        ProviderServer("brave") as brave,
    ):
        tavily.fail(fails)
        both = {"tavily": tavily, "brave": brave}
        access = {name: {"api_key": KEY, "base_url": one.base_url} for name, one in both.items()}
        settings = traced(tmp_path, server, providers=access, provider="tavily", use_fallback=True)
        context = SearchContext(settings=Settings(**settings))
        given = {"question": "asyncio", "collection_scope": "c", "purpose": "p"}
        result, spans = spans_of(context, server, given)
    assert result["search"]["provider"] == "brave"
    assert cost_of(spans) == result["telemetry"]["cost_usd"] > 0
    by_id = {span.span_id: span for span in spans}
    tools = [span for span in spans if span.name == "tool.web_search"]
    assert {span.metadata["provider"] for span in tools} == {"tavily", "brave"}
    assert {by_id[span.parent_id].name for span in tools if span.parent_id} == {"web_search_query"}


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["full", "masked", "hash", "none"])
def test_only_the_tools_query_shows_personal_data(tmp_path: Path, capture: str) -> None:
    """In full by default, without secrets; the question is masked wherever else it stands."""
    question = "mail jane@example.com, card 4111 1111 1111 1111, api_key=hunter2hunter2"
    with OtlpServer() as server:
        settings = traced(tmp_path, server, capture_tool_query=capture)
        context = SearchContext(
            settings=Settings(**settings),
            provider=ScriptedAdapter(good_pages()),
            model=ScriptedQueryModel([question, f"{question} 2", f"{question} 3"]),
        )
        _, spans = spans_of(context, server, {**INPUT, "question": question})
    tools = [span for span in spans if span.name == "tool.web_search"]
    queries = [span.metadata.get("query") for span in tools]
    if capture == "full":
        assert queries[0] == question.replace("hunter2hunter2", "[secret]")
    elif capture == "masked":
        assert queries[0] == "mail [email], card [card], api_key=[secret]"
    else:
        assert all(query is None or query.startswith("sha256:") for query in queries)
    rest = str([span for span in spans if span not in tools or capture != "full"])
    for word in ("jane@", "4111 1111", "hunter2"):
        assert word not in rest
    assert "hunter2" not in str(spans)


@pytest.mark.slow
def test_stages_that_run_apart_have_one_root(tmp_path: Path) -> None:
    """A run that is interrupted and resumed, as on a server, ends once and began once."""
    with OtlpServer() as server:
        context = SearchContext(
            settings=Settings(**traced(tmp_path, server)), provider=ScriptedAdapter(good_pages())
        )
        compiled = build_graph(
            checkpointer=InMemorySaver(), interrupt_before=["k_parallel_web_search"]
        )
        thread: Any = {"configurable": {"thread_id": "1"}}
        run_blocking(compiled.ainvoke(INPUT, thread, context=context))
        run_blocking(context.sink()).flush(60)
        assert [span.name for span in server.spans] == ["k_generate_strategy"]
        run_blocking(compiled.ainvoke(None, thread, context=context))
        run_blocking(context.sink()).flush(60)
        spans = server.spans
    (root,) = [span for span in spans if span.parent_id is None]
    assert {span.name for span in spans if span.parent_id == root.span_id} == NODES - {
        "k_auto_ingest"
    }
    assert len({span.trace_id for span in spans}) == 1


@pytest.mark.slow
def test_a_run_that_ends_early_and_one_that_fails_have_a_root(tmp_path: Path) -> None:
    """The outcome says how it ended; an exception is the run's error."""
    with OtlpServer() as server:
        settings = Settings(**traced(tmp_path, server))
        context = SearchContext(settings=settings, provider=ScriptedAdapter([]))
        _, spans = spans_of(context, server, INPUT)
        (root,) = [span for span in spans if span.parent_id is None]
        output = json.loads(root.attributes["langfuse.observation.output"])
        assert output == {"outcome": "no_candidates", "result_count": 0}
        wrong = SearchContext(settings=settings, provider="nobody-knows")
        with pytest.raises(ConfigError):
            CollectionSearchGraph(wrong).run(INPUT)
        run_blocking(context.sink()).flush(60)
        _, failed = [span for span in server.spans if span.parent_id is None]
    assert failed.name == "collection_search"
    assert failed.status == "ERROR"
    assert failed.status_message.startswith("ConfigError: ")


@pytest.mark.slow
def test_a_delegated_ingestion_is_a_part_of_the_run(tmp_path: Path) -> None:
    """Its own root stands below the stage that started it."""
    with OtlpServer() as server:
        context = SearchContext(
            settings=Settings(**traced(tmp_path, server)),
            provider=ScriptedAdapter(good_pages()),
            ingests=False,
        )
        _, spans = spans_of(context, server, {**INPUT, "auto_ingest": True})
    by_id = {span.span_id: span for span in spans}
    inner = next(span for span in spans if span.name == "universal_ingestion")
    assert by_id[inner.parent_id].name == "k_auto_ingest"
    acquire = next(span for span in spans if span.name == "k_acquire")
    assert acquire.parent_id == inner.span_id
    assert [span.name for span in spans if span.parent_id is None] == ["collection_search"]


@pytest.mark.slow
def test_without_keys_langfuse_is_never_imported(tmp_path: Path) -> None:
    """A whole offline run in a fresh interpreter loads neither Langfuse nor OpenAI."""
    code = f"""
import sys
from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter, rows
context = SearchContext(provider=ScriptedAdapter(rows(5)), settings=Settings(home={str(tmp_path)!r}))
outcome = CollectionSearchGraph(context).run({{
    "question": {QUESTION!r}, "collection_scope": "c", "purpose": "p"}})[1]["outcome"]
print(outcome, [m for m in ("langfuse", "openai", "langchain_openai", "trafilatura") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "search_completed []"
