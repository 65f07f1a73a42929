"""Plan the queries with the configured model, else as deterministic variants."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from ..contracts.prices import chat_cost, plan_tokens, tokens_in
from ..errors import CostLimitReached
from ..planning.fallback import complete_queries, fallback_queries
from ..planning.prompts import strategy_messages
from ..planning.quality import MAX_QUERIES, QUALITY
from ..text.redaction import error_message, redact_error, redact_query
from ..tools.spending.plan_cache import cache_plan, cached_plan, plan_key
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.inputs import GraphInput
    from ..contracts.state import Flag, Strategy, StrategyUpdate
    from ..ports import QueryModel, QueryPlan

logger = logging.getLogger(__name__)


@stage("k_generate_strategy", kind="generation")
async def generate_strategy(state: GraphInput, run: StageRun) -> StrategyUpdate:
    """Return the validated input and three to five queries.

    A model that fails, or exceeds the run's cost limit, only sets the flag `strategy_fallback`.
    """
    wanted = QUALITY[state.quality_mode].min_queries
    asked = state.model_copy(update={"purpose": run.context.searched_purpose(state.purpose)})
    strategy, facts = await _strategy(asked, run, wanted)
    flags: list[Flag] = ["strategy_fallback"] if strategy["fallback"] else []
    return {
        **state.model_dump(),  # type: ignore[typeddict-item]
        "strategy": strategy,
        "search": None,
        "candidates": [],
        "results": [],
        "ingestion": None,
        "outcome": None,
        "flags": flags,
        "telemetry": {
            "question": redact_query(state.question, run.context.using().capture_query),
            "query_count": len(strategy["queries"]),
            "fallback": strategy["fallback"],
            **facts,
        },
    }


async def _strategy(
    state: GraphInput, run: StageRun, wanted: int
) -> tuple[Strategy, dict[str, Any]]:
    model = await run.context.query_model()
    if model is None:
        return _fallback(state, wanted, model=None, error=None), {"cost_usd": 0.0}
    key = plan_key(state, run.context)
    known = await cached_plan(run.account, key)
    try:
        plan = known or await _planned(state, run, model)
        queries = complete_queries(
            plan.queries, state.question, purpose=state.purpose, minimum=wanted
        )
    except Exception as error:  # noqa: BLE001 - any model's failure; it is logged there
        return _failed(state, run, wanted, model=model.model_name, error=error)
    if known is None:
        cache_plan(run.account, key, plan)
    strategy: Strategy = {"queries": queries, "fallback": False, "model": plan.model, "error": None}
    return strategy, _usage(plan, run, is_known=known is not None)


async def _planned(state: GraphInput, run: StageRun, model: QueryModel) -> QueryPlan:
    """Return the model's plan. Raises CostLimitReached where the run may not pay for it."""
    asked = strategy_messages(state.question, purpose=state.purpose, count=MAX_QUERIES)
    tokens = tokens_in(text for _, text in asked)
    reserved = chat_cost(model.model_name, tokens, plan_tokens(model.model_name)[1])
    run.account.budget.reserve(reserved)
    cost = None
    try:
        async with run.listener.chat(model.model_name, asked) as call:
            plan = await model.plan(state.question, purpose=state.purpose, count=MAX_QUERIES)
            call.answered(
                json.dumps({"queries": list(plan.queries)}, ensure_ascii=False),
                model=plan.model,
                input_tokens=plan.input_tokens,
                output_tokens=plan.output_tokens,
            )
        cost = chat_cost(plan.model, plan.input_tokens, plan.output_tokens)
        return plan
    finally:
        run.account.budget.settle(reserved, cost)


def _failed(
    state: GraphInput, run: StageRun, wanted: int, *, model: str, error: Exception
) -> tuple[Strategy, dict[str, Any]]:
    message = error_message(error)
    run.span.fail(type(error).__name__, message)
    is_refused = isinstance(error, CostLimitReached)
    cost = 0.0 if is_refused or not getattr(error, "may_be_billed", True) else None
    if not is_refused:
        logger.warning("query planning failed: deterministic queries", exc_info=redact_error(error))
    run.account.record_cost("chat", model, cost)
    facts = {"model": model, "error": message, "cost_usd": cost}
    return _fallback(state, wanted, model=model, error=message), facts


def _fallback(state: GraphInput, wanted: int, *, model: str | None, error: str | None) -> Strategy:
    queries = fallback_queries(state.question, purpose=state.purpose, count=wanted)
    return {"queries": queries, "fallback": True, "model": model, "error": error}


def _usage(plan: QueryPlan, run: StageRun, *, is_known: bool) -> dict[str, Any]:
    tokens = (0, 0) if is_known else (plan.input_tokens, plan.output_tokens)
    cost = 0.0 if is_known else chat_cost(plan.model, *tokens)
    given, made = tokens
    run.span.usage(model=plan.model, input_tokens=given, output_tokens=made, cost_usd=cost)
    if is_known:
        run.account.record_saved("chat", plan.model)
    else:
        run.account.record_cost("chat", plan.model, cost, input_tokens=given, output_tokens=made)
    return {
        "model": plan.model,
        "input_tokens": given,
        "output_tokens": made,
        "cost_usd": cost,
        "cached": is_known,
        "cached_count": int(is_known),
    }
