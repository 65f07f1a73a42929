"""Port of rerankers: a question and pages in, one judgement of each page out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page as a reranker reads it."""

    title: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well one page answers the question."""

    relevance: float
    """0 (about something else) to 1 (answers the question)."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Judgements:
    """The judgements of one call, and what it cost."""

    pages: Sequence[Judgement | None]
    """One per page, in their order; None for a page that was not judged."""
    model: str
    input_tokens: int | None = None
    """None where the reranker does not count them."""
    output_tokens: int | None = None
    cost_usd: float | None = 0.0
    """None where the price is not known."""


@runtime_checkable
class Reranker(Protocol):
    """Judges pages for a question, all of them in one call."""

    reranker_name: str
    """Names the model; equal names give equal judgements."""

    async def judge(self, question: str, pages: Sequence[JudgedPage]) -> Judgements:
        """Return one judgement per page. Raises `ModelError`; there is no retry inside."""
        ...
