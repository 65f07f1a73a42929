"""Runs that the HTTP server executes, and their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from typing_extensions import TypedDict

RunStatus = Literal["running", "waiting", "done", "failed", "cancelled", "interrupted"]
"""`waiting`: for a person at a gate. `failed`: it raised; a failing provider is an outcome of a
run that is `done`. `interrupted`: its process ended, and nothing was left to resume."""

RunGraph = Literal["collection_search", "collection_review"]

RunEvent: TypeAlias = Mapping[str, Any]
"""JSON-plain; `type` says what happened: see `contracts.stream_events`."""

ACTIVE: Final[frozenset[RunStatus]] = frozenset({"running", "waiting"})
"""The status of runs that have not ended."""

ENDED: Final[frozenset[RunStatus]] = frozenset({"done", "failed", "cancelled", "interrupted"})
"""The status of runs that have ended."""


RUN_PREFIX: Final = "run-"
"""Every `run_id` begins with it, so that most other threads are known as such without a look."""


class RunProblem(TypedDict):
    """Why a run ended without an output."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class ServerRun:
    """One run as it is stored; secrets in what was asked, and in texts made of it, are masked."""

    run_id: str
    """Also the thread of its checkpoints, and the run of its costs."""
    tenant_id: str
    graph: RunGraph
    user: str
    question: str
    collection: str
    given: dict[str, Any]
    """The graph's input."""
    choices: dict[str, Any] = field(default_factory=dict)
    """What the caller chose of the context."""
    status: RunStatus = "running"
    owner: str = ""
    """Who executes it, or has still to delete its checkpoints; empty: nobody."""
    created_at: float = 0.0
    """Unix time, set by the store."""
    ended_at: float | None = None
    """Unix time, set by the store."""
    outcome: str | None = None
    error: RunProblem | None = None
    gate_id: str | None = None
    """The last gate at which it waited."""
    output: dict[str, Any] | None = None
    pages: list[dict[str, Any]] = field(default_factory=list)
    """The results with what an ingestion needs: staged text, query, provider and scores."""

    @property
    def is_active(self) -> bool:
        """Return whether it has not ended."""
        return self.status in ACTIVE


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of a run; numbers begin at 1 and have no gaps."""

    number: int
    type: str
    data: str
    """JSON."""


class RunChange(TypedDict, total=False):
    """Fields of a run that change."""

    status: RunStatus
    owner: str
    outcome: str | None
    error: RunProblem | None
    gate_id: str | None
    output: dict[str, Any] | None
    pages: list[dict[str, Any]]
