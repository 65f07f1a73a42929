"""Call the tools that the model asks for, all at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from ..contracts.collection import Passage
from ..errors import CostLimitReached
from ..runtime.cancellation import ends_caller
from ..tools.failed_calls import failed_call
from .conversation import last_number
from .research_tools import Found, call_tool
from .stage import StageRun, stage

if TYPE_CHECKING:
    from .research_state import (
        RequestedCall,
        ResearchFlag,
        ResearchState,
        ToolsUpdate,
        TurnEntry,
    )

MAX_PASSAGES: Final = 120
"""Passages in the state; what is found beyond them is left out."""
_FULL: Final = "There is no room for more passages. Answer from those that you have."


@stage("k_call_tools")
async def call_tools(state: ResearchState, run: StageRun) -> ToolsUpdate:
    """Return what the calls found, with a number for each new passage.

    A call that fails tells the model why; it does not end the run.
    """
    calls = state["turn"][-1]["tool_calls"]
    found = await asyncio.gather(*(_observed(call, state, run) for call in calls))
    passages = [Passage.model_validate(one) for one in state["passages"]]
    last = last_number(state)
    entries = [_entry(call, one, passages, last) for call, one in zip(calls, found, strict=True)]
    responses = [one.response for one in found if one.response is not None]
    failed = [one.text for one in found if one.is_error]
    flags: list[ResearchFlag] = ["tool_failed"] if failed else []
    return {
        "turn": [*state["turn"], *entries],
        "passages": [one.model_dump(mode="json") for one in passages],
        "flags": flags,
        "telemetry": {
            "tools": ", ".join(call["name"] for call in calls),
            "call_count": len(calls),
            "failed_call_count": len(failed),
            "passage_count": len(passages) - len(state["passages"]),
            "cost_usd": run.account.total_search_cost(responses),
        },
    }


async def _observed(call: RequestedCall, state: ResearchState, run: StageRun) -> Found:
    with run.sink.span(call["name"], kind="retriever", trace=run.context.trace(run.ids)) as span:
        try:
            found = await call_tool(call["name"], call["arguments"], state["collection_scope"], run)
        except BaseException as error:
            if ends_caller(error):
                raise
            if isinstance(error, CostLimitReached):  # by an account of the tool's own
                run.account.budget.is_reached = True
            span.fail(type(error).__name__, failed_call(error).text)
            return Found([], failed_call(error).text, is_error=True)
        span.set({"passage_count": len(found.passages)})
        return found


def _entry(call: RequestedCall, found: Found, passages: list[Passage], last: int) -> TurnEntry:
    numbers = [n for one in found.passages if (n := _number(one, passages, last)) is not None]
    return {
        "role": "tool",
        "text": _FULL if found.passages and not numbers else found.text,
        "tool_calls": [],
        "call_id": call["id"],
        "sources": list(dict.fromkeys(numbers)),
    }


def _number(found: Passage, passages: list[Passage], last: int) -> int | None:
    """Return the passage's number, one after `last` for a new one; None where there is no room."""
    key = _key(found)
    for known in passages:
        if _key(known) == key:
            return known.n
    if len(passages) >= MAX_PASSAGES:
        return None
    n = max([last, *(known.n for known in passages)]) + 1
    passages.append(found.model_copy(update={"n": n}))
    return n


def _key(passage: Passage) -> tuple[Any, ...]:
    return passage.url, passage.text
