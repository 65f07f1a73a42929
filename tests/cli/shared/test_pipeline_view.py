"""The nodes of a run as lines."""

from __future__ import annotations

import pytest

from collection_search.cli.shared.pipeline_view import Pipeline, node_line
from collection_search.cli.shared.terminal import Screen


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (
            {"node_name": "k_generate_strategy", "latency_ms": 1200, "cost_usd": 0.003},
            "✅ Strategy Generation → ⏱️ 1.2s, $0.003",
        ),
        ({"node_name": "k_parallel_web_search", "latency_ms": 2500}, "✅ Web Search → ⏱️ 2.5s"),
        (
            {"node_name": "k_embedding_rank", "latency_ms": 1900, "cost_usd": 0.0004},
            "✅ Embedding Rank → ⏱️ 1.9s, $0.0004",
        ),
        ({"node_name": "k_auto_ingest", "latency_ms": 200}, "✅ Auto-Ingest → ⏱️ 0.2s"),
    ],
)
def test_the_specified_lines(facts: dict[str, object], line: str) -> None:
    """Each node of the specified pipeline view has its mark, its name, its time and its cost."""
    assert node_line(facts) == line


@pytest.mark.parametrize(
    ("cost_usd", "shown"),
    [
        (0.0, "1.0s"),
        (None, "1.0s, price unknown"),
        (5.224e-05, "1.0s, $0.000052"),
        (2.0, "1.0s, $2.00"),
        (1e-9, "1.0s, $0.000000001"),
    ],
)
def test_a_cost_is_never_guessed_or_rounded_to_nothing(cost_usd: float | None, shown: str) -> None:
    """Free is silent, unknown says so, and small amounts keep their digits."""
    facts = {"node_name": "x", "latency_ms": 1000, "cost_usd": cost_usd}
    assert node_line(facts) == f"✅ x → ⏱️ {shown}"


def test_a_node_in_trouble_is_marked() -> None:
    """A node that fell back or lost a query is told apart from one where all went well."""
    facts = {"node_name": "k_generate_strategy", "latency_ms": 1, "error": "no answer"}
    assert node_line(facts).startswith("⚠️ Strategy Generation")
    facts = {"node_name": "k_verify_coverage", "latency_ms": 9, "answered_count": 2, "gap_count": 1}
    assert node_line(facts) == "⚠️ Coverage → ⏱️ 9ms · 2 answered"


def test_without_a_terminal_only_finished_nodes_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Plain lines, no control characters, and nothing on stdout."""
    report = {"query": "asyncio", "result_count": 3}
    done = {"node_name": "k_auto_ingest", "latency_ms": 200, "count": 1}
    with Pipeline(Screen()) as pipeline:
        pipeline.show({"type": "node_started", "node": "k_parallel_web_search"})
        pipeline.show({"type": "ingestion_progress", "stored": 1, "count": 2})
        pipeline.show({"type": "query_verified", "query": "asyncio", "answered": True})
        pipeline.show({"type": "query_finished", "node": "x", "report": report})
        pipeline.show({"type": "node_finished", "node": "k_auto_ingest", "telemetry": done})
        pipeline.show({"type": "node_failed", "node": "k_auto_ingest", "error": "cause"})
    assert capsys.readouterr() == ("", "✅ Auto-Ingest → ⏱️ 0.2s · 1 accepted\n")
