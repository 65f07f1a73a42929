"""Plan the queries with the configured model, else as deterministic variants."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from ..errors import CostLimitReached
from ..planning.fallback import complete_queries, fallback_queries, usable_queries
from ..planning.quality import QUALITY
from ..runtime.failure_log import log_failure
from ..text.redaction import error_message, redact_query
from ..tools.criteria.judge import require_judge
from ..tools.spending.booked_call import usage_of_failure
from ..tools.spending.paid_plan import paid_plan
from ..tools.spending.plan_cache import cache_plan, cached_plan, plan_key
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.inputs import SearchInput
    from ..contracts.state import Flag, Strategy
    from ..contracts.updates import StrategyUpdate
    from ..ports import QueryPlan

_NO_QUERY: Final = "the model gave no query that can be searched for"

logger = logging.getLogger(__name__)


@stage("k_generate_strategy", kind="generation")
async def generate_strategy(state: SearchInput, run: StageRun) -> StrategyUpdate:
    """Return the validated input and three to five queries.

    A model that fails, gives no query or exceeds the run's cost limit only sets the flag
    `strategy_fallback`. Raises InputError for criteria without a model that can judge them,
    ConfigError for embedders that cannot be made, and ModelError for a refused key where the run's
    model is not optional.
    """
    await run.context.embedders()  # what these cannot do without is told before anything is paid
    if state.criteria:
        await require_judge(run.context)
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
        "max_rounds": getattr(state, "max_rounds", 0),
        "reviewed": [],
        "review": None,
        "coverage": None,
        "telemetry": {
            "question": redact_query(state.question, run.context.using().capture_query),
            "query_count": len(strategy["queries"]),
            "fallback": strategy["fallback"],
            **facts,
        },
    }


async def _strategy(
    state: SearchInput, run: StageRun, wanted: int
) -> tuple[Strategy, dict[str, Any]]:
    model = await run.context.query_model()
    if model is None:
        return _fallback(state, wanted, model=None, error=None), {"cost_usd": 0.0}
    key = plan_key(state, run.context)
    known = await cached_plan(run.account, key)
    try:
        plan = known or await paid_plan(
            model,
            state.question,
            purpose=state.purpose,
            account=run.account,
            span=run.span,
            listener=run.listener,
        )
        has_any = bool(usable_queries(plan.queries))
        queries = complete_queries(
            plan.queries, state.question, purpose=state.purpose, minimum=wanted
        )
    except Exception as error:  # any model's failure; it is logged there
        if not run.context.model_optional and getattr(error, "key_refused", False):
            raise
        return _failed(state, run, wanted, model=model.model_name, error=error)
    facts = _usage(plan, run, asked=model.model_name, is_known=known is not None)
    if not has_any:  # it is paid for all the same
        run.span.fail("ModelError", _NO_QUERY)
        strategy = _fallback(state, wanted, model=plan.model, error=_NO_QUERY)
        return strategy, facts | {"error": _NO_QUERY}
    if known is None:
        cache_plan(run.account, key, plan)
    return {"queries": queries, "fallback": False, "model": plan.model, "error": None}, facts


def _failed(
    state: SearchInput, run: StageRun, wanted: int, *, model: str, error: Exception
) -> tuple[Strategy, dict[str, Any]]:
    message = error_message(error)
    run.span.fail(type(error).__name__, message)
    if not isinstance(error, CostLimitReached):
        log_failure(logger, "query planning failed: deterministic queries", error)
    spent = usage_of_failure(error, "chat", model, run.account.prices)
    facts = {
        "model": model,
        "error": message,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_usd": spent.cost_usd,
    }
    return _fallback(state, wanted, model=model, error=message), facts


def _fallback(state: SearchInput, wanted: int, *, model: str | None, error: str | None) -> Strategy:
    queries = fallback_queries(state.question, purpose=state.purpose, count=wanted)
    return {"queries": queries, "fallback": True, "model": model, "error": error}


def _usage(plan: QueryPlan, run: StageRun, *, asked: str, is_known: bool) -> dict[str, Any]:
    tokens = (0, 0) if is_known else (plan.input_tokens, plan.output_tokens)
    cost = 0.0 if is_known else run.account.prices.chat_cost(plan.model, *tokens, asked=asked)
    given, made = tokens
    if is_known:
        run.span.usage(model=plan.model, input_tokens=given, output_tokens=made, cost_usd=cost)
        run.account.record_saved("chat", plan.model)
    return {
        "model": plan.model,
        "input_tokens": given,
        "output_tokens": made,
        "cost_usd": cost,
        "cached": is_known,
        "cached_count": int(is_known),
    }
