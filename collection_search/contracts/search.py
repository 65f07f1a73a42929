"""Contexts, results and outcomes of a search."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from ..text.clean import normalize_query
from ..text.urls import normalize_url

if TYPE_CHECKING:
    from .options import Applied


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("it holds NUL, which not every database stores")
    return text


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("only printable characters are allowed")
    if text in {".", ".."}:
        raise ValueError("'.' and '..' are no names: web addresses drop them")
    return text


Identifier = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_storable),
]
"""An id of a run, a trace, a case: 1 to 200 characters."""

Name = Annotated[Identifier, AfterValidator(_printable)]
"""Name of a tenant or a collection: 1 to 200 printable characters, neither `.` nor `..`."""

NormalizedQuery = Annotated[str, AfterValidator(normalize_query)]
NormalizedUrl = Annotated[str, AfterValidator(normalize_url)]


class ScopeContext(BaseModel):
    """The tenant and the run: the ids that every span, row and outcome has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant_id: Name
    trace_id: Identifier
    invocation_id: Identifier
    run_id: Identifier | None = None
    ingestion_run_id: Identifier | None = None

    @model_validator(mode="after")
    def _has_a_run(self) -> ScopeContext:
        if self.run_id is None and self.ingestion_run_id is None:
            raise ValueError("give run_id, ingestion_run_id or both")
        return self


class BusinessContext(BaseModel):
    """The caller's own ids for the purpose of the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workflow_id: Identifier | None = None
    case_id: Identifier | None = None


class ToolMetadata(BaseModel):
    """Facts about one tool call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    worker_call_id: Identifier = Field(default_factory=lambda: f"call-{uuid.uuid4().hex}")
    """Generated when the caller gives none."""


class ToolContext(BaseModel):
    """Metadata of one tool call; a caller who builds it must give every id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: ScopeContext
    business: BusinessContext = Field(default_factory=BusinessContext)
    metadata: ToolMetadata = Field(default_factory=ToolMetadata)


class WebSearchInput(BaseModel):
    """A search query, cleaned: see `collection_search.text.clean.normalize_query`."""

    model_config = ConfigDict(frozen=True)

    query: NormalizedQuery = Field(min_length=1, description="What to search the web for.")


class SearchResult(BaseModel):
    """One page that a search found.

    `model_dump` gives the six specified fields only, so that a page's text never gets into a
    state, a log or a span.
    """

    url: NormalizedUrl
    """Normal form without tracking parameters: `collection_search.text.urls.normalize_url`."""
    title: str = Field(min_length=1)
    snippet: str = Field(min_length=1)
    source: str
    """Name of the provider, or the site where the provider names it."""
    score: float | None = None
    """The provider's own relevance, 0 to 1; None where it gives a number on another scale."""
    is_pdf: bool = False

    raw_score: float | None = Field(default=None, exclude=True, repr=False)
    """The provider's number on a scale of its own."""
    content: str | None = Field(default=None, exclude=True, repr=False)
    """The page's text where the provider delivers it."""
    content_type: str | None = Field(default=None, exclude=True, repr=False)
    published_date: str | None = Field(default=None, exclude=True, repr=False)
    """A day or a time in ISO 8601, or what the provider wrote where it cannot be read."""


class ToolOutcome(BaseModel):
    """How a tool call ended: `meta` carries ids, counts, latency and the cause of a failure."""

    decision: Literal["ok", "error"]
    rationale: str
    meta: dict[str, Any] = Field(default_factory=dict)


class WebSearchResponse(BaseModel):
    """The results of one search, valid and without duplicates, and how the call ended."""

    results: list[SearchResult] = Field(default_factory=list)
    outcome: ToolOutcome


RawSearchResult: TypeAlias = Mapping[str, Any]
"""One row as the provider sent it."""


@dataclass(slots=True)
class ProviderSearchResult:
    """One row of a provider's answer, mapped but not yet validated."""

    url: str
    title: str
    snippet: str
    source: str
    score: float | None = None
    content_type: str | None = None
    content: str | None = None
    published_date: str | None = None
    """ISO 8601 best; RFC 2822, English months and "3 days ago" are read too."""


@dataclass(frozen=True, slots=True)
class StatedRate:
    """The rate limit of a plan as a provider's answer states it."""

    requests: int | None = None
    """Requests that it allows within `window_s`; None where it does not say both."""
    window_s: float | None = None
    """Seconds."""
    pause_s: float = 0.0
    """Seconds until the next request is allowed; 0 where it is now, or where nothing is said."""


@dataclass(slots=True)
class SearchAdapterResponse:
    """The answer of a search adapter to one query."""

    results: Sequence[ProviderSearchResult]
    status_code: int
    raw_results: Sequence[RawSearchResult] = ()
    quota_remaining: int | None = None
    request_count: int = 1
    """Requests that were made: one per page of results."""
    credits: float | None = None
    """Units of the list price, where a request may cost several; None: one per request."""
    cost_usd: float | None = None
    """The cost that the provider names, 0 in a free mode; None: the list price applies."""
    notices: Sequence[str] = ()
    """Messages about the answer for people, such as a missing page or an end date."""
    applied: Mapping[str, Applied] = field(default_factory=dict)
    """How each option was applied, by name; a missing one was ignored."""
    complete: bool = True
    """False when a part failed, such as a page; the answer is not cached then."""
    rate: StatedRate | None = None
    """The rate limit that the answer states."""
