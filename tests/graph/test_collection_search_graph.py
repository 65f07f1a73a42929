"""The collection search graph from end to end on shipped doubles."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest
from support.scripted_world import INPUT, QUESTION, fair_pages, good_pages, poor_pages

from collection_search import CollectionSearchGraph, SearchContext, build_graph, graph
from collection_search.contracts.collection import Embedded
from collection_search.contracts.search import ProviderSearchResult
from collection_search.errors import (
    ConfigError,
    IngestError,
    InputError,
    ModelError,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.testing import (
    RecordingSink,
    RecordingTrigger,
    ScriptedAdapter,
    ScriptedChatModel,
    ScriptedEmbedder,
    ScriptedQueryModel,
)

NODES = ["k_generate_strategy", "k_parallel_web_search", "k_embedding_rank"]
PLAN = ["asyncio cancel task", "asyncio timeout", "asyncio wait_for"]


def run(context: SearchContext, **changes: Any) -> Any:
    return CollectionSearchGraph(context).run({**INPUT, **changes})[1]


def test_run_returns_search_results(context: SearchContext) -> None:
    """The standard flow ends with ranked results, their scores and nothing ingested."""
    state, result = CollectionSearchGraph(context).run(INPUT)
    assert result["outcome"] == "search_completed"
    assert result["question"] == QUESTION
    assert len(result["results"]) == 6
    first = result["results"][0]
    assert {
        "url",
        "title",
        "snippet",
        "source",
        "embedding_rank_score",
        "embedding_similarity",
        "heuristic_score",
        "explanation",
    } <= first.keys()
    scores = [row["embedding_rank_score"] for row in result["results"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= min(scores) <= max(scores) <= 100
    assert result["ingestion"] is None
    assert state["candidates"]


def test_search_failure_aborts_flow(context: SearchContext) -> None:
    """When every query fails, the run ends with the causes and never ranks."""
    failing = ScriptedAdapter(SearchProviderUnavailable("down", retryable=False))
    result = run(context.model_copy(update={"provider": failing}))
    assert result["outcome"] == "search_failed"
    assert [error["rationale"] for error in result["search"]["errors"]] == [
        "provider_unavailable"
    ] * 3
    assert result["search"]["errors"][0]["message"] == "down"
    assert result["results"] == []
    assert "k_embedding_rank" not in result["telemetry"]["nodes"]


def test_search_without_results_returns_no_candidates(context: SearchContext) -> None:
    """An empty answer is its own outcome, not a failure."""
    result = run(context.model_copy(update={"provider": ScriptedAdapter([])}))
    assert result["outcome"] == "no_candidates"
    assert result["search"]["errors"] == []
    assert result["results"] == []


def test_auto_ingest_disabled_by_default(context: SearchContext, trigger: RecordingTrigger) -> None:
    """Nothing is ingested unless it was asked for."""
    assert run(context)["outcome"] == "search_completed"
    assert trigger.requests == []


def test_auto_ingest_triggers_with_high_scores(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """The best results go to the ingestion with their provenance, as many as asked for."""
    result = run(context, auto_ingest=True, auto_ingest_top_k=4)
    assert result["outcome"] == "auto_ingest_triggered"
    assert result["ingestion"]["count"] == 4
    assert result["ingestion"]["ticket"] == "ticket-1"
    assert result["ingestion"]["threshold"] == 60
    [request] = trigger.requests
    assert request.scope.tenant_id == "local"
    assert request.scope.collection == "software_docs"
    provenance = request.items[0].provenance
    assert provenance["question"] == QUESTION
    assert provenance["rank"] == 1
    assert provenance["embedding_rank_score"] >= 60


def test_auto_ingest_fallback_to_lower_threshold(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """With fewer than three results at the threshold, 50 is tried."""
    fair = context.model_copy(update={"provider": ScriptedAdapter([*good_pages(2), *fair_pages()])})
    scores = [row["embedding_rank_score"] for row in run(fair)["results"]]
    assert sum(score >= 90 for score in scores) == 2
    assert sum(50 <= score < 90 for score in scores) == 3
    result = run(fair, auto_ingest=True, auto_ingest_min_score=90)
    assert result["outcome"] == "auto_ingest_triggered"
    assert result["ingestion"]["threshold"] == 50
    assert result["ingestion"]["count"] == 5


def test_auto_ingest_fails_with_insufficient_quality(
    context: SearchContext, trigger: RecordingTrigger
) -> None:
    """Nothing at 50 or above: the outcome says so, the results stay, nothing is ingested."""
    off_topic = context.model_copy(update={"provider": ScriptedAdapter(poor_pages())})
    result = run(off_topic, auto_ingest=True)
    assert result["outcome"] == "auto_ingest_failed_quality_threshold"
    assert result["ingestion"]["error"]["kind"] == "QualityThresholdError"
    assert result["ingestion"]["count"] == 0
    assert len(result["results"]) == 6
    assert trigger.requests == []


def test_trigger_failure_is_an_outcome(context: SearchContext) -> None:
    """A crawler or ledger that refuses ends the run with its cause."""
    broken = context.model_copy(update={"trigger": RecordingTrigger(error=IngestError("full"))})
    result = run(broken, auto_ingest=True)
    assert result["outcome"] == "auto_ingest_trigger_failed"
    assert result["ingestion"]["error"] == {"kind": "IngestError", "message": "full"}


def test_partial_failure_keeps_what_was_found(context: SearchContext) -> None:
    """One failed query is reported and flagged while the others' results stand."""
    adapter = ScriptedAdapter(good_pages()).on(
        PLAN[0], SearchProviderTimeout("slow", retryable=False)
    )
    result = run(
        context.model_copy(update={"provider": adapter, "model": ScriptedQueryModel(PLAN)})
    )
    assert result["outcome"] == "search_completed"
    assert result["flags"] == ["partial_search"]
    assert [error["query"] for error in result["search"]["errors"]] == [PLAN[0]]
    assert [query["decision"] for query in result["search"]["queries"]] == ["error", "ok", "ok"]


