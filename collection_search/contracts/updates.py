"""Updates of the nodes of the collection search and review graphs: JSON-plain values only."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

# LangGraph reads these types when it builds the graph.
from .coverage import Coverage  # noqa: TC001
from .review import Review  # noqa: TC001
from .state import (
    Candidate,
    Flag,
    IngestionReceipt,
    RankedResult,
    ReviewOutcome,
    SearchReport,
    Strategy,
    ValidatedInput,
)


class StrategyUpdate(ValidatedInput):
    """`k_generate_strategy`: the validated input, the queries, and empty values for the rest.

    They replace the values of the last run on a thread with a checkpointer.
    """

    strategy: Strategy
    search: None
    candidates: list[Candidate]
    results: list[RankedResult]
    ingestion: None
    outcome: None
    flags: list[Flag]
    telemetry: dict[str, Any]
    max_rounds: int
    reviewed: list[str]
    review: None
    coverage: None


class _Update(TypedDict):
    outcome: ReviewOutcome | None
    flags: list[Flag]
    telemetry: dict[str, Any]


class FurtherRound(TypedDict):
    """What a further round knows of the searches before."""

    reviewed: list[str]
    coverage: NotRequired[Coverage]
    """In a further round: its queries are among those that were searched for."""


class SearchUpdate(_Update, FurtherRound):
    """`k_parallel_web_search`; `outcome` is set when the run ends here."""

    search: SearchReport
    candidates: list[Candidate]


class RankUpdate(_Update):
    """`k_embedding_rank`; `outcome` is always set."""

    results: list[RankedResult]


class PremiumUpdate(_Update):
    """`k_premium_rank`; `outcome` is always set."""

    results: list[RankedResult]


class CriteriaUpdate(_Update):
    """`k_check_criteria`; `outcome` stays as it was."""

    results: list[RankedResult]


class IngestUpdate(_Update):
    """`k_auto_ingest`; `outcome` is always set."""

    ingestion: IngestionReceipt


class GateUpdate(_Update):
    """`k_hitl_gate`; `outcome` is set when nothing was approved."""

    review: Review


class TriggerUpdate(_Update):
    """`k_trigger_ingestion`; `outcome` is always set."""

    ingestion: IngestionReceipt | None
    review: Review
    """The decision that was used: the gate's, else the threshold's."""


class CoverageUpdate(_Update):
    """`k_verify_coverage`; `outcome` is always set."""

    coverage: Coverage
