"""The cache of query plans: the same question is not planned and paid twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...cassette.codec import plan_answer, read_plan_answer
from ...planning.prompts import strategy_messages
from ...planning.quality import MAX_QUERIES
from .account import answer_key

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.inputs import GraphInput
    from ...ports import QueryPlan
    from .account import Account

_KIND: Final = "plan"


def plan_key(given: GraphInput, context: SearchContext) -> str:
    """Return the cache key of the plan; blank for a live object, which has no identity."""
    model = named_model(context)
    if model is None or not context.answer_cache_s():
        return ""
    asked = strategy_messages(given.question, purpose=given.purpose, count=MAX_QUERIES)
    return answer_key(*model, *(text for _, text in asked))


def named_model(context: SearchContext) -> tuple[str, str] | None:
    """Return the chat model's name and endpoint; None for a live object and without a model."""
    settings = context.using()
    name = settings.model if context.model is None else context.model
    return (name, settings.openai_base_url or "") if isinstance(name, str) else None


async def cached_plan(account: Account, key: str) -> QueryPlan | None:
    """Return the cached plan; None for a blank key."""
    plans = await account.read_cached_answers(_KIND, [key], read_plan_answer) if key else {}
    return plans.get(key)


def cache_plan(account: Account, key: str, plan: QueryPlan) -> None:
    """Cache the plan, unless it is empty or the key is blank."""
    if key and plan.queries:
        account.cache_answers(_KIND, lambda: {key: plan_answer(plan)})
