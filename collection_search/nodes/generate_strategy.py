"""Plan the queries: by the configured model, else by deterministic variants."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ..costs import chat_cost
from ..masking import captured_query, loggable, told
from ..strategy import MAX_QUERIES, MIN_QUERIES, complete_queries, fallback_queries
from .stage import Stage, stage

if TYPE_CHECKING:
    from ..contracts import GraphInput
    from ..ports import QueryPlan
    from ..state import Flag, Strategy, StrategyUpdate

logger = logging.getLogger(__name__)


@stage("k_generate_strategy", kind="generation")
async def generate_strategy(state: GraphInput, at: Stage) -> StrategyUpdate:
    """Return the validated input and three to five queries.

    A model that fails costs the run nothing but the flag `strategy_fallback`.
    """
    wanted = MAX_QUERIES if state.quality_mode == "premium" else MIN_QUERIES
    strategy, facts = await _strategy(state, at, wanted)
    flags: list[Flag] = ["strategy_fallback"] if strategy["fallback"] else []
    question = captured_query(state.question, at.context.using().capture_query)
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
            "question": question,
            "query_count": len(strategy["queries"]),
            "fallback": strategy["fallback"],
            **facts,
        },
    }


async def _strategy(state: GraphInput, at: Stage, wanted: int) -> tuple[Strategy, dict[str, Any]]:
    model = await at.context.query_model()
    if model is None:
        return _fallback(state, wanted, model=None, error=None), {"cost_usd": 0.0}
    try:
        plan = await model.plan(state.question, purpose=state.purpose, count=MAX_QUERIES)
        queries = complete_queries(
            plan.queries, state.question, purpose=state.purpose, minimum=wanted, maximum=MAX_QUERIES
        )
    except Exception as error:
        logger.warning("query planning failed: deterministic queries", exc_info=loggable(error))
        kind = type(error).__name__
        message = told(str(error)) or kind
        at.span.fail(kind, message)
        facts = {"model": model.model_name, "error": message, "cost_usd": None}
        return _fallback(state, wanted, model=model.model_name, error=message), facts
    strategy: Strategy = {"queries": queries, "fallback": False, "model": plan.model, "error": None}
    return strategy, _usage(plan, at)


def _fallback(state: GraphInput, wanted: int, *, model: str | None, error: str | None) -> Strategy:
    queries = fallback_queries(state.question, purpose=state.purpose, count=wanted)
    return {"queries": queries, "fallback": True, "model": model, "error": error}


def _usage(plan: QueryPlan, at: Stage) -> dict[str, Any]:
    cost = chat_cost(plan.model, plan.input_tokens, plan.output_tokens)
    at.span.usage(
        model=plan.model,
        input_tokens=plan.input_tokens,
        output_tokens=plan.output_tokens,
        cost_usd=cost,
    )
    return {
        "model": plan.model,
        "input_tokens": plan.input_tokens,
        "output_tokens": plan.output_tokens,
        "cost_usd": cost,
    }
