"""The call of the planning model, within the ceiling of a run and in its books."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...contracts.prices import tokens_in
from ...planning.prompts import strategy_messages
from ...planning.quality import MAX_QUERIES
from ...runtime.spans import NULL_SPAN
from ...runtime.unheard import NULL_LISTENER
from .booked_call import booked_call

if TYPE_CHECKING:
    from ...ports import Listener, QueryModel, QueryPlan, Span
    from .account import Account


async def paid_plan(
    model: QueryModel,
    question: str,
    *,
    purpose: str,
    account: Account,
    span: Span = NULL_SPAN,
    listener: Listener = NULL_LISTENER,
) -> QueryPlan:
    """Return the model's plan for the question, with its cost in account and span.

    Raises CostLimitReached where the run may not pay for it, and whatever the model raises.
    """
    asked = strategy_messages(question, purpose=purpose, count=MAX_QUERIES)
    tokens = tokens_in(text for _, text in asked)
    name, prices = model.model_name, account.prices
    most = prices.chat_cost(name, tokens, prices.plan_tokens(name)[1])
    with booked_call(account, "chat", name, reserved_usd=most, span=span) as booked:
        async with listener.chat(name, asked) as call:
            plan = await model.plan(question, purpose=purpose, count=MAX_QUERIES)
            booked.answered(plan.input_tokens, plan.output_tokens, name=plan.model)
            call.answered(
                json.dumps({"queries": list(plan.queries)}, ensure_ascii=False),
                model=plan.model,
                input_tokens=plan.input_tokens,
                output_tokens=plan.output_tokens,
            )
    return plan
