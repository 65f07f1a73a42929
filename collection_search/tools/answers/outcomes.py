"""Answers from a model's text, and answers that were not written, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...contracts.answer import Answer
from ...errors import CostLimitReached
from ...planning.answer_prompts import NO_ANSWER
from ...text.redaction import error_message
from ..spending.booked_call import usage_of_failure
from .citing import cite
from .passage_lists import list_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.answer import AnswerReason
    from ...contracts.collection import Passage
    from ...contracts.price_list import PriceList
    from ...ports import ChatModel
    from ..spending.booked_call import CallUsage

_EXCERPT_CHARS: Final = 240
"""Of each passage, where no answer was written."""
_MESSAGES: Final[dict[AnswerReason, str]] = {
    "no_model": (
        "No model writes the answer, so there are passages only. Set COLLECTION_SEARCH_MODEL to a"
        " model that can chat, for example openai:gpt-4o-mini."
    ),
    "model_failed": "The model failed, so there are passages only.",
    "cost_limit": "The ceiling of the cost does not allow an answer, so there are passages only.",
    "no_passages": "Nothing was found that could answer the question.",
    "below_level": "No passage is good enough to answer the question from.",
    "not_answered": "The model wrote no sentence that cites a passage, so there is no answer.",
}


_CUT_OFF: Final = (
    "The model stopped at its limit of tokens, so the text is cut off. Raise the limit of the model"
    " or of its endpoint, or ask a narrower question."
)


def written_answer(
    question: str, text: str, passages: Sequence[Passage], *, cut_off: bool = False, **facts: Any
) -> Answer:
    """Return the answer in a model's text; it is unanswered without a valid citation.

    `cut_off` says that the text ends at a limit of tokens. `facts` are model, tokens and cost.
    """
    cause = _CUT_OFF if cut_off else None
    said = text.replace(NO_ANSWER, "").strip(" \n.*`\"'")
    if not said:
        return unanswered(question, passages, "not_answered", cause=cause, **facts)
    cited = cite(text.replace(NO_ANSWER, ""), passages)
    shown: dict[str, Any] = {
        "text": cited.text,
        "sentences": cited.sentences,
        "removed": cited.removed,
    }
    if not cited.is_supported:
        return unanswered(question, passages, "not_answered", cause=cause, **shown, **facts)
    return Answer(
        question=question,
        outcome="answered",
        message=cause,
        passages=list(passages),
        **shown,
        **facts,
    )


def unanswered(
    question: str,
    passages: Sequence[Passage],
    reason: AnswerReason,
    *,
    cause: str | None = None,
    **facts: Any,
) -> Answer:
    """Return an answer without a supported sentence; `cause` follows the reason's message."""
    message = " ".join(filter(None, [_MESSAGES[reason], cause]))
    return Answer(
        question=question,
        outcome="unanswered",
        reason=reason,
        message=message,
        passages=list(passages),
        **facts,
    )


def failure_reason(
    error: Exception, model: ChatModel, prices: PriceList
) -> tuple[AnswerReason, str, CallUsage]:
    """Return reason and cause of a model's call that failed, and what it took."""
    is_refused = isinstance(error, CostLimitReached)
    reason: AnswerReason = "cost_limit" if is_refused else "model_failed"
    spent = usage_of_failure(error, "chat", model.model_name, prices)
    return reason, error_message(error), spent


def render(answer: Answer) -> str:
    """Return the answer for people: the text and its sources, or the reason and the passages."""
    if answer.outcome == "answered":
        sources = list_sources(answer.sources(), mark="- ")
        text = "\n\n".join(filter(None, [answer.text, answer.message]))
        return f"{text}\n\nSources:\n\n{sources}"
    parts = [answer.text, answer.message]
    if answer.passages:
        parts.append(list_sources(answer.passages, mark="- ", chars=_EXCERPT_CHARS))
    return "\n\n".join(filter(None, parts))
