"""A whole run as it arrives at Langfuse: decoded from the OTLP request at a loopback sink."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.scripted_world import INPUT, QUESTION, good_pages

from collection_search import CollectionSearchGraph, SearchContext, Settings
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import OtlpServer, RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    from pathlib import Path

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
        run_blocking(context.sink()).flush(5)
        spans = server.spans
    assert result["outcome"] == "auto_ingest_triggered"
    assert len({span.trace_id for span in spans}) == 1
    by_id = {span.span_id: span for span in spans}
    assert {span.name for span in spans if span.parent_id not in by_id} == NODES
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
        known = {name: fact for name, fact in facts.items() if fact is not None}
        assert known.items() <= span.metadata.items()


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
