"""What a refresh found: how the questions of a collection ended, and what became of its pages."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, computed_field

from .prices import total_cost


class AskedAgain(BaseModel):
    """How a question of the collection ended this time."""

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
    """A page that could not be had, and why."""

    model_config = ConfigDict(frozen=True)

    url: str
    error: str


class RefreshReport(BaseModel):
    """What became of a collection. Pages are told by their URL, in order of the alphabet."""

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
    """Stored pages that could not be had; what was stored of them stays."""
    unread: list[FailedPage] = Field(default_factory=list)
    """Pages that a question found this time and that could not be had: `ingest retry-failed` tries
    them again, a refresh does not."""
    left: list[str] = Field(default_factory=list)
    """Pages that were not done in time; workers go on with them."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_usd(self) -> float:
        """What asking the questions cost, as far as it is known."""
        return total_cost(asked.cost_usd for asked in self.questions)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost_complete(self) -> bool:
        """Whether all of it is known."""
        return all(asked.cost_complete for asked in self.questions)
