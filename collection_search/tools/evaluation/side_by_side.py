"""A second ranking of a run's results, which decides nothing and is stored for a report."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...contracts.comparison import ComparedPage, ProfileComparison
from ...errors import CollectionSearchError
from ...ranking.calibration import known_scale
from ...ranking.order_comparison import IngestionRule, OrderComparison, ScoredPage, compare_orders
from ...ranking.preferences import refusal_of
from ...ranking.scoring import PageText, rank_pool, score_words
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...context import SearchContext
    from ...contracts.state import CollectionSearchState, RankedResult, RunIds
    from ...ranking.preferences import Preferences
    from ...ranking.scoring import Calibration, Scored
    from ...settings.ranking_table import ComparedProfile

logger = logging.getLogger(__name__)


class MeasuredPool(NamedTuple):
    """What the deciding ranking measured; the second one uses it too, so that no call is made."""

    similarities: Sequence[float] | None
    """One cosine per candidate; None where words alone are compared."""
    calibration: Calibration | None
    """None where the deciding profile needs none."""
    model: str | None
    """Fingerprint of the embedder, of several their names; None where there is none."""
    preferences: Preferences | None = None
    """What the tenant's own rules make of the candidates."""

    @property
    def has_failed(self) -> bool:
        """True when there is an embedder and no page has a similarity."""
        return bool(self.similarities) and not any(map(math.isfinite, self.similarities or ()))


async def compare_profiles(
    state: CollectionSearchState,
    results: Sequence[RankedResult],
    measured: MeasuredPool,
    context: SearchContext,
    ids: RunIds,
) -> dict[str, Any]:
    """Rank the candidates by the profile `compare_profile` too; return the facts for telemetry.

    What each profile would ingest is told by score alone, before premium and criteria.
    The comparison is stored, but not in a replay. A failure of the store is logged. Empty where
    the setting is off, names the deciding profile, or needs the scale of a model that was not
    measured yet, and where the embedder failed.
    """
    profile = context.using().compare_profile
    if profile is None or profile == context.profile() or measured.has_failed:
        return {}
    scale = measured.calibration
    if profile == "default" and measured.similarities is not None and scale is None:
        known = await known_scale(measured.model or "", folder=context.using().home)
        if known is None:
            return {}
        scale = known.calibration_for(state["question"])
    order = await offload(_ordered, state, profile, measured._replace(calibration=scale))
    rule = IngestionRule(
        state["auto_ingest_min_score"],
        state["auto_ingest_top_k"],
        state["max_candidates"],
        (_scale(one["explanation"] for one in results), _scale(one.explanation for one in order)),
        len(state["candidates"]),
    )
    compared = compare_orders(
        [_scored(one["url"], one["embedding_rank_score"], one["explanation"]) for one in results],
        [_scored(_url(state, one), one.embedding_rank_score, one.explanation) for one in order],
        rule,
    )
    if context.fetches():
        await _store(_record(state, compared, measured, context, ids), context)
    return {"compared_profile": profile, "top10_overlap": compared.top10_overlap}


def _ordered(
    state: CollectionSearchState,
    profile: ComparedProfile,
    measured: MeasuredPool,
) -> list[Scored]:
    """Return all candidates in the order of the profile."""
    candidates = state["candidates"]
    pages = [PageText(title=c["title"], snippet=c["snippet"], url=c["url"]) for c in candidates]
    is_literal, by_words = profile == "literal", profile == "words"
    return rank_pool(
        score_words(state["question"], pages, profile="literal" if is_literal else "default"),
        similarities=None if by_words else measured.similarities,
        calibration=measured.calibration if profile == "default" else None,
        limit=len(pages),
        preferences=measured.preferences,
    )


def _scale(explanations: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the scale of the scores, which all pages of an order share."""
    return next((each.get("scale") for each in explanations), None)


def _scored(url: str, score: float, explanation: Mapping[str, Any]) -> ScoredPage:
    is_refused = bool(refusal_of({"explanation": explanation}))
    return ScoredPage(url, score, is_refused)


def _url(state: CollectionSearchState, scored: Scored) -> str:
    return state["candidates"][scored.index]["url"]


def _record(
    state: CollectionSearchState,
    compared: OrderComparison,
    measured: MeasuredPool,
    context: SearchContext,
    ids: RunIds,
) -> ProfileComparison:
    pages = [
        ComparedPage(
            url=each.url,
            decided_rank=each.rank_a,
            decided_score=each.score_a,
            decided_ingests=each.ingested_a,
            compared_rank=each.rank_b or 0,
            compared_score=each.score_b or 0.0,
            compared_ingests=each.ingested_b,
        )
        for each in compared.places
    ]
    return ProfileComparison(
        tenant_id=context.tenant(),
        collection=state["collection_scope"],
        run_id=ids["run_id"],
        question=state["question"],
        decided_by=context.profile(),
        compared=str(context.using().compare_profile),
        model=None if measured.similarities is None else measured.model,
        min_score=state["auto_ingest_min_score"],
        top10_overlap=compared.top10_overlap,
        rank_correlation=compared.rank_correlation,
        pages=pages,
    )


async def _store(comparison: ProfileComparison, context: SearchContext) -> None:
    try:
        storage = await context.storage()
        await offload(storage.comparisons.add, comparison)
    except CollectionSearchError as error:
        log_failure(logger, "the comparison is not stored", error)
