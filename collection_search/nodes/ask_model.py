"""Ask the model for its next step: calls of tools, or the answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from ..contracts.functions import RETRIEVE, WEB_SEARCH
from ..planning.answer_prompts import LAST_STEP
from ..ports import ChatMessage
from ..runtime.failure_log import log_failure
from ..text.clean import MAX_QUERY_CHARS
from ..tools.answers.outcomes import failure_reason
from ..tools.answers.paid_chat import chat_model, explain_missing_model, paid_chat
from .conversation import conversation
from .research_tools import offered_tools
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..ports import ChatModel, ChatReply
    from .research_state import (
        ModelFailure,
        ModelUpdate,
        RequestedCall,
        ResearchFlag,
        ResearchState,
        TurnEntry,
    )

MAX_STEPS: Final = 6
"""Calls of the model in one turn; at the last one it has to answer."""
MAX_CALLS: Final = 4
"""Calls of tools in one step."""

logger = logging.getLogger(__name__)


@stage("k_ask_model", kind="generation")
async def ask_model(state: ResearchState, run: StageRun) -> ModelUpdate:
    """Return the turn with the model's next message.

    Without a model, and after its failure, the question itself is looked up once.
    """
    if state["failure"] is not None:
        return _without_model(state, state["failure"], [], {"cost_usd": 0.0})
    model = await chat_model(run.context)
    if model is None:
        missing: ModelFailure = {
            "reason": "no_model",
            "cause": explain_missing_model(run.context) or "",
        }
        return _without_model(state, missing, ["no_model"], {"cost_usd": 0.0})
    try:
        reply, cost = await _next_step(state, run, model)
    except Exception as error:  # noqa: BLE001 - of any kind: the run goes on
        reason, cause, spent = failure_reason(error, model, run.account.prices)
        run.span.fail(type(error).__name__, cause)
        log_failure(logger, "the model failed: passages only", error)
        flags: list[ResearchFlag] = ["model_failed"] if reason == "model_failed" else []
        facts = {
            "model": model.model_name,
            "error": cause,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "cost_usd": spent.cost_usd,
        }
        return _without_model(state, {"reason": reason, "cause": cause}, flags, facts)
    calls = _calls(reply) if _steps(state) < MAX_STEPS - 1 else []
    return {
        "turn": [*state["turn"], _said(reply.text, calls, cut_off=reply.cut_off)],
        "failure": None,
        "flags": [],
        "telemetry": {
            "model": reply.model,
            "call_count": len(calls),
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "cost_usd": cost,
        },
    }


async def _next_step(
    state: ResearchState, run: StageRun, model: ChatModel
) -> tuple[ChatReply, float | None]:
    messages = conversation(state)
    if _steps(state) == MAX_STEPS - 1:
        messages.append(ChatMessage("user", LAST_STEP))
    paid = await paid_chat(
        model,
        messages,
        # At the last step too: some vendors refuse earlier calls of tools that are not given.
        tools=offered_tools(run.context, state["collection_scope"]),
        account=run.account,
        span=run.span,
        listener=run.listener,
    )
    return paid.reply, paid.cost_usd


def _steps(state: ResearchState) -> int:
    return sum(entry["role"] == "assistant" for entry in state["turn"])


def _calls(reply: ChatReply) -> list[RequestedCall]:
    return [
        {"id": call.id, "name": call.name, "arguments": call.arguments}
        for call in reply.tool_calls[:MAX_CALLS]
    ]


def _said(text: str, calls: list[RequestedCall], *, cut_off: bool = False) -> TurnEntry:
    """Return the model's message; beside calls its text may repeat a page's orders, so it goes."""
    said: TurnEntry = {
        "role": "assistant",
        "text": "" if calls else text,
        "tool_calls": calls,
        "call_id": None,
        "sources": [],
    }
    if cut_off and not calls:
        said["cut_off"] = True
    return said


def _without_model(
    state: ResearchState,
    failure: ModelFailure,
    flags: list[ResearchFlag],
    facts: dict[str, Any],
) -> ModelUpdate:
    calls = [] if state["turn"] else [_lookup(state)]
    return {
        "turn": [*state["turn"], _said("", calls)],
        "failure": failure,
        "flags": flags,
        "telemetry": {"call_count": len(calls), **facts},
    }


def _lookup(state: ResearchState) -> RequestedCall:
    """Return the call that a model would most likely begin with."""
    query = " ".join(state["asked"].split())[:MAX_QUERY_CHARS]
    if state["collection_scope"]:
        return {"id": "call_1", "name": RETRIEVE.name, "arguments": {"question": query}}
    return {"id": "call_1", "name": WEB_SEARCH.name, "arguments": {"query": query}}
