"""Have the pages judged whose score leaves open whether they are relevant."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from ..errors import CostLimitReached
from ..planning.quality import QUALITY
from ..ports import JudgedPage
from ..ranking.rejudging import explain_judgement, rejudge
from ..runtime.failure_log import log_failure
from ..text.redaction import error_message
from ..tools.premium.cached_reranker import choose_reranker
from ..tools.spending.booked_call import usage_of_failure
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..contracts.state import CollectionSearchState, Flag, RankedResult
    from ..contracts.updates import PremiumUpdate
    from ..ports import Judgement
    from ..tools.premium.cached_reranker import CachedReranker

logger = logging.getLogger(__name__)

NOBODY: Final = "No page was judged: there is neither a chat model nor a reranker."
"""Said where premium has nobody who judges; the ranking stays as it was."""
SWITCHED_OFF: Final = "No page was judged: the setting reranker is none."


@stage("k_premium_rank", kind="generation")
async def premium_rank(state: CollectionSearchState, run: StageRun) -> PremiumUpdate:
    """Return the results in the order of their scores after the judgement of the unsure ones.

    A failure, or the run's ceiling, leaves the ranking as it was and sets `premium_degraded`.
    """
    results = state["results"]
    band = QUALITY[state["quality_mode"]].judged_band
    places = band.places([one["embedding_rank_score"] for one in results]) if band else []
    judge = None
    try:
        judge = await choose_reranker(
            run.context, account=run.account, span=run.span, listener=run.listener
        )
        if judge is None:
            notice = SWITCHED_OFF if run.context.reranker_choice() == "none" else NOBODY
            return _update(results, [], {"judge": "none", "notice": notice})
        if not places:
            return _update(results, [], {"judge": judge.reranker.reranker_name})
        return await _judged(state, places, judge, run)
    except Exception as error:  # noqa: BLE001 - any judge's failure; it is logged here
        return _failed(results, len(places), judge, run, error)


async def _judged(
    state: CollectionSearchState, places: Sequence[int], judge: CachedReranker, run: StageRun
) -> PremiumUpdate:
    results = state["results"]
    pages = [
        JudgedPage(results[place]["title"], results[place]["snippet"], results[place]["url"])
        for place in places
    ]
    made, cached = await judge.judge(state["question"], pages, run.account)
    judged = {place: one for place, one in zip(places, made.pages, strict=True) if one is not None}
    missing = len(places) - len(judged)
    changed = [
        _rescored(one, judged[place], made.model) if place in judged else one
        for place, one in enumerate(results)
    ]
    error = f"{made.model} gave no valid judgement for {missing} of {len(places)} pages."
    facts = {
        "judge": judge.reranker.reranker_name,
        "model": made.model,
        "input_tokens": made.input_tokens,
        "output_tokens": made.output_tokens,
        "cost_usd": made.cost_usd,
        "call_count": int(cached < len(places)),
        "cached_count": cached,
        "unjudged_count": missing,
        "error": error if missing else None,
    }
    ordered = sorted(changed, key=lambda one: -one["embedding_rank_score"])  # ties as before
    moved = [
        changed[place]["embedding_rank_score"] - results[place]["embedding_rank_score"]
        for place in judged
    ]
    return _update(ordered, moved, facts, ["premium_degraded"] if missing else [])


def _rescored(result: RankedResult, judgement: Judgement, model: str) -> RankedResult:
    """Return the result with the score that follows from its judgement, and why."""
    before = result["embedding_rank_score"]
    after = rejudge(before, judgement.relevance)
    explanation = explain_judgement(
        result["explanation"],
        after - before,
        relevance=judgement.relevance,
        reason=judgement.reason,
        model=model,
    )
    return {**result, "embedding_rank_score": after, "explanation": explanation}


def _failed(
    results: list[RankedResult],
    unjudged: int,
    judge: CachedReranker | None,
    run: StageRun,
    error: Exception,
) -> PremiumUpdate:
    message = error_message(error)
    run.span.fail(type(error).__name__, message)
    if not isinstance(error, CostLimitReached):
        log_failure(logger, "no page was judged: the ranking stays", error)
    name = judge.reranker.reranker_name if judge else None
    facts: dict[str, Any] = {"judge": name, "model": name, "cost_usd": 0.0}
    if name is not None:
        spent = usage_of_failure(error, "chat", name, run.account.prices)
        facts |= {
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "cost_usd": spent.cost_usd,
        }
    is_asked = judge is not None and not isinstance(error, CostLimitReached)
    facts |= {"call_count": int(is_asked), "unjudged_count": unjudged, "error": message}
    return _update(results, [], facts, ["premium_degraded"])


def _update(
    results: list[RankedResult],
    moved: Sequence[float],
    facts: Mapping[str, Any],
    flags: Sequence[Flag] = (),
) -> PremiumUpdate:
    raised, lowered = sum(by > 0 for by in moved), sum(by < 0 for by in moved)
    counts = {
        "judged_count": len(moved),
        "kept_count": len(results) - raised - lowered,
        "raised_count": raised,
        "lowered_count": lowered,
        "call_count": 0,
        "cost_usd": 0.0,
        "error": None,
    }
    return {
        "results": results,
        "outcome": "search_completed",
        "flags": list(flags),
        "telemetry": {**counts, **facts},
    }
