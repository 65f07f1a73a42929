"""State, updates and output of the universal ingestion graph: JSON-plain values only."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

# LangGraph reads these types when it builds the graph.
from .state import IngestionReceipt, RunBusiness, RunIds, SearchReport, Telemetry  # noqa: TC001

IngestionOutcome = Literal["acquired", "ingestion_started", "no_candidates", "search_failed"]

IngestionFlag = Literal["staging_failed", "ingestion_failed", "cost_limit_reached"]
"""`ingestion_failed`: the pages are staged, but their ingestion could not be started."""


class AcquiredPage(TypedDict):
    """One distinct page on its way into a collection."""

    url: str
    url_key: str
    title: str
    snippet: str
    is_pdf: bool
    content_ref: str | None
    provenance: dict[str, Any]


DropReason = Literal["snippet_too_short", "is_pdf", "is_no_pdf", "duplicate", "beyond_max_results"]
"""`duplicate`: a better page of the same host has the same title and snippet."""


class DroppedPage(TypedDict):
    """A page that was acquired and then dropped, with the reason."""

    url: str
    reason: DropReason


class IngestionOptions(TypedDict):
    """The validated input."""

    source: Literal["search", "preselected"] | None
    mode: Literal["acquire_only", "acquire_and_ingest"]
    collection_scope: str
    query: str | None
    max_results: int
    min_snippet_chars: int
    is_pdf: bool | None
    selection: Literal["top_k", "all"]


class _Acquired(IngestionOptions):
    search: SearchReport | None
    candidates: list[AcquiredPage]
    dropped: list[DroppedPage]
    session_id: str | None
    outcome: IngestionOutcome | None
    flags: list[IngestionFlag]


class IngestionState(_Acquired):
    """The state of the universal ingestion graph while it runs."""

    ids: RunIds
    tenant_id: str
    """Whose run it is. It goes on with a context of this tenant only."""
    business: RunBusiness
    started_at: float
    """When the run began, in seconds since 1970."""
    ingestion: IngestionReceipt | None
    telemetry: Telemetry
    summary: str
    """The run in one to three sentences; empty until it ends."""


class IngestionOutput(TypedDict):
    """What the universal ingestion graph returns; every key is there at every end."""

    outcome: Annotated[IngestionOutcome, Field(description="How the run ended.")]
    summary: Annotated[
        str,
        Field(description="What was found and ingested, and what it cost, for people."),
    ]
    search: Annotated[
        SearchReport | None,
        Field(description="Provider, and how the query ended; none without a search."),
    ]
    candidates: Annotated[list[AcquiredPage], Field(description="The pages that were kept.")]
    dropped: Annotated[
        list[DroppedPage], Field(description="Pages that were left out, each with the reason.")
    ]
    session_id: Annotated[
        str | None,
        Field(
            description="Where the candidates are staged; none once they were handed over for"
            " ingestion."
        ),
    ]
    ingestion: Annotated[
        IngestionReceipt | None,
        Field(description="The pages that were passed on for ingestion; none where none was."),
    ]
    flags: Annotated[list[IngestionFlag], Field(description="Problems that did not end the run.")]
    telemetry: Annotated[
        Telemetry, Field(description="Latency, tokens and cost per node, and their sums.")
    ]


class AcquireUpdate(_Acquired):
    """`k_acquire`: the validated input, the pages, and empty values for the rest."""

    ingestion: None
    telemetry: dict[str, Any]


class _Update(TypedDict):
    outcome: IngestionOutcome | None
    flags: list[IngestionFlag]
    telemetry: dict[str, Any]


class SelectUpdate(_Update):
    """`k_select`; `outcome` is set when no page is left."""

    candidates: list[AcquiredPage]
    dropped: list[DroppedPage]


class StageUpdate(_Update):
    """`k_stage`; `outcome` is set when the run ends here."""

    session_id: str


class StartUpdate(_Update):
    """`k_ingest`; `outcome` is always set."""

    session_id: str | None
    ingestion: IngestionReceipt
