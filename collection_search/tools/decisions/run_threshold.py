"""The score that the pages of a run need, learnt from the decisions in its collection."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ...contracts.inputs import GraphInput
from ...errors import ConfigError, StoreError
from ...ranking.adaptive import DecidedScores, Threshold, learn_threshold, scale_key
from ...ranking.rejudging import judged_addend
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure
from ...text.redaction import error_message
from .history import list_decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...context import SearchContext
    from ...contracts.state import CollectionSearchState, RankedResult
    from .history import PersonDecision

logger = logging.getLogger(__name__)

DEFAULT_MIN_SCORE: Final[float] = GraphInput.model_fields["auto_ingest_min_score"].default


async def find_run_threshold(context: SearchContext, state: CollectionSearchState) -> Threshold:
    """Return the score that the run's results need.

    It is the run's `auto_ingest_min_score`. Where the setting `adaptive_threshold` is on and that
    is the default, it is learnt from the last decisions of people in the tenant's collection, on
    the scale of the run's results. A caller's other score is obeyed. Decisions that cannot be read
    leave the default, and the reason says so.
    """
    asked = state["auto_ingest_min_score"]
    if not context.using().adaptive_threshold:
        return Threshold(asked)
    if asked != DEFAULT_MIN_SCORE:
        return Threshold(asked, reason=f"as the caller asked; the default is {DEFAULT_MIN_SCORE:g}")
    if not state["results"]:
        return Threshold(asked, reason="the default: there is no result")
    try:
        gates = (await context.storage()).gates
        decisions = await offload(
            list_decisions, gates, context.tenant(), collection=state["collection_scope"]
        )
    except (ConfigError, StoreError) as error:
        log_failure(logger, "decisions could not be read", error)
        cause = error_message(error)
        return Threshold(asked, reason=f"the default: decisions could not be read: {cause}")
    return learn_threshold(on_scale(decisions, _run_scale(state["results"])), default=asked)


def _run_scale(results: Sequence[RankedResult]) -> tuple[str, str | None]:
    """Return the scale of the results; where a judge changed some scores, it is that of these.

    A judge is asked about the scores near the threshold, so that its scale decides there.
    """
    explanations = [result["explanation"] for result in results]
    return scale_key(next(filter(judged_addend, explanations), explanations[0]))


def on_scale(
    decisions: Sequence[PersonDecision], scale: tuple[str, str | None]
) -> list[DecidedScores]:
    """Return the scores of the pages that were approved or rejected on that scale."""
    return [
        DecidedScores(
            approved=[
                page.score for page in each.pages if page.scale == scale and page.is_approved
            ],
            rejected=[
                page.score
                for page in each.pages
                if page.scale == scale and page.is_approved is False
            ],
        )
        for each in decisions
    ]