def test_model_plans_the_queries(context: SearchContext) -> None:
    """A model's queries are searched, its tokens and cost are in the telemetry."""
    model = ScriptedQueryModel(PLAN, model_name="gpt-4o-mini", usage=(1000, 1000))
    result = run(context.model_copy(update={"model": model}))
    assert result["strategy"] == {
        "queries": PLAN,
        "fallback": False,
        "model": "gpt-4o-mini",
        "error": None,
    }
    facts = result["telemetry"]["nodes"]["k_generate_strategy"]
    assert (facts["input_tokens"], facts["output_tokens"]) == (1000, 1000)
    assert facts["cost_usd"] == pytest.approx(0.00075)
    assert result["telemetry"]["cost_usd"] == facts["cost_usd"]
    assert result["telemetry"]["cost_complete"] is False  # the scripted provider has no price


def test_any_langchain_chat_model_plans_the_queries(context: SearchContext) -> None:
    """A LangChain chat model object serves as it is."""
    model = ScriptedChatModel(replies=[{"queries": PLAN}])
    result = run(context.model_copy(update={"model": model}))
    assert result["strategy"]["queries"] == PLAN
    assert result["strategy"]["fallback"] is False


def test_model_failure_falls_back(context: SearchContext) -> None:
    """A failing model is flagged and explained; the run goes on with deterministic queries."""
    model = ScriptedQueryModel(ModelError("no answer"))
    result = run(context.model_copy(update={"model": model}))
    assert result["outcome"] == "search_completed"
    assert result["flags"] == ["strategy_fallback"]
    assert result["strategy"]["fallback"] is True
    assert result["strategy"]["error"] == "no answer"
    assert len(result["strategy"]["queries"]) == 3


def test_manual_workflow_example(context: SearchContext) -> None:
    """The documented state without auto-ingest: results with scores, for a person to choose."""
    graph_state = {
        "question": "TypeScript documentation",
        "collection_scope": "software_docs",
        "purpose": "collection_search",
        "auto_ingest": False,
    }
    _, result = CollectionSearchGraph(context).run(graph_state)
    assert result["outcome"] == "search_completed"
    assert all("embedding_rank_score" in row for row in result["results"])


def test_automatic_workflow_example(context: SearchContext, trigger: RecordingTrigger) -> None:
    """The documented state with auto-ingest hands over ten pages, the best ones."""
    pages = ScriptedAdapter(good_pages(14))
    graph_state = {
        **INPUT,
        "auto_ingest": True,
        "auto_ingest_top_k": 10,
        "auto_ingest_min_score": 60.0,
    }
    _, result = CollectionSearchGraph(context.model_copy(update={"provider": pages})).run(
        graph_state
    )
    assert result["outcome"] == "auto_ingest_triggered"
    assert result["ingestion"]["count"] == 10
    [request] = trigger.requests
    assert [item.url for item in request.items] == [row["url"] for row in result["results"][:10]]


