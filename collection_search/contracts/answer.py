"""A written answer whose citations exist."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, Field

from .collection import Passage

AnswerOutcome = Literal["answered", "unanswered"]
AnswerReason = Literal[
    "no_model", "model_failed", "cost_limit", "no_passages", "below_level", "not_answered"
]
"""Why there is no written answer:

- `no_model`: no model is configured, or it cannot chat
- `model_failed`: the model failed; `message` says why
- `cost_limit`: the run's ceiling does not allow the call
- `no_passages`: nothing was found
- `below_level`: passages were found, and none is good enough to answer from
- `not_answered`: the model wrote no sentence with a valid citation
"""

UNSUPPORTED_MARK: Final = "[no source]"
"""Follows each sentence of the text that cites no passage."""


class AnswerSentence(BaseModel):
    """One sentence of an answer, one row of a table, or one block of code."""

    text: str
    """Without marks of citations."""
    citations: list[int] = Field(default_factory=list)
    """Numbers of passages, in the order in which the model cites them; none twice."""
    supported: bool
    """Whether it cites a passage. Whether the passage says so was not judged."""


class Answer(BaseModel):
    """An answer to a question, written from passages."""

    question: str
    outcome: AnswerOutcome
    reason: AnswerReason | None = None
    """Why it is unanswered."""
    message: str | None = None
    """The reason as a sentence for people, with what to do; also that an answer is cut off."""
    text: str | None = None
    """Markdown: `[n]` after each sentence, `[no source]` after one without a citation."""
    sentences: list[AnswerSentence] = Field(default_factory=list)
    passages: list[Passage] = Field(default_factory=list)
    """Everything that was found; `n` is what citations name."""
    removed: int = 0
    """Citations and addresses that the model wrote and that are not among the passages."""
    model: str | None = None
    """The model that wrote the text, by its own name."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    """What the model's calls cost, 0 without any; None where that is not known."""

    def sources(self) -> list[Passage]:
        """Return the cited passages, by their numbers."""
        cited = {number for sentence in self.sentences for number in sentence.citations}
        return [passage for passage in self.passages if passage.n in cited]
