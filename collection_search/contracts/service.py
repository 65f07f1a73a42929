"""What is asked of the search service and what it answers, in snake or camel case."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from .options import NO_OPTIONS, Applied, SearchOptions

MAX_SERVICE_RESULTS = 10
"""What one request to the search service may ask for."""


class SearchRequest(BaseModel):
    """One question to the search service; names are accepted in camel case too."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    query: str
    options: SearchOptions = NO_OPTIONS

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
    """What one provider did for one request."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    provider: str
    rationale: str
    """`search_completed`, or why it failed: the words of `ToolOutcome.rationale`."""
    latency_ms: int
    cost_usd: float | None = None
    message: str | None = None


class SearchResponse(BaseModel):
    """What the search service found, and who was asked on the way."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    results: list[ServiceSearchResult]
    query: str
    """As it was asked, cleaned."""
    response_time_ms: int
    provider: str
    """Who answered in the end."""
    routing: list[Attempt] = Field(default_factory=list)
    """Who was asked, in order."""
    applied: dict[str, Applied] = Field(default_factory=dict)
    """What was made of each option that was asked for."""
    notices: list[str] = Field(default_factory=list)
    cached: bool = False
