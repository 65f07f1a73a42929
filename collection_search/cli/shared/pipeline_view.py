"""The graph's nodes as they run: a spinner while one works, one line when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from ...text.money import round_usd
from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .terminal import Screen

_NODES: Final = {
    "k_generate_strategy": ("Strategy Generation", "query_count", "query", "queries"),
    "k_parallel_web_search": ("Web Search", "result_count", "page", "pages"),
    "k_embedding_rank": ("Embedding Rank", "top_k_count", "ranked", "ranked"),
    "k_premium_rank": ("Premium Rank", "judged_count", "judged", "judged"),
    "k_check_criteria": ("Criteria", "kept_count", "kept", "kept"),
    "k_auto_ingest": ("Auto-Ingest", "count", "accepted", "accepted"),
    "k_verify_coverage": ("Coverage", "answered_count", "answered", "answered"),
    "k_hitl_gate": ("Review", "approved_count", "approved", "approved"),
    "k_trigger_ingestion": ("Ingestion", "count", "accepted", "accepted"),
}
"""Each node's label, the fact that counts its results, and their name in singular and plural."""


class Pipeline:
    """Draws the events of a run's custom stream on stderr."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._status = screen.err.status("") if screen.is_live else None

    def __enter__(self) -> Self:
        self._working("Starting")
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def show(self, event: Mapping[str, Any]) -> None:
        """Draw one event."""
        if event["type"] == "node_started":
            self._working(_NODES.get(event["node"], (event["node"],))[0])
        elif event["type"] == "query_finished":
            report = event["report"]
            self._working(f"Web Search: {report['result_count']} for {report['query']}")
        elif event["type"] == "ingestion_progress":
            self._working(f"Coverage: {event['stored']} of {event['count']} pages stored")
        elif event["type"] == "query_verified":
            told = "answered" if event["answered"] else "not answered"
            self._working(f"Coverage: {told}: {event['query']}")
        elif event["type"] == "node_finished":
            self._screen.note(node_line(event["telemetry"]))
        elif event["type"] == "node_paused":
            self._screen.note(f"⏸️ {_NODES[event['node']][0]} → waits for a decision")

    def _working(self, text: str) -> None:
        if self._status:
            self._status.update(printable(text)[: self._screen.err.width - 4])
            self._status.start()


def node_line(facts: Mapping[str, Any]) -> str:
    """Return how a node ended, its time and its cost.

    >>> node_line({"node_name": "k_embedding_rank", "latency_ms": 1900, "cost_usd": 0.0004})
    '✅ Embedding Rank → ⏱️ 1.9s, $0.0004'
    >>> facts = {"node_name": "k_parallel_web_search", "latency_ms": 42.5, "result_count": 31}
    >>> node_line(facts | {"failed_query_count": 1})
    '⚠️ Web Search → ⏱️ 42ms · 31 pages'
    """
    troubled = any(facts.get(key) for key in ("error", "failed_query_count", "gap_count"))
    mark = "⚠️" if troubled else "✅"
    node = facts["node_name"]
    label, key, one, many = _NODES.get(node, (node, "", "", ""))
    count = facts.get(key)
    counted = "" if count is None else f" · {count} {one if count == 1 else many}"
    return f"{mark} {label} → ⏱️ {_time(facts['latency_ms'])}{_cost(facts)}{counted}"


def _time(latency_ms: float) -> str:
    return f"{latency_ms:.0f}ms" if latency_ms < 100 else f"{latency_ms / 1000:.1f}s"  # noqa: PLR2004


def _cost(facts: Mapping[str, Any]) -> str:
    cost = facts.get("cost_usd", 0)
    if cost is None:
        return ", price unknown"
    return f", {round_usd(cost)}" if cost else ""