def test_a_missing_field_is_named(context: SearchContext) -> None:
    """Facade and bare graph name it."""
    without = {key: value for key, value in INPUT.items() if key != "collection_scope"}
    with pytest.raises(InputError, match="collection_scope: it is missing"):
        CollectionSearchGraph(context).run(without)
    with pytest.raises(InputError, match="collection_scope: it is missing"):
        graph.invoke(without, context=context)


async def test_queries_run_in_parallel(context: SearchContext) -> None:
    """Every query waits until all three have arrived: one after the other they never would."""
    all_there = asyncio.Event()

    class Meeting(ScriptedAdapter):
        async def asearch(self, query: str, *, max_results: int) -> Any:
            answer = self.search(query, max_results=max_results)
            if len(self.requests) == 3:
                all_there.set()
            await asyncio.wait_for(all_there.wait(), timeout=60)
            return answer

    meeting = context.model_copy(update={"provider": Meeting(good_pages())})
    _, result = await CollectionSearchGraph(meeting).arun(INPUT)
    assert [query["decision"] for query in result["search"]["queries"]] == ["ok"] * 3


@pytest.mark.parametrize(("quality_mode", "asked"), [("standard", 3 * [28]), ("premium", 5 * [40])])
def test_each_query_asks_for_more_than_it_returns(
    context: SearchContext, quality_mode: str, asked: list[int]
) -> None:
    """Twice the candidates over all queries, at least ten each, oversampled 2x or 4x (premium)."""
    adapter = ScriptedAdapter(good_pages())
    run(context.model_copy(update={"provider": adapter}), quality_mode=quality_mode)
    assert [request.max_results for request in adapter.requests] == asked


def test_premium_mode_runs_five_queries(context: SearchContext) -> None:
    """Quality mode premium asks for five queries."""
    assert len(run(context, quality_mode="premium")["strategy"]["queries"]) == 5


class AxisEmbedder:
    """Puts the question and what mentions soup on one axis, everything else on the other."""

    fingerprint = "axis:2"

    def __init__(self) -> None:
        self.calls: list[int] = []

    async def embed(self, texts: Any) -> Any:
        self.calls.append(len(texts))
        places = [[1, 0] if text == QUESTION or "soup" in text else [0, 1] for text in texts]
        return Embedded(np.array(places, np.float32))


def test_embedding_failure_degrades(
    context: SearchContext, caplog: pytest.LogCaptureFixture
) -> None:
    """Without an answer of the embedder similarities count 0, flagged and logged."""
    down = ScriptedEmbedder(fingerprint="failing:2", error=ModelError("embedding endpoint is down"))
    result = run(context.model_copy(update={"embeddings": down}))
    assert result["outcome"] == "search_completed"
    assert "embedding_degraded" in result["flags"]
    assert {row["embedding_similarity"] for row in result["results"]} == {0.0}
    assert "no similarity by failing:2" in caplog.text


def test_embedder_orders_with_one_request(context: SearchContext) -> None:
    """All distinct pages and the question are embedded in one request, and similarity counts."""
    embedder = AxisEmbedder()
    pages = ScriptedAdapter([*good_pages(2), *poor_pages(2)])
    literal = {"provider": pages, "embeddings": embedder, "ranking_profile": "literal"}
    result = run(context.model_copy(update=literal))
    assert embedder.calls == [5]
    assert "soup" in result["results"][0]["url"]
    assert result["results"][0]["embedding_similarity"] == pytest.approx(1.0)


def test_duplicates_of_several_queries_are_merged(context: SearchContext) -> None:
    """A page that several queries find is one candidate."""
    result = run(context)
    assert result["search"]["result_count"] == 6
    assert len({row["url"] for row in result["results"]}) == 6


