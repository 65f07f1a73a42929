"""What a run need not pay for again: its plan and its searches, as far as they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...cassette.codec import read_plan_answer
from ...contracts.options import SearchOptions
from ...planning.fallback import MAX_QUERIES, MIN_QUERIES, complete_queries, fallback_queries
from ...planning.prompts import strategy_messages
from ...runtime.spans import NULL_SINK
from ..search.route import search_route
from .account import Account, answer_key

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.inputs import GraphInput
    from ...ports import QueryModel

PLAN: Final = "plan"
"""Kind of the plans among the answers that are kept."""


def plan_key(given: GraphInput, context: SearchContext) -> str:
    """Return what the plan is remembered by; nothing for a live object, which has no identity."""
    settings = context.using()
    name = settings.model if context.model is None else context.model
    if not isinstance(name, str) or not context.answer_cache_s():
        return ""
    asked = strategy_messages(given.question, purpose=given.purpose, count=MAX_QUERIES)
    return answer_key(name, settings.openai_base_url or "", *(text for _, text in asked))


async def known_queries(
    given: GraphInput, context: SearchContext, model: QueryModel | None
) -> list[str] | None:
    """Return the queries that the run will send; None where a model has to be asked for them."""
    wanted = MAX_QUERIES if given.quality_mode == "premium" else MIN_QUERIES
    if model is None:
        return fallback_queries(given.question, purpose=given.purpose, count=wanted)
    if not (key := plan_key(given, context)):
        return None
    account = Account(context, context.ids())
    plans = await account.recalled(PLAN, [key], read_plan_answer)
    if key not in plans:
        return None
    return complete_queries(
        plans[key].queries,
        given.question,
        purpose=given.purpose,
        minimum=wanted,
        maximum=MAX_QUERIES,
    )


async def known_searches(
    queries: list[str], given: GraphInput, context: SearchContext, *, max_results: int
) -> int:
    """Return how many of the queries the first provider has answered before; nobody is asked."""
    is_premium = given.quality_mode == "premium"
    route = await search_route(
        context,
        max_results=max_results,
        oversample_factor=4 if is_premium else 2,
        sink=NULL_SINK,
        account=Account(context, context.ids()),
    )
    return await route.known(queries, SearchOptions(search_depth="deep") if is_premium else None)
