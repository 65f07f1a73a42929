"""Coverage: what an ingestion stored, and which queries the collection answers."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class UnstoredPage(TypedDict):
    """A page that was to be ingested and is not stored, with the reason."""

    url: str
    title: str
    state: Literal["pending", "failed", "retired"]
    reason: str | None


class IngestionCoverage(TypedDict):
    """What became of the pages of a ticket."""

    ticket: str
    count: int
    stored: int
    failed: int
    """Given up, or vanished: the three counts add up to `count`."""
    pending: int
    success_ratio: float
    """Stored pages of all, 0 to 1; 1 for a ticket without pages."""
    timed_out: bool
    """Whether pages were still pending when the time was up."""
    unstored: list[UnstoredPage]


class Evidence(TypedDict):
    """One passage that answers a query."""

    url: str
    title: str
    text: str
    """The sentences that answer best."""
    score: float
    """How well it answers, 0-100: see `collection_search.ranking.evidence`."""


class QueryCoverage(TypedDict):
    """Whether the collection answers one query."""

    query: str
    answered: bool
    evidence: list[Evidence]
    """Best first; empty for a query that is not answered."""
    best_score: float | None
    """Of the best passage, whether it answers or not; None without any passage."""


class CoveredDocument(TypedDict):
    """A document that answers some of the queries."""

    url: str
    title: str
    answers: list[str]
    """Those queries."""


class Coverage(TypedDict):
    """How far a collection answers a question and the queries that were planned for it."""

    collection: str
    round: int
    """1 after the first search of the run, 2 after the first that closes gaps."""
    ingestion: IngestionCoverage | None
    """None where the collection is judged as it stands."""
    queries: list[QueryCoverage]
    """The question first."""
    answered_ratio: float
    """Answered queries of all, 0 to 1; 0 without any."""
    documents: list[CoveredDocument]
    gaps: list[str]
    """Queries that are not answered."""
    next_queries: list[str]
    """What to search for next, to close the gaps, none of it `searched`; empty without gaps."""
    searched: list[str]
    """What was searched for until now, in all rounds."""
    error: str | None
    """Why the collection could not be asked, or its ticket not be followed."""
