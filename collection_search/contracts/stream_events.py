"""Events of the graph's custom stream."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from .state import QueryReport  # noqa: TC001 - readers of the annotations need it


class NodeStarted(TypedDict):
    """A node begins."""

    type: Literal["node_started"]
    node: str


class QueryFinished(TypedDict):
    """One of the parallel queries ended."""

    type: Literal["query_finished"]
    node: str
    report: QueryReport


class IngestionProgress(TypedDict):
    """Pages of the run's ticket were stored or given up."""

    type: Literal["ingestion_progress"]
    node: str
    ticket: str
    count: int
    stored: int
    failed: int
    pending: int


class QueryVerified(TypedDict):
    """The collection was asked one query."""

    type: Literal["query_verified"]
    node: str
    query: str
    answered: bool
    best_score: float | None


class NodeFinished(TypedDict):
    """A node ended, with the same facts as its span and the output."""

    type: Literal["node_finished"]
    node: str
    telemetry: dict[str, Any]


class NodePaused(TypedDict):
    """A node waits for a person: the run is interrupted."""

    type: Literal["node_paused"]
    node: str


class ReviewRequested(TypedDict):
    """A gate is open: a person is to decide."""

    type: Literal["review_requested"]
    node: str
    gate_id: str
    candidate_count: int
    deadline: str
    """ISO 8601, UTC."""


class NodeFailed(TypedDict):
    """A node raised."""

    type: Literal["node_failed"]
    node: str
    error: str


Event = (
    NodeStarted
    | QueryFinished
    | IngestionProgress
    | QueryVerified
    | NodeFinished
    | NodePaused
    | ReviewRequested
    | NodeFailed
)
