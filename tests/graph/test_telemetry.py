"""What each node tells of itself: the same facts in span, output and custom stream."""

from __future__ import annotations

from typing import Any

import pytest
from support.scripted_world import INPUT, good_pages

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.contracts.collection import Embedded
from collection_search.errors import ModelError, SearchProviderUnavailable
from collection_search.testing import (
    RecordingSink,
    ScriptedAdapter,
    ScriptedEmbedder,
    ScriptedQueryModel,
)

PLAN = ["asyncio cancel task", "asyncio timeout", "asyncio wait_for"]


def run(context: SearchContext, **ports: Any) -> Any:
    graph = CollectionSearchGraph(context.model_copy(update=ports))
    return graph.run({**INPUT, "auto_ingest": True})[1]


def facts_of(result: Any, node: str) -> dict[str, Any]:
    facts: dict[str, Any] = result["telemetry"]["nodes"][node]
    return facts


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (
            "k_generate_strategy",
            {"query_count": 3, "fallback": False, "input_tokens": 1000, "output_tokens": 100,
             "cost_usd": 0.00021},
        ),
        (
            "k_parallel_web_search",
            {"query_count": 3, "failed_query_count": 1, "result_count": 6, "raw_result_count": 12,
             "request_count": 3, "cost_usd": 0.0},
        ),
        (
            "k_embedding_rank",
            {"input_count": 6, "ranked_count": 6, "top_k_count": 5, "cost_usd": 0.0},
        ),
        ("k_auto_ingest", {"count": 5, "threshold": 60.0, "ticket": "ticket-1", "cost_usd": 0.0}),
    ],
)  # fmt: skip
def test_telemetry_fields(
    context: SearchContext, sink: RecordingSink, node: str, expected: dict[str, Any]
) -> None:
    """Name, latency and each node's own counts, tokens and cost, in the span as in the output."""
    adapter = ScriptedAdapter(good_pages(), provider_name="offline")
    adapter.on(PLAN[0], SearchProviderUnavailable("down", retryable=False))
    model = ScriptedQueryModel(PLAN, model_name="gpt-4o-mini", usage=(1000, 100))
    ours = context.model_copy(update={"provider": adapter, "model": model})
    _, result = CollectionSearchGraph(ours).run({**INPUT, "auto_ingest": True, "max_candidates": 5})
    facts = facts_of(result, node)
    assert facts["node_name"] == node
    assert 0 <= facts["latency_ms"] < 10_000
    assert expected.items() <= facts.items()
    [span] = sink.named(node)
    assert facts.items() >= span.fields.items() >= expected.items()
    assert result["telemetry"]["cost_usd"] == 0.00021
    assert result["telemetry"]["cost_complete"] is True


def test_tokens_are_summed_over_all_nodes(context: SearchContext) -> None:
    """What the planning model was given and wrote, and the texts that were embedded."""
    model = ScriptedQueryModel(PLAN, model_name="gpt-4o-mini", usage=(1000, 100))
    result = run(context, model=model, embeddings=ScriptedEmbedder())
    embedded = facts_of(result, "k_embedding_rank")["input_tokens"]
    assert embedded > 0
    telemetry = result["telemetry"]
    assert (telemetry["input_tokens"], telemetry["output_tokens"]) == (1000 + embedded, 100)


def test_without_a_model_no_tokens_are_used(context: SearchContext) -> None:
    """That is known, and so it is 0."""
    telemetry = run(context)["telemetry"]
    assert (telemetry["input_tokens"], telemetry["output_tokens"]) == (0, 0)


@pytest.mark.parametrize("failing", [False, True])
def test_tokens_that_nobody_reported_leave_the_sum_unknown(
    context: SearchContext, failing: bool
) -> None:
    """Of an answer without them, and of a call that failed; a call that was not billed has none."""
    model = ScriptedQueryModel(ModelError("down") if failing else PLAN, usage=None)
    telemetry = run(context, model=model)["telemetry"]
    assert (telemetry["input_tokens"], telemetry["output_tokens"]) == (None, None)
    refused = ScriptedQueryModel(ModelError("wrong key", may_be_billed=False))
    telemetry = run(context, model=refused)["telemetry"]
    assert (telemetry["input_tokens"], telemetry["output_tokens"]) == (0, 0)


def test_an_embedder_that_counts_no_tokens_leaves_those_of_output_known(
    context: SearchContext,
) -> None:
    """It writes none."""

    class Uncounted(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            return Embedded((await super().embed(texts)).vectors)

    model = ScriptedQueryModel(PLAN, usage=(1000, 100))
    telemetry = run(context, model=model, embeddings=Uncounted())["telemetry"]
    assert (telemetry["input_tokens"], telemetry["output_tokens"]) == (None, 100)


def test_averages_are_on_a_scale_of_100(context: SearchContext) -> None:
    """Average cosine times 100 and average heuristic score of the results, to one decimal."""
    result = run(context, embeddings=ScriptedEmbedder())
    facts, rows = facts_of(result, "k_embedding_rank"), result["results"]
    similarity = 100 * sum(row["embedding_similarity"] for row in rows) / len(rows)
    heuristic = sum(row["heuristic_score"] for row in rows) / len(rows)
    assert facts["avg_embedding_score"] == pytest.approx(similarity, abs=0.06)
    assert facts["avg_heuristic_score"] == pytest.approx(heuristic, abs=0.06)
    assert 1 < facts["avg_embedding_score"] <= 100


def test_token_usage_is_in_the_generations_observation(
    context: SearchContext, sink: RecordingSink
) -> None:
    """The planning call's model, tokens and cost, where Langfuse looks for them."""
    run(context, model=ScriptedQueryModel(PLAN, model_name="gpt-4o-mini", usage=(1000, 100)))
    [span] = sink.named("k_generate_strategy")
    assert span.kind == "generation"
    assert span.tokens == {
        "model": "gpt-4o-mini",
        "input_tokens": 1000,
        "output_tokens": 100,
        "cost_usd": 0.00021,
    }


def test_search_report_says_what_was_searched(context: SearchContext) -> None:
    """Provider, reason, and for every query its end, results, latency and quota."""
    result = run(context, model=ScriptedQueryModel(PLAN))
    search = result["search"]
    assert (search["provider"], search["provider_reason"]) == ("scripted", "given by the caller")
    assert [query["query"] for query in search["queries"]] == PLAN
    for query in search["queries"]:
        assert (query["decision"], query["rationale"]) == ("ok", "search_completed")
        assert (query["result_count"], query["quota_remaining"]) == (6, None)
        assert query["latency_ms"] >= 0


def test_a_failed_search_marks_its_observations(
    context: SearchContext, sink: RecordingSink
) -> None:
    """Node, query and tool call are failed observations of one trace."""
    failing = ScriptedAdapter(SearchProviderUnavailable("down", retryable=False))
    result = run(context, provider=failing)
    for name in ("k_parallel_web_search", "web_search_query", "tool.web_search"):
        for span in sink.named(name):
            assert span.failure is not None
            assert span.failure[0] == "SearchProviderUnavailable"
    traces = {span.trace.trace_id for span in sink.spans if span.trace is not None}
    assert traces == {result["telemetry"]["trace_id"]}
