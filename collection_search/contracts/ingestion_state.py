"""What flows on the edges of the universal ingestion graph: JSON-plain values only."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

# LangGraph reads these types when it builds the graph.
from .state import IngestionReceipt, RunIds, SearchReport, Telemetry  # noqa: TC001

IngestionOutcome = Literal["acquired", "ingestion_started", "no_candidates", "search_failed"]

IngestionFlag = Literal["staging_failed", "ingestion_failed", "cost_limit_reached"]
"""`ingestion_failed`: the pages are staged, but their ingestion could not be started."""


class AcquiredPage(TypedDict):
    """One distinct page on its way into a collection."""

    url: str
    url_key: str
    title: str
    snippet: str
    content_ref: str | None
    provenance: dict[str, Any]


class DroppedPage(TypedDict):
    """A page that was acquired, and why it goes no further."""

    url: str
    reason: Literal["snippet_too_short", "beyond_max_results"]


class IngestionOptions(TypedDict):
    """The validated input."""

    source: Literal["search", "preselected"] | None
    mode: Literal["acquire_only", "acquire_and_ingest"]
    collection_scope: str
    query: str | None
    max_results: int
    min_snippet_chars: int
    selection: Literal["top_k", "all"]


class IngestionState(IngestionOptions):
    """Everything that the universal ingestion graph knows while it runs."""

    ids: RunIds
    search: SearchReport | None
    candidates: list[AcquiredPage]
    dropped: list[DroppedPage]
    session_id: str | None
    ingestion: IngestionReceipt | None
    outcome: IngestionOutcome | None
    flags: list[IngestionFlag]
    telemetry: Telemetry


class IngestionOutput(TypedDict):
    """What the universal ingestion graph returns; every key is there at every end."""

    outcome: IngestionOutcome
    search: SearchReport | None
    candidates: list[AcquiredPage]
    dropped: list[DroppedPage]
    session_id: str | None
    """Where the candidates are staged; None once they were handed over for ingestion."""
    ingestion: IngestionReceipt | None
    flags: list[IngestionFlag]
    telemetry: Telemetry


class AcquireUpdate(IngestionOptions):
    """`k_acquire`: the validated input, the pages, and a clean slate for the rest."""

    search: SearchReport | None
    candidates: list[AcquiredPage]
    dropped: list[DroppedPage]
    session_id: str | None
    ingestion: None
    outcome: IngestionOutcome | None
    flags: list[IngestionFlag]
    telemetry: dict[str, Any]


class SelectUpdate(TypedDict):
    """`k_select`; `outcome` is set when no page is left."""

    candidates: list[AcquiredPage]
    dropped: list[DroppedPage]
    outcome: IngestionOutcome | None
    flags: list[IngestionFlag]
    telemetry: dict[str, Any]


class StageUpdate(TypedDict):
    """`k_stage`; `outcome` is set when the run ends here."""

    session_id: str
    outcome: IngestionOutcome | None
    flags: list[IngestionFlag]
    telemetry: dict[str, Any]


class StartUpdate(TypedDict):
    """`k_ingest`."""

    session_id: str | None
    ingestion: IngestionReceipt
    outcome: IngestionOutcome
    flags: list[IngestionFlag]
    telemetry: dict[str, Any]
