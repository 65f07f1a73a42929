"""Order the candidates by similarity and heuristics, at a fraction of a model re-ranker's price."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from ..bridge import offload
from ..costs import embedding_cost
from ..errors import ModelError
from ..masking import loggable
from ..scoring import Page, Scored, rank
from .stage import Stage, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import Embedder
    from ..records import Vectors
    from ..state import Candidate, CollectionSearchState, Flag, RankedResult, RankUpdate

logger = logging.getLogger(__name__)


@stage("k_embedding_rank", kind="embedding")
async def embedding_rank(state: CollectionSearchState, at: Stage) -> RankUpdate:
    """Return the best `max_candidates` results with their scores, best first."""
    candidates = state["candidates"]
    embedder = await at.context.embedder()
    similarities = await _similarities(state["question"], candidates, embedder)
    degraded = similarities is not None and not all(map(math.isfinite, similarities))
    scored = await offload(
        rank,
        state["question"],
        [Page(title=c["title"], snippet=c["snippet"], url=c["url"]) for c in candidates],
        similarities=similarities,
        profile=at.context.profile(),
        limit=state["max_candidates"],
    )
    flags: list[Flag] = ["embedding_degraded"] if degraded else []
    return {
        "results": [_result(candidates[one.index], one) for one in scored],
        "outcome": "search_completed",
        "flags": flags,
        "telemetry": {
            "input_count": len(candidates),
            "ranked_count": len(candidates),
            "top_k_count": len(scored),
            "avg_embedding_score": _mean([100 * one.embedding_similarity for one in scored]),
            "avg_heuristic_score": _mean([one.heuristic_score for one in scored]),
            "embedder": embedder.fingerprint if embedder else "lexical",
            "profile": at.context.profile(),
            "cost_usd": _cost(embedder),
        },
    }


async def _similarities(
    question: str, candidates: Sequence[Candidate], embedder: Embedder | None
) -> list[float] | None:
    """Return one cosine per candidate, NaN where there is none; None: judge by the words alone."""
    if embedder is None:
        return None
    texts = [question, *(f"{c['title']}\n{c['snippet']}" for c in candidates)]
    try:
        return _cosines((await embedder.embed(texts)).vectors, pages=len(candidates))
    except Exception as error:
        logger.warning("embedding failed, similarities count as 0", exc_info=loggable(error))
        return [math.nan] * len(candidates)


def _cosines(vectors: Vectors, *, pages: int) -> list[float]:
    if len(vectors) != pages + 1:
        raise ModelError(f"the embedder returned {len(vectors)} vectors for {pages + 1} texts")
    return [float(value) for value in vectors[1:] @ vectors[0]]


def _result(candidate: Candidate, scored: Scored) -> RankedResult:
    return {
        "url": candidate["url"],
        "title": candidate["title"],
        "snippet": candidate["snippet"],
        "source": candidate["source"],
        "is_pdf": candidate["is_pdf"],
        "embedding_rank_score": scored.embedding_rank_score,
        "embedding_similarity": scored.embedding_similarity,
        "heuristic_score": scored.heuristic_score,
        "explanation": scored.explanation,
    }


def _cost(embedder: Any) -> float | None:
    return 0.0 if embedder is None else embedding_cost(embedder.fingerprint, None)


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 1) if values else 0.0
