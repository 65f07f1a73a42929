"""Turn the model's last message into an answer whose citations exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage

from ..tools.answers.outcomes import render, unanswered, written_answer
from .conversation import found_passages, given_passages
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.answer import Answer
    from .research_state import AnswerUpdate, ResearchFlag, ResearchState


@stage("k_cite_answer")
async def cite_answer(state: ResearchState, run: StageRun) -> AnswerUpdate:  # noqa: ARG001 - a stage
    """Return the answer, and the message that people read: its text with numbered sources."""
    answer = _answer(state)
    unsupported = sum(not sentence.supported for sentence in answer.sentences)
    flags: list[ResearchFlag] = ["unsupported_sentences"] if unsupported else []
    return {
        "messages": [AIMessage(render(answer))],
        "answer": answer.model_dump(mode="json"),
        "outcome": answer.outcome,
        "flags": flags,
        "telemetry": {
            "outcome": answer.outcome,
            "sentence_count": len(answer.sentences),
            "unsupported_count": unsupported,
            "removed_count": answer.removed,
            "source_count": len(answer.sources()),
        },
    }


def _answer(state: ResearchState) -> Answer:
    facts = _facts(state)
    if (failure := state["failure"]) is not None:
        found = found_passages(state)
        told = [failure["cause"], *([] if found else _told_by_tools(state))]
        cause = " ".join(filter(None, told)) or None
        return unanswered(state["asked"], found, failure["reason"], cause=cause, **facts)
    given = given_passages(state)
    last = state["turn"][-1]
    cut_off = last.get("cut_off", False)
    return written_answer(state["asked"], last["text"], given, cut_off=cut_off, **facts)


def _told_by_tools(state: ResearchState) -> list[str]:
    """Return what the tools said in place of passages: nothing found, or why they failed."""
    return [entry["text"] for entry in state["turn"] if entry["role"] == "tool" and entry["text"]]


def _facts(state: ResearchState) -> dict[str, Any]:
    """Return model, tokens and cost of all its calls in this turn."""
    told = state["telemetry"]["nodes"]["k_ask_model"]
    names = ("model", "input_tokens", "output_tokens", "cost_usd")
    return {name: told.get(name) for name in names}
