"""The report of a refresh: results of questions and crawls, and changes of the pages."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, computed_field

from .prices import total_cost


class AskedAgain(BaseModel):
    """The result of a question that a refresh asked again."""

    model_config = ConfigDict(frozen=True)

    question: str
    outcome: str
    """The graph's, or `failed`."""
    error: str | None = None
    provider: str | None = None
    cost_usd: float = 0.0
    """As far as it is known."""
    cost_complete: bool = True
    unreviewed: list[str] = Field(default_factory=list)
    """Pages that it would take by their scores, but whose review has not approved them."""


class CrawledAgain(BaseModel):
    """The result of a crawl that a refresh repeated."""

    model_config = ConfigDict(frozen=True)

    starts: list[str]
    found: list[str] = Field(default_factory=list)
    """New pages; those that could be ingested in time are `new` in the report, too."""
    is_full: bool = False
    """The crawl's `max_pages` is reached: nothing more is looked for."""
    error: str | None = None


class FailedPage(BaseModel):
    """A page that could not be fetched, with the reason."""

    model_config = ConfigDict(frozen=True)

    url: str
    error: str


class PutOffPage(BaseModel):
    """A page that waits for a later time, with the reason."""

    model_config = ConfigDict(frozen=True)

    url: str
    until: float
    """Unix time of the next try."""
    reason: str


class RefreshReport(BaseModel):
    """The changes of a collection. Pages are URLs in alphabetical order."""

    model_config = ConfigDict(frozen=True)

    collection: str
    questions: list[AskedAgain] = Field(default_factory=list)
    crawls: list[CrawledAgain] = Field(default_factory=list)
    new: list[str] = Field(default_factory=list)
    returned: list[str] = Field(default_factory=list)
    """Those of `new` that had vanished before."""
    changed: list[str] = Field(default_factory=list)
    """Pages with another text, or with another title of the same text."""
    unchanged: list[str] = Field(default_factory=list)
    not_looked_at: list[str] = Field(default_factory=list)
    """Pages that are never fetched, since a provider or a caller gave their text, and whose text no
    question brought this time: it was not found, or was not among the results that it takes."""
    gone: list[str] = Field(default_factory=list)
    failed: list[FailedPage] = Field(default_factory=list)
    """Stored pages that could not be fetched; their documents stay."""
    unread: list[FailedPage] = Field(default_factory=list)
    """New pages that could not be ingested; `ingest retry-failed` retries them."""
    left: list[str] = Field(default_factory=list)
    """Pages that were not finished in time; workers continue with them."""
    put_off: list[PutOffPage] = Field(default_factory=list)
    """Those of `left` that nobody may try before a later time."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_usd(self) -> float:
        """Return the known cost of the questions."""
        return total_cost(asked.cost_usd for asked in self.questions)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_complete(self) -> bool:
        """Return whether every cost is known."""
        return all(asked.cost_complete for asked in self.questions)
