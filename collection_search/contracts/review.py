"""The review of candidates by a person: what is asked, what is answered, what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from .blank_fields import without_blanks
from .criteria import PageCriteria  # noqa: TC001 - readers of annotations need it
from .search import NormalizedUrl

ReviewStatus = Literal["pending", "approved", "rejected", "partial"]
"""A decision. `pending`: not decided yet, the gate stays open. `partial`: some of the pages."""

DeadlinePolicy = Literal["approve", "reject", "keep_pending"]
"""What happens at a gate's deadline. `approve`: the candidates at or above the run's threshold are
ingested. `reject`: none is. `keep_pending`: the gate waits on."""

DecidedBy = Literal["person", "deadline", "threshold"]
"""Who decided: a person, the policy of the deadline, or the threshold where no person was asked."""

GateState = Literal["open", "decided", "closed"]
"""`decided`: the run has not been resumed to its end yet. `closed`: it has."""

MAX_ADDED: Final = 50

GATE_NODE: Final = "k_hitl_gate"
"""The node at which a run waits for a person."""


class ReviewCandidate(TypedDict):
    """One page that a person may approve."""

    url: str
    title: str
    snippet: str
    source: str
    is_pdf: bool
    in_collection: bool
    """Whether the collection has this page already."""
    embedding_rank_score: float
    embedding_similarity: float
    heuristic_score: float
    explanation: dict[str, Any]
    """The parts of the score: why the page stands where it does."""
    criteria: NotRequired[PageCriteria]
    """How it meets the run's criteria, where it has any."""


class ReviewRequest(TypedDict):
    """What a run asks a person: the value of its interrupt."""

    type: Literal["collection_review"]
    instructions: NotRequired[str]
    """What the person is to do, in a sentence; a review of an older server has none."""
    gate_id: str
    question: str
    collection: str
    round: int
    """1 for the first search of the run, 2 for the first that closes gaps."""
    candidates: list[ReviewCandidate]
    """Best first."""
    threshold: float
    """The score from which on the policy `approve` takes a candidate."""
    threshold_reason: NotRequired[str | None]
    """Why it is that, where the setting `adaptive_threshold` is on."""
    deadline: str
    """ISO 8601, UTC."""
    deadline_policy: DeadlinePolicy
    response_schema: dict[str, Any]
    """JSON schema of the decision, for hosts that do not pass on the interrupt's own."""


class ReviewDecision(BaseModel):
    """A person's decision about the candidates."""

    model_config = ConfigDict(extra="forbid")

    status: ReviewStatus = Field(
        description="approved: all candidates that neither criteria nor rules refuse, or those of"
        " approved_urls, refused ones too; partial: those of"
        " approved_urls and added_urls; rejected: none; pending: decide later.",
        examples=["approved"],
    )
    approved_urls: list[str] = Field(
        default_factory=list,
        json_schema_extra={"default": []},
        description="URLs of the candidates that are approved; with status approved, none: all.",
        examples=[["https://docs.python.org/3/library/asyncio-task.html"]],
    )
    added_urls: list[NormalizedUrl] = Field(
        default_factory=list,
        json_schema_extra={"default": []},
        max_length=MAX_ADDED,
        description="Pages to ingest that the search did not find.",
        examples=[["https://docs.python.org/3/library/asyncio-runner.html"]],
    )
    comment: str | None = Field(
        default=None,
        max_length=2000,
        description="Why; it is kept.",
        examples=["official documentation only"],
    )
    approver: str | None = Field(
        default=None,
        max_length=200,
        description="Who decides. On a server with authentication it is the user.",
        examples=["Ada"],
    )

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, given: Any) -> Any:
        is_map = isinstance(given, Mapping)
        return without_blanks(cls.model_fields, given) if is_map else given

    @model_validator(mode="after")
    def _agrees_with_its_status(self) -> ReviewDecision:
        has_pages = bool(self.approved_urls or self.added_urls)
        if self.status in ("pending", "rejected") and has_pages:
            raise ValueError(f"status {self.status} takes no URLs; use partial to approve some")
        if self.status == "partial" and not has_pages:
            raise ValueError("status partial needs approved_urls or added_urls")
        return self


class Review(TypedDict):
    """A decision in force, as state and output of a run carry it."""

    gate_id: str | None
    """None where the threshold decided without a gate."""
    status: ReviewStatus
    approved_urls: list[str]
    """Best first."""
    added_urls: list[str]
    approver: str | None
    decided_by: DecidedBy
    comment: str | None
    decided_at: str
    """ISO 8601, UTC."""
    deadline: str | None
    round: int


@dataclass(frozen=True, slots=True)
class Gate:
    """A stored gate: one review that a run asked for."""

    gate_id: str
    tenant_id: str
    collection: str
    question: str
    round: int
    host: Literal["process", "server"]
    """Where the run lives: in a program's own checkpointer, or on a LangGraph server."""
    thread_id: str | None
    run_id: str
    trace_id: str
    candidates: list[ReviewCandidate]
    threshold: float
    deadline: float
    """Unix time."""
    policy: DeadlinePolicy
    opened_at: float = 0.0
    """Unix time, set by the store."""
    changed_at: float = field(default=0.0, compare=False)
    """Unix time at which it got its state, set by the store."""
    is_new_decision: bool = field(default=False, compare=False)
    """Whether the call that returned this gate is the one that decided it."""
    content_refs: list[str] = field(default_factory=list)
    """Staged texts of the candidates: they stay staged until the gate is closed."""
    state: GateState = "open"
    decision: dict[str, Any] = field(default_factory=dict)
    """The `Review` in force; empty while the gate is open."""
    threshold_reason: str | None = None
    """Why the threshold is that, where the setting `adaptive_threshold` is on."""
    may_search_again: bool = True
    """Whether the run may search for gaps after this review; True where that is not known."""

    def is_overdue(self, now: float) -> bool:
        """Return whether its policy decides it at the next sweep; `now` is a Unix time."""
        return self.state == "open" and self.policy != "keep_pending" and self.deadline <= now
