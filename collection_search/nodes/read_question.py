"""Read the question of a turn, and forget what only the last turn needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from langchain_core.messages import HumanMessage

from ..text.redaction import redact_query
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.research import ResearchTurn
    from .research_state import QuestionUpdate

MAX_KEPT: Final = 40
"""Passages of earlier turns that stay in the state, the last ones."""


@stage("k_read_question")
async def read_question(state: ResearchTurn, run: StageRun) -> QuestionUpdate:
    """Return the question as a message of the chat, and the passages of earlier turns."""
    asked = state.asked()
    settings = run.context.using()
    collection = state.collection_scope or settings.default_collection
    return {
        "messages": [] if state.question is None else [HumanMessage(asked)],
        "asked": asked,
        "collection_scope": collection,
        "passages": [one.model_dump(mode="json") for one in state.passages[-MAX_KEPT:]],
        "turn": [],
        "failure": None,
        "answer": None,
        "outcome": None,
        "flags": [],
        "telemetry": {
            "question": redact_query(asked, settings.capture_query),
            "collection": collection,
            "message_count": len(state.messages),
        },
    }
