"""State, updates and output of the collection search graph: JSON-plain values only.

Page texts never enter the state: a candidate and a result name their staged text by
`content_ref`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

# LangGraph reads these types when it builds the graph.
from .coverage import Coverage  # noqa: TC001
from .criteria import PageCriteria  # noqa: TC001
from .review import Review  # noqa: TC001

Outcome = Literal[
    "search_completed",
    "auto_ingest_triggered",
    "auto_ingest_trigger_failed",
    "auto_ingest_failed_quality_threshold",
    "search_failed",
    "no_candidates",
]

ReviewOutcome = (
    Outcome
    | Literal[
        "review_pending",
        "review_rejected",
        "ingestion_triggered",
        "coverage_verified",
        "coverage_incomplete",
    ]
)
"""The outcomes of the collection review graph."""

QualityMode = Literal["standard", "premium"]
"""How thoroughly a question is searched."""

Flag = Literal[
    "strategy_fallback",
    "embedding_degraded",
    "premium_degraded",
    "partial_search",
    "staging_failed",
    "cost_limit_reached",
    "provider_fallback",
    "answer_not_used",
    "model_not_used",
    "criteria_not_judged",
]
"""Problems that did not end the run. `answer_not_used`: an answer to a review came after the
decision, which was another person's or the deadline's. `model_not_used`: an embedder cannot tell
related from unrelated texts in the question's language, so it was left out. `criteria_not_judged`:
some pages could not be judged by the criteria."""


class RunIds(TypedDict):
    """Ids of one run, made by the first node where the caller gave none.

    The tenant is not among them: it always comes from the context or the authenticated user.
    """

    trace_id: str
    invocation_id: str
    run_id: str


class RunBusiness(TypedDict):
    """What a run belongs to for its caller: those that go on with it need not give it again."""

    workflow_id: str
    case_id: str | None


class Strategy(TypedDict):
    """The planned queries."""

    queries: list[str]
    fallback: bool
    """True when the queries are the deterministic ones."""
    model: str | None
    error: str | None
    """Why the model's proposal was not used."""


class QueryReport(TypedDict):
    """How one query ended."""

    query: str
    decision: Literal["ok", "error"]
    rationale: str
    result_count: int
    latency_ms: float
    quota_remaining: int | None


class SearchFailure(TypedDict):
    """Why one query failed."""

    query: str
    rationale: str
    kind: str
    code: str
    message: str
    retryable: bool
    """Whether the same call may work later."""
    http_status: int | None
    retry_in_ms: int | None


class RoutingStep(TypedDict):
    """One provider that was asked for a query, where that was not the only one."""

    query: str
    provider: str
    rationale: str
    latency_ms: int
    cost_usd: float | None
    message: str | None


class SearchReport(TypedDict):
    """What was searched, where and why there, and how it ended."""

    provider: str
    provider_reason: str
    queries: list[QueryReport]
    errors: list[SearchFailure]
    routing: list[RoutingStep]
    """Who was asked, in order, for each query that needed the fallback."""
    result_count: int
    """Distinct pages over all queries."""
    notices: list[str]
    """What a person should know: a page of results that is missing, a provider's end date."""


class Candidate(TypedDict):
    """One distinct page that the search found."""

    url: str
    url_key: str
    title: str
    snippet: str
    source: str
    provider: str
    score: float | None
    published_date: str | None
    content_type: str | None
    is_pdf: bool
    content_ref: str | None
    query: str
    """The query that found it first."""
    position: int
    """Best place in any answer, from 1."""


class RankedResult(TypedDict):
    """A candidate with its scores."""

    url: str
    title: str
    snippet: str
    source: str
    is_pdf: bool
    embedding_rank_score: float
    """Calibrated, 0-100: it orders and gates."""
    embedding_similarity: float
    """Raw, -1 to 1; of several embedders the mean of those that count."""
    heuristic_score: float
    """0-100 (profile `literal`: the specified parts, at most 75)."""
    explanation: dict[str, Any]
    content_ref: str | None
    """Names the staged text of the page, as the candidate does."""
    criteria: NotRequired[PageCriteria]
    """How it meets the run's criteria, where it has any."""


