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


class NodeFinished(TypedDict):
    """A node ended, with the same facts as its span and the output."""

    type: Literal["node_finished"]
    node: str
    telemetry: dict[str, Any]


class NodeFailed(TypedDict):
    """A node raised."""

    type: Literal["node_failed"]
    node: str
    error: str


Event = NodeStarted | QueryFinished | NodeFinished | NodeFailed
