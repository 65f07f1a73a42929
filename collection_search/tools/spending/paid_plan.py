"""The call of the planning model, within the cost limit of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...contracts.prices import tokens_in
from ...planning.prompts import strategy_messages
from ...planning.quality import MAX_QUERIES
from ...runtime.unheard import NULL_LISTENER

if TYPE_CHECKING:
    from ...ports import Listener, QueryModel, QueryPlan
    from .account import Account


async def paid_plan(
    model: QueryModel,
    question: str,
    *,
    purpose: str,
    account: Account,
    listener: Listener = NULL_LISTENER,
) -> QueryPlan:
    """Return the model's plan for the question; the listener is told of the call.

    Raises CostLimitReached where the run may not pay for it, and whatever the model raises.
    """
    asked = strategy_messages(question, purpose=purpose, count=MAX_QUERIES)
    tokens = tokens_in(text for _, text in asked)
    name, prices, budget = model.model_name, account.prices, account.budget
    reserved = prices.chat_cost(name, tokens, prices.plan_tokens(name)[1])
    budget.reserve(reserved, "chat", name)
    cost = None
    try:
        async with listener.chat(name, asked) as call:
            plan = await model.plan(question, purpose=purpose, count=MAX_QUERIES)
            call.answered(
                json.dumps({"queries": list(plan.queries)}, ensure_ascii=False),
                model=plan.model,
                input_tokens=plan.input_tokens,
                output_tokens=plan.output_tokens,
            )
        cost = prices.chat_cost(plan.model, plan.input_tokens, plan.output_tokens)
        return plan
    finally:
        budget.settle(reserved, cost)
