"""The judgement of a page's text by the criteria that travel with it, before it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args

from ...contracts.criteria import PageCriteria, UnclearPages
from ...errors import CollectionSearchError, CostLimitReached, IngestError, InputError
from ...runtime.concurrency import compute
from ..spending.plan_cache import named_model
from ..spending.run_spendings import open_account
from .judge import Judge, require_judge
from .page_batches import JUDGED_CHARS, text_to_judge
from .verdicts import is_denied, named_criteria, weigh_verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...context import SearchContext
    from ...ports import SpanSink, TraceRef


class CriteriaNotMetError(IngestError):
    """The criteria of its run refuse the page: it is not stored, and a retry changes nothing."""


class CriteriaNotJudgedError(CollectionSearchError, RuntimeError):
    """No model could judge the page by its criteria at present: it waits."""


def criteria_on_page(
    provenance: Mapping[str, Any], *, is_staged: bool
) -> tuple[list[str], UnclearPages] | None:
    """Return the criteria by which a page's text is still to be judged, and the setting.

    None where there are none, where a person overruled them, and for a staged text that was judged
    with its search result.

    >>> verdicts = [{"criterion": "It is hot", "verdict": "yes"}]
    >>> told = {"judged": "result", "on_page": True, "unclear": "keep", "verdicts": verdicts}
    >>> criteria_on_page({"criteria": told}, is_staged=True)
    (['It is hot'], 'keep')
    >>> criteria_on_page({"criteria": told | {"judged": "page"}}, is_staged=True) is None
    True
    """
    told = provenance.get("criteria")
    if not isinstance(told, dict) or told.get("on_page") is not True or told.get("overruled_by"):
        return None
    if is_staged and told.get("judged") == "page":
        return None
    criteria = named_criteria(told)
    unclear = told.get("unclear")
    chosen = unclear if unclear in get_args(UnclearPages) else "refuse"
    return (criteria, cast("UnclearPages", chosen)) if criteria else None


async def judge_text(
    title: str,
    text: str,
    criteria: list[str],
    *,
    unclear: UnclearPages,
    payer: SearchContext,
    sink: SpanSink,
    trace: TraceRef | None,
) -> PageCriteria:
    """Return the verdicts about a page's text; the `payer` has the model and pays for it.

    Raises CriteriaNotMetError for a page that they refuse, CriteriaNotJudgedError where no model
    could judge it, and CostLimitReached where the payer's ceiling does not allow the call.
    """
    try:
        model = await require_judge(payer)
    except InputError as error:
        raise CriteriaNotJudgedError(f"The page waits to be judged. {error}") from error
    is_new = payer.run_id is None
    account = await open_account(payer, payer.ids(), is_new=is_new, is_shared=True)
    judged = await compute(text_to_judge, title, "", text, chars=JUDGED_CHARS)
    judge = Judge(model, account, sink, trace, identity=named_model(payer) or ())
    try:
        (page,) = (await judge.judge([judged], criteria)).pages
    finally:
        await account.close()
    if page.failure and account.budget.is_reached:
        raise CostLimitReached(page.failure)
    if page.failure and not is_denied(page.verdicts):
        raise CriteriaNotJudgedError(f"The page waits to be judged. {page.failure}")
    met = weigh_verdicts(page.verdicts, judged="page", unclear=unclear, on_page=True)
    if met["refused"]:
        raise CriteriaNotMetError(f"The page's text was judged. {met['reason']}")
    return met
