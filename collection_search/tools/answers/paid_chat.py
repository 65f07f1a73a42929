"""Calls of a chat model within a run's ceiling, told to those who listen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...contracts.prices import tokens_in
from ...ports import ChatModel
from ..spending.booked_call import booked_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...contracts.price_list import PriceList
    from ...ports import ChatMessage, ChatReply, ChatTool, Listener, Span
    from ..spending.account import Account

_LISTENERS_ROLES = {"user": "human"}


@dataclass(frozen=True, slots=True)
class PaidReply:
    """A reply and what it cost in US dollars; None where that is not known."""

    reply: ChatReply
    cost_usd: float | None


async def chat_model(context: SearchContext) -> ChatModel | None:
    """Return the model that answers, None without one or for one that can only plan.

    Raises ConfigError.
    """
    model: object = await context.query_model()
    return model if isinstance(model, ChatModel) else None


def explain_missing_model(context: SearchContext) -> str | None:
    """Return why there is no model that can chat, where that is not for want of a setting."""
    if context.fetches():
        return None
    return "A cassette replays only the chats that it recorded."


async def paid_chat(
    model: ChatModel,
    messages: Sequence[ChatMessage],
    *,
    tools: Sequence[ChatTool] = (),
    account: Account,
    span: Span,
    listener: Listener,
    most_tokens: int | None = None,
) -> PaidReply:
    """Return the reply, with its cost in account and span.

    The ceiling reserves the price of `most_tokens` of output, by default those of an answer.

    Raises CostLimitReached where the run may not pay for the call, and the model's own error. The
    cost of a failed call is what the error says, else not known.
    """
    reserved = _estimate(account.prices, model, messages, tools, most_tokens)
    name = model.model_name
    told = [(_LISTENERS_ROLES.get(one.role, one.role), _told(one)) for one in messages]
    with booked_call(account, "chat", name, reserved_usd=reserved, span=span) as booked:
        async with listener.chat(name, told, is_draft=True) as call:
            reply = await model.chat(messages, tools=tools)
            booked.answered(reply.input_tokens, reply.output_tokens, name=reply.model)
            call.answered(
                _told(reply),
                model=reply.model,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
            )
    return PaidReply(reply, booked.usage.cost_usd)


def _estimate(
    prices: PriceList,
    model: ChatModel,
    messages: Sequence[ChatMessage],
    tools: Sequence[ChatTool],
    most_tokens: int | None,
) -> float | None:
    texts = [_told(message) for message in messages]
    texts += [json.dumps([tool.name, tool.description, dict(tool.parameters)]) for tool in tools]
    most = prices.answer_tokens(model.model_name) if most_tokens is None else most_tokens
    return prices.chat_cost(model.model_name, tokens_in(texts), most)


def _told(one: ChatMessage | ChatReply) -> str:
    """Return the text, with the calls of tools as JSON behind it."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in one.tool_calls]
    return "\n".join(filter(None, [one.text, json.dumps(calls) if calls else ""]))
