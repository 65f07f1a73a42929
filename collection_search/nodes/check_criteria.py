"""Judge the ranked results against the criteria that every page must meet."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from ..contracts.prices import total_cost
from ..errors import CollectionSearchError
from ..runtime.concurrency import offload
from ..runtime.failure_log import log_failure
from ..text.redaction import error_message
from ..tools.criteria.judge import CriteriaJudgement, Judge, require_judge, unjudged
from ..tools.criteria.page_batches import RESULT_CHARS, pages_per_call, text_to_judge
from ..tools.criteria.verdicts import weigh_verdicts
from ..tools.spending.plan_cache import named_model
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.criteria import PageCriteria
    from ..contracts.state import CollectionSearchState, Flag, RankedResult
    from ..contracts.updates import CriteriaUpdate
    from ..tools.criteria.page_batches import TextToJudge

logger = logging.getLogger(__name__)


@stage("k_check_criteria")
async def check_criteria(state: CollectionSearchState, run: StageRun) -> CriteriaUpdate:
    """Return the ranked results with their verdicts, in the same order.

    Pages that could not be judged are refused, and the flag `criteria_not_judged` says so.
    """
    results, settings = state["results"], run.context.using()
    texts = await _texts(state, run)
    judgement = await _judgement(texts, state["criteria"], run)
    checked: list[PageCriteria] = [
        weigh_verdicts(
            page.verdicts,
            judged=text.kind,
            unclear=settings.criteria_unclear,
            on_page=settings.criteria_on_pages,
            failure=page.failure,
        )
        for text, page in zip(texts, judgement.pages, strict=True)
    ]
    is_incomplete = any(page.failure for page in judgement.pages)
    flags: list[Flag] = ["criteria_not_judged"] if is_incomplete else []
    judged: list[RankedResult] = [
        {**result, "criteria": one} for result, one in zip(results, checked, strict=True)
    ]
    return {
        "results": judged,
        "outcome": state["outcome"],
        "flags": flags,
        "telemetry": _facts(judgement, checked),
    }


async def _judgement(
    texts: Sequence[TextToJudge], criteria: list[str], run: StageRun
) -> CriteriaJudgement:
    """Return the judgement; all pages are unjudged where a resumed run has no model."""
    try:
        model = await require_judge(run.context)
    except CollectionSearchError as error:
        message = error_message(error)
        run.span.fail(type(error).__name__, message)
        return unjudged(len(texts), criteria, message)
    judge = Judge(
        model,
        run.account,
        run.sink,
        run.context.trace(run.ids),
        run.listener,
        named_model(run.context) or (),
    )
    judgement = await judge.judge(texts, criteria)
    if saved := math.ceil(judgement.cached_count / pages_per_call(len(criteria))):
        run.account.record_saved("chat", model.model_name, requests=saved)
    return judgement


async def _texts(state: CollectionSearchState, run: StageRun) -> list[TextToJudge]:
    """Return what is judged of each result, with the staged texts as far as they can be read."""
    refs = {page["url"]: page["content_ref"] for page in state["candidates"]}
    wanted = [refs.get(result["url"]) for result in state["results"]]
    staged: list[str | None] = [None] * len(wanted)
    if any(wanted):
        try:
            store = await run.context.storage()
            staged = await offload(_read, store.staging, run.context.tenant(), wanted)
        except CollectionSearchError as error:
            log_failure(logger, "staged texts could not be read", error)
    return [
        text_to_judge(result["title"], result["snippet"], text, chars=RESULT_CHARS)
        for result, text in zip(state["results"], staged, strict=True)
    ]


def _read(staging: Any, tenant_id: str, refs: Sequence[str | None]) -> list[str | None]:
    return [None if ref is None else staging.get(tenant_id, ref) for ref in refs]


def _facts(judgement: CriteriaJudgement, checked: Sequence[PageCriteria]) -> dict[str, Any]:
    failures = [page.failure for page in judgement.pages if page.failure]
    verdicts = [{one["verdict"] for one in page["verdicts"]} for page in checked]
    cost, count = judgement.cost_usd, len(checked)
    return {
        "model": judgement.model,
        "page_count": count,
        "judged_count": count - len(failures),
        "refused_count": sum(page["refused"] for page in checked),
        "kept_count": count - sum(page["refused"] for page in checked),
        "unclear_count": sum("unclear" in words and "no" not in words for words in verdicts),
        "not_judged_count": len(failures),
        "call_count": judgement.calls,
        "cached_count": judgement.cached_count,
        "input_tokens": judgement.input_tokens,
        "output_tokens": judgement.output_tokens,
        "cost_usd": cost,
        "cost_per_page_usd": None if cost is None else total_cost([cost / count]) if count else 0.0,
        "error": failures[0] if failures else None,
    }