class IngestionReceipt(TypedDict):
    """The pages that a run passed on for ingestion."""

    ticket: str | None
    count: int
    """URLs that were accepted."""
    collection: str
    threshold: float | None
    """The score that was asked for in the end."""
    threshold_reason: str | None
    """Why it is that, where the setting `adaptive_threshold` is on."""
    fallback_used: bool
    """Whether the threshold fell because fewer than three results reached the minimum."""
    urls: list[str]
    error: dict[str, str] | None


class Telemetry(TypedDict):
    """The run in figures: per node in order of execution, and their sums."""

    trace_id: str
    nodes: dict[str, dict[str, Any]]
    latency_ms: float
    input_tokens: int | None
    """What models were given, texts to embed included; None where a part of it is not known."""
    output_tokens: int | None
    """What models wrote; None where a part of it is not known."""
    cost_usd: float
    """Sum of the known costs."""
    cost_complete: bool
    """False when a part's price is not known."""
    cost_limit_usd: float | None
    """The ceiling that the run had; flag `cost_limit_reached` says that it ended calls. A node's
    `cost_limit_blind` says that a price was not known, so that the ceiling did not count it."""


class ValidatedInput(TypedDict):
    """The fields of `GraphInput`, as the state carries them."""

    question: str
    collection_scope: str
    quality_mode: QualityMode
    max_candidates: int
    purpose: str
    is_pdf: bool | None
    """True: only PDFs are wanted; False: everything else; None: both."""
    criteria: list[str]
    """Conditions that every page must meet."""
    auto_ingest: bool
    auto_ingest_top_k: int
    auto_ingest_min_score: float


class CollectionSearchState(ValidatedInput):
    """The state of the collection search graph while it runs."""

    ids: RunIds
    tenant_id: str
    """Whose run it is. It goes on with a context of this tenant only."""
    business: RunBusiness
    started_at: float
    """When the run began, in seconds since 1970."""
    strategy: Strategy
    search: SearchReport | None
    candidates: list[Candidate]
    results: list[RankedResult]
    ingestion: IngestionReceipt | None
    outcome: ReviewOutcome | None
    flags: list[Flag]
    telemetry: Telemetry
    max_rounds: int
    """Searches that may close gaps; 0 without a coverage check."""
    reviewed: list[str]
    """Keys of all pages that were candidates in this run."""
    review: Review | None
    coverage: Coverage | None
    summary: str
    """The run in one to three sentences; empty until it ends or waits for a person."""


class CollectionSearchOutput(TypedDict):
    """What the graph returns; every key is there at every end."""

    outcome: Annotated[Outcome, Field(description="How the run ended.")]
    summary: Annotated[
        str,
        Field(description="What was asked, found and ingested, and what it cost, for people."),
    ]
    question: Annotated[str, Field(description="The question, cleaned.")]
    strategy: Annotated[Strategy, Field(description="The planned queries, and who planned them.")]
    search: Annotated[
        SearchReport, Field(description="Provider, and how each query ended; errors included.")
    ]
    results: Annotated[
        list[RankedResult], Field(description="Distinct pages with their scores, best first.")
    ]
    ingestion: Annotated[
        IngestionReceipt | None,
        Field(description="The pages that were passed on for ingestion; none where none was."),
    ]
    flags: Annotated[list[Flag], Field(description="Problems that did not end the run.")]
    telemetry: Annotated[
        Telemetry, Field(description="Latency, tokens and cost per node, and their sums.")
    ]


class CollectionReviewOutput(CollectionSearchOutput):
    """What the collection review graph returns; every key is there at every end."""

    outcome: Annotated[  # type: ignore[misc] # the review graph has more of them
        ReviewOutcome, Field(description="How the run ended.")
    ]
    review: Annotated[
        Review | None, Field(description="The decision in force; none before the gate.")
    ]
    coverage: Annotated[
        Coverage | None,
        Field(description="Which queries the collection answers; none without an ingestion."),
    ]
