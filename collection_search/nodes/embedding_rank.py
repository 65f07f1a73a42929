"""Order the candidates by similarity and heuristics, at a fraction of a model re-ranker's price."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..bridge import offload
from ..calibration import begun, settled
from ..costs import embedding_cost
from ..errors import ModelError
from ..masking import loggable, told
from ..scoring import LEXICAL, Calibration, Judged, Page, judged, ranked
from .stage import Stage, stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Profile
    from ..ports import Embedder
    from ..records import Vectors
    from ..scoring import Scored
    from ..state import Candidate, CollectionSearchState, Flag, RankedResult, RankUpdate

logger = logging.getLogger(__name__)

INLINE: Final = 64
"""Up to so many pages, below 0.1 ms each, are judged on the event loop: a thread costs more."""
HEAD_START_S: Final = 0.001
"""The model's request leaves before the words are compared, which then costs no time."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How near the candidates lie to the question, and what it took to know."""

    similarities: list[float] | None = None
    """One cosine per candidate, NaN where there is none; None: judge by the words alone."""
    calibration: Calibration | None = None
    input_tokens: int | None = 0
    cost_usd: float | None = 0.0
    error: str | None = None
    """Why there are no similarities."""

    @property
    def degraded(self) -> bool:
        """True when a page has no similarity, or the model no scale."""
        return self.similarities is not None and (
            self.calibration is LEXICAL or not all(map(math.isfinite, self.similarities))
        )


@stage("k_embedding_rank", kind="embedding")
async def embedding_rank(state: CollectionSearchState, at: Stage) -> RankUpdate:
    """Return the best `max_candidates` results with their scores, best first."""
    question, candidates = state["question"], state["candidates"]
    embedder, profile = await at.context.embedder(), at.context.profile()
    asked = asyncio.ensure_future(_measured(question, candidates, embedder, at))
    try:
        await asyncio.wait({asked}, timeout=HEAD_START_S)
        pool = await _judged(question, candidates, profile)
        measured = await asked
    finally:
        asked.cancel()
    scored = ranked(
        pool,
        similarities=measured.similarities,
        limit=state["max_candidates"],
        calibration=measured.calibration,
        model=embedder.fingerprint if embedder else None,
    )
    flags: list[Flag] = ["embedding_degraded"] if measured.degraded else []
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
            "profile": profile,
            "error": measured.error,
            "input_tokens": measured.input_tokens,
            "cost_usd": measured.cost_usd,
        },
    }


async def _judged(question: str, candidates: Sequence[Candidate], profile: Profile) -> Judged:
    """Compare the words of question and candidates."""
    pages = [Page(title=c["title"], snippet=c["snippet"], url=c["url"]) for c in candidates]
    if len(pages) <= INLINE:
        return judged(question, pages, profile=profile)
    return await offload(judged, question, pages, profile=profile)


async def _measured(
    question: str, candidates: Sequence[Candidate], embedder: Embedder | None, at: Stage
) -> Measured:
    """Embed question and candidates in one request, and meanwhile the anchors at first use."""
    if embedder is None:
        return Measured()
    is_literal = at.context.profile() == "literal"
    scale = None if is_literal else begun(embedder, folder=at.context.using().home)
    texts = [question, *(f"{c['title']}\n{c['snippet']}" for c in candidates)]
    embedded, cause = None, None
    try:
        embedded = await embedder.embed(texts)
        similarities = _cosines(embedded.vectors, pages=len(candidates))
    except Exception as error:
        logger.warning("embedding failed, similarities count as 0", exc_info=loggable(error))
        similarities = [math.nan] * len(candidates)
        scale = None
        cause = told(str(error)) or type(error).__name__
    tokens = None if embedded is None else embedded.input_tokens
    cost = embedding_cost(embedder.fingerprint, tokens)
    model = embedder.fingerprint.partition(":")[2] or embedder.fingerprint
    at.span.usage(model=model, input_tokens=tokens, output_tokens=None, cost_usd=cost)
    calibration = None if scale is None else await settled(scale)
    return Measured(similarities, calibration, tokens, cost, cause)


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


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 1) if values else 0.0
