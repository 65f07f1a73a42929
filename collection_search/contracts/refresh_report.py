"""The report of a refresh: results of the questions, and changes of the pages."""

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


class FailedPage(BaseModel):
    """A page that could not be fetched, with the reason."""

    model_config = ConfigDict(frozen=True)

    url: str
    error: str


class RefreshReport(BaseModel):
    """The changes of a collection. Pages are URLs in alphabetical order."""

    model_config = ConfigDict(frozen=True)

    collection: str
    questions: list[AskedAgain] = Field(default_factory=list)
    new: list[str] = Field(default_factory=list)
    returned: list[str] = Field(default_factory=list)
    """Those of `new` that had vanished before."""
    changed: list[str] = Field(default_factory=list)
    unchanged: list[str] = Field(default_factory=list)
    gone: list[str] = Field(default_factory=list)
    failed: list[FailedPage] = Field(default_factory=list)
    """Stored pages that could not be fetched; their documents stay."""
    unread: list[FailedPage] = Field(default_factory=list)
    """New pages that could not be fetched; `ingest retry-failed` retries them."""
    left: list[str] = Field(default_factory=list)
    """Pages that were not finished in time; workers continue with them."""

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