def test_results_of_a_host_that_read_the_same_are_one_candidate(context: SearchContext) -> None:
    """The best of them; other hosts and other words are others, and a few words tell nothing."""
    text = "How to cancel an asyncio task after a timeout: use asyncio.timeout."
    given = [
        ("https://docs.org/cancel?a=1", "Cancel a task", text),
        ("https://docs.org/cancel?a=2", "Cancel a  Task", text.upper()),
        ("https://www.docs.org/?p=cancel", "Cancel a task", text),
        ("https://other.org/cancel", "Cancel a task", text),
        ("https://docs.org/end", "End a task", text),
        ("https://docs.org/a", "Documentation", "asyncio"),
        ("https://docs.org/b", "Documentation", "asyncio"),
    ]
    pages = [ProviderSearchResult(url, title, snippet, "docs") for url, title, snippet in given]
    result = run(context.model_copy(update={"provider": ScriptedAdapter(pages)}))
    urls = {row["url"] for row in result["results"]}
    assert urls == {pages[n].url for n in (0, 3, 4, 5, 6)}
    facts = result["telemetry"]["nodes"]["k_parallel_web_search"]
    assert (facts["duplicate_count"], facts["result_count"]) == (2, 5)
    assert result["search"]["result_count"] == 5


def test_max_candidates_cuts_the_ranking(context: SearchContext) -> None:
    """At most `max_candidates` results are returned."""
    many = context.model_copy(update={"provider": ScriptedAdapter(good_pages(30))})
    assert len(run(many, max_candidates=5)["results"]) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": ""},
        {"question": "   "},
        {"question": "site:"},
        {"max_candidates": 4},
        {"max_candidates": 41},
        {"auto_ingest_top_k": 0},
        {"auto_ingest_top_k": 21},
        {"auto_ingest_min_score": -1},
        {"auto_ingest_min_score": 100.5},
        {"quality_mode": "best"},
        {"collection_scope": ""},
        {"collection_scope": "a\nb"},
        {"purpose": " "},
    ],
    ids=str,
)
def test_bad_input_is_refused_everywhere(context: SearchContext, wrong: dict[str, Any]) -> None:
    """The facade names the field; the bare graph refuses it too, before anything is searched."""
    [field] = wrong
    with pytest.raises(InputError, match=field):
        run(context, **wrong)
    with pytest.raises(InputError, match=field):
        graph.invoke({**INPUT, **wrong}, context=context)
    assert context.provider.requests == []


def test_unknown_field_is_refused_by_the_facade(context: SearchContext) -> None:
    """A misspelt option is an error, not a silent default."""
    with pytest.raises(InputError, match="auto_injest"):
        run(context, auto_injest=True)


def test_state_and_output_are_plain_json(context: SearchContext) -> None:
    """What a checkpoint stores survives a round trip through JSON and holds no page text."""
    pages = good_pages()
    for page in pages:
        page.content = "The whole text of the page. " * 50
    texts = context.model_copy(update={"provider": ScriptedAdapter(pages)})
    state, result = CollectionSearchGraph(texts).run({**INPUT, "auto_ingest": True})
    assert json.loads(json.dumps(state)) == state
    assert result["outcome"] == "auto_ingest_triggered"
    assert "staging_failed" not in result["flags"]
    assert "whole text" not in json.dumps(state)
    assert all(candidate["content_ref"] for candidate in state["candidates"])


def test_invoke_ainvoke_and_stream_agree(context: SearchContext) -> None:
    """Every way to run the graph gives the same results."""
    invoked = graph.invoke(INPUT, context=context)
    awaited = asyncio.run(graph.ainvoke(INPUT, context=context))
    *_, streamed = graph.stream(INPUT, context=context, stream_mode="values")
    assert invoked["results"] == awaited["results"] == streamed["results"]
    assert invoked["outcome"] == "search_completed"


async def test_the_synchronous_face_works_inside_a_running_loop(context: SearchContext) -> None:
    """A notebook or server may call `run` although a loop is running."""
    assert run(context)["outcome"] == "search_completed"


def test_custom_stream_tells_the_progress(context: SearchContext) -> None:
    """Each node and each query announces itself, with the same facts as the output."""
    events, values = [], {}
    for mode, chunk in graph.stream(INPUT, context=context, stream_mode=["custom", "values"]):
        if mode == "custom":
            events.append(chunk)
        else:
            values = chunk
    assert [e["node"] for e in events if e["type"] == "node_started"] == NODES
    assert sum(e["type"] == "query_finished" for e in events) == 3
    finished = {e["node"]: e["telemetry"] for e in events if e["type"] == "node_finished"}
    assert finished == values["telemetry"]["nodes"]


