"""Requests and answers of the search service, in snake or camel case."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from .options import NO_OPTIONS, Applied, SearchOptions

MAX_SERVICE_RESULTS = 10
"""Most results of one request to the search service."""


class SearchRequest(BaseModel):
    """One question to the search service; names are accepted in camel case too."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    query: str
    options: SearchOptions = NO_OPTIONS

    @field_validator("options", mode="before")
    @classmethod
    def _null_is_not_given(cls, options: Any) -> Any:
        return NO_OPTIONS if options is None else options

    @field_validator("options")
    @classmethod
    def _few_results(cls, options: SearchOptions) -> SearchOptions:
        if options.max_results is not None and options.max_results > MAX_SERVICE_RESULTS:
            raise ValueError(f"max_results must be 1 to {MAX_SERVICE_RESULTS}")
        return options


class ServiceSearchResult(BaseModel):
    """One page that the search service found."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    title: str
    url: str
    snippet: str
    content: str | None = None
    """The page's text, if it was wanted and the provider gave it."""
    published_date: str | None = None
    score: float | None = None
    """The provider's own relevance, 0-1."""


class Attempt(BaseModel):
    """The call of one provider for one request."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    provider: str
    rationale: str
    """`search_completed`, or why it failed: the words of `ToolOutcome.rationale`."""
    latency_ms: int
    cost_usd: float | None = None
    message: str | None = None


class SearchResponse(BaseModel):
    """The answer of the search service, with the providers that it called."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    results: list[ServiceSearchResult]
    query: str
    """The query as it was asked."""
    response_time_ms: int
    provider: str
    """The provider that answered."""
    routing: list[Attempt] = Field(default_factory=list)
    """The calls, in order."""
    applied: dict[str, Applied] = Field(default_factory=dict)
    """How each requested option was applied."""
    notices: list[str] = Field(default_factory=list)
    cached: bool = False
