"""Order the candidates by similarity and heuristics."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, Final

from ..contracts.embedded_text import titled_text
from ..ranking.scoring import PageText, WordScores, rank_pool, score_words
from ..runtime.concurrency import offload
from ..tools.evaluation.side_by_side import MeasuredPool, compare_profiles
from ..tools.similarity.meter import SimilarityMeter
from ..tools.similarity.model_similarity import (
    ModelSimilarity,
    join_similarities,
    total_embedding_cost,
    total_tokens,
)
from .ranking_preferences import tenant_preferences
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.state import Candidate, CollectionSearchState, Flag, RankedResult
    from ..contracts.updates import RankUpdate
    from ..ranking.scoring import Scored
    from ..settings.ranking_table import RankingProfile

INLINE: Final = 64
"""Up to this many pages, below 0.1 ms each, are scored on the event loop: a thread costs more."""
HEAD_START_S: Final = 0.001
"""The embedders' requests leave first; the words are compared while they run."""


@stage("k_embedding_rank", kind="embedding")
async def embedding_rank(state: CollectionSearchState, run: StageRun) -> RankUpdate:
    """Return the best `max_candidates` results with their scores, best first."""
    question, candidates = state["question"], state["candidates"]
    embedders, profile = await run.context.embedders(), run.context.profile()
    texts = [question, *(titled_text(c["title"], c["snippet"]) for c in candidates)]
    meter = SimilarityMeter(run.context, run.account, run.listener, run.sink, run.span)
    requests = await meter.prepare(texts, embedders)
    head_start_s = HEAD_START_S if any(each.is_sent for each in requests) else 0.0
    judging = asyncio.ensure_future(_judged(question, candidates, profile, after_s=head_start_s))
    try:
        members = await meter.measure(requests)
        pool = await judging
    finally:
        judging.cancel()
    joined = join_similarities(members)
    preferences = tenant_preferences(state, run)
    scored = rank_pool(
        pool,
        similarities=joined.similarities,
        limit=state["max_candidates"],
        calibration=joined.calibration,
        model=joined.model,
        preferences=preferences,
    )
    shown = [_similarity(one, joined.mean_cosines) for one in scored]
    results = [
        _result(candidates[one.index], one, similarity)
        for one, similarity in zip(scored, shown, strict=True)
    ]
    measured = MeasuredPool(joined.similarities, joined.calibration, joined.model, preferences)
    compared = await compare_profiles(state, results, measured, run.context, run.ids)
    if run.context.cassette is not None:
        await offload(run.context.cassette.note_pool, question, candidates)
    return {
        "results": results,
        "outcome": "search_completed",
        "flags": _flags(members),
        "telemetry": {
            "input_count": len(candidates),
            "ranked_count": len(candidates),
            "top_k_count": len(scored),
            "avg_embedding_score": _mean([100 * similarity for similarity in shown]),
            "avg_heuristic_score": _mean([one.heuristic_score for one in scored]),
            "embedder": " + ".join(each.fingerprint for each in embedders) or "lexical",
            "profile": profile,
            **_spent(members, len(texts)),
            **compared,
        },
    }


def _flags(members: Sequence[ModelSimilarity]) -> list[Flag]:
    flags: list[Flag] = []
    if any(each.is_degraded for each in members):
        flags.append("embedding_degraded")
    if any(each.refusal for each in members):
        flags.append("model_not_used")
    return flags


def _spent(members: Sequence[ModelSimilarity], count: int) -> dict[str, Any]:
    """Return what the embedders took, together and each, and what was wrong with them."""
    errors = [each.error for each in members if each.error]
    known = sum(each.known for each in members)
    return {
        "error": "; ".join(errors) if len(errors) == len(members) and errors else None,
        "input_tokens": total_tokens(members),
        "cost_usd": total_embedding_cost(members),
        "cached": bool(members) and known == count * len(members),
        "cached_count": known,
        "model_not_used": next((each.refusal for each in members if each.refusal), None),
        "embedders": [each.as_dict() for each in members],
    }


async def _judged(
    question: str, candidates: Sequence[Candidate], profile: RankingProfile, *, after_s: float
) -> WordScores:
    """Compare the words of question and candidates, `after_s` seconds from now."""
    await asyncio.sleep(after_s)
    pages = [PageText(title=c["title"], snippet=c["snippet"], url=c["url"]) for c in candidates]
    if len(pages) <= INLINE:
        return score_words(question, pages, profile=profile)
    return await offload(score_words, question, pages, profile=profile)


def _similarity(scored: Scored, mean_cosines: Sequence[float] | None) -> float:
    """Return the similarity to show: of several models the mean of their cosines."""
    if mean_cosines is None or math.isnan(mean := mean_cosines[scored.index]):
        return scored.embedding_similarity
    return round(mean, 4)


def _result(candidate: Candidate, scored: Scored, similarity: float) -> RankedResult:
    return {
        "url": candidate["url"],
        "title": candidate["title"],
        "snippet": candidate["snippet"],
        "source": candidate["source"],
        "is_pdf": candidate["is_pdf"],
        "embedding_rank_score": scored.embedding_rank_score,
        "embedding_similarity": similarity,
        "heuristic_score": scored.heuristic_score,
        "explanation": scored.explanation,
        "content_ref": candidate["content_ref"],
    }


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 1) if values else 0.0