def test_every_node_emits_one_observation(context: SearchContext, sink: RecordingSink) -> None:
    """One observation per node and query, the worker's below its query."""
    result = run(context, auto_ingest=True)
    names = [span.name for span in sink.spans]
    for node in [*NODES, "k_auto_ingest"]:
        assert names.count(node) == 1
    assert names.count("web_search_query") == names.count("tool.web_search") == 3
    parents = {span.name: span.parent.name for span in sink.spans if span.parent is not None}
    assert parents == {
        "web_search_query": "k_parallel_web_search",
        "tool.web_search": "web_search_query",
    }
    rank = next(span for span in sink.spans if span.name == "k_embedding_rank")
    facts = result["telemetry"]["nodes"]["k_embedding_rank"]
    assert {
        "node_name",
        "latency_ms",
        "input_count",
        "ranked_count",
        "top_k_count",
        "avg_embedding_score",
        "avg_heuristic_score",
        "cost_usd",
    } <= rank.fields.keys()
    told = {key: value for key, value in facts.items() if value is not None}
    assert told.pop("embedders") == []
    assert rank.fields == told


class HostContext:
    """A host's own context object that carries ours."""

    def __init__(self, inner: SearchContext) -> None:
        self.user = "somebody"
        self.collection_search = inner


def test_graph_is_a_node_of_a_parent_with_a_foreign_context(context: SearchContext) -> None:
    """As a subgraph it finds its own context in the host's."""
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class Parent(TypedDict, total=False):
        question: str
        collection_scope: str
        purpose: str
        outcome: str
        results: list[Any]

    builder = StateGraph(Parent, context_schema=HostContext)
    builder.add_node("research", build_graph())
    builder.add_edge(START, "research")
    builder.add_edge("research", END)
    parent = builder.compile()
    host = HostContext(context)
    assert parent.invoke(INPUT, context=host)["outcome"] == "search_completed"
    answer = asyncio.run(parent.ainvoke(INPUT, context=host))
    assert len(answer["results"]) == 6


def test_a_thread_starts_afresh(context: SearchContext) -> None:
    """A second run on a checkpointed thread keeps nothing of the first."""
    from langgraph.checkpoint.memory import InMemorySaver

    kept = build_graph(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "one"}}
    first = kept.invoke({**INPUT, "auto_ingest": True}, config, context=context)
    empty = context.model_copy(update={"provider": ScriptedAdapter([])})
    second = kept.invoke(INPUT, config, context=empty)
    assert first["ingestion"]["count"] == 6
    assert second["outcome"] == "no_candidates"
    assert second["results"] == []
    assert second["ingestion"] is None
    assert "k_auto_ingest" not in second["telemetry"]["nodes"]
    assert second["telemetry"]["trace_id"] != first["telemetry"]["trace_id"]


def test_ids_come_from_the_context(context: SearchContext, sink: RecordingSink) -> None:
    """Tenant, case, trace and run of the context reach the tool call."""
    ids = {
        "tenant_id": "acme",
        "case_id": "crm-7421",
        "trace_id": "trace-1",
        "run_id": "run-1",
        "invocation_id": "call-1",
        "workflow_id": "nightly",
    }
    result = run(context.model_copy(update=ids))
    tool = next(span for span in sink.spans if span.name == "tool.web_search")
    assert {key: tool.fields[key] for key in ids if key != "invocation_id"} == {
        key: value for key, value in ids.items() if key != "invocation_id"
    }
    assert result["telemetry"]["trace_id"] == "trace-1"


def test_question_is_masked_outside_the_tool_span(
    context: SearchContext, sink: RecordingSink
) -> None:
    """An e-mail address in a question is in the tool's span and in no other observation."""
    run(context, question="Who is anna.schmidt@example.org at the data office?")
    showing = {span.name for span in sink.spans if "anna.schmidt" in str(span.fields)}
    assert showing == {"tool.web_search"}


def test_failing_node_is_announced(context: SearchContext) -> None:
    """A configuration error names what to do and leaves an event behind."""
    events: list[Any] = []
    wrong = context.model_copy(update={"provider": "no-such-provider"})
    with pytest.raises(ConfigError, match="offline"):
        events.extend(graph.stream(INPUT, context=wrong, stream_mode="custom"))
    assert events[-1]["type"] == "node_failed"
    assert "no-such-provider" in events[-1]["error"]
