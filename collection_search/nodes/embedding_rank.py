"""Order the candidates by similarity and heuristics."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ..contracts.collection import Embedded, model_of
from ..contracts.embedded_text import titled_text
from ..contracts.prices import embedding_cost, tokens_in
from ..errors import CostLimitReached, ModelError
from ..ranking.calibration import await_calibration, start_calibration
from ..ranking.scoring import LEXICAL, Calibration, JudgedPool, PageText, judge_pool, rank_pool
from ..runtime.concurrency import offload
from ..text.redaction import error_message, redact_error
from ..tools.spending.account import answer_key
from ..tools.spending.budget import cost_of_failure
from .stage import StageRun, stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..contracts.collection import Vectors
    from ..contracts.state import Candidate, CollectionSearchState, Flag, RankedResult
    from ..contracts.updates import RankUpdate
    from ..ports import Embedder
    from ..ranking.scoring import Scored
    from ..settings.table import RankingProfile

logger = logging.getLogger(__name__)

INLINE: Final = 64
"""Up to this many pages, below 0.1 ms each, are scored on the event loop: a thread costs more."""
HEAD_START_S: Final = 0.001
"""The embedder's request leaves first; the words are compared while it runs."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The question and the candidates' texts, with the vectors that are cached."""

    all: list[str]
    keys: Mapping[str, str] = field(default_factory=dict)
    """The cache key of each text; empty where vectors are not cached."""
    known: dict[str, Vectors] = field(default_factory=dict)
    """The vector, `(1, d)`, of each text that was embedded before."""

    @property
    def new(self) -> list[str]:
        """The texts to embed, each once."""
        return [text for text in dict.fromkeys(self.all) if text not in self.known]


@dataclass(frozen=True, slots=True)
class MeasuredSimilarity:
    """The candidates' similarities to the question, and what they cost."""

    similarities: list[float] | None = None
    """One cosine per candidate, NaN where there is none; None: compare the words alone."""
    calibration: Calibration | None = None
    input_tokens: int | None = 0
    cost_usd: float | None = 0.0
    known: int = 0
    """Texts whose vectors were cached."""
    error: str | None = None
    """Why there are no similarities."""

    @property
    def degraded(self) -> bool:
        """True when a page has no similarity, or the model no scale."""
        if self.similarities is None:
            return self.error is not None
        return self.calibration is LEXICAL or not all(map(math.isfinite, self.similarities))


@stage("k_embedding_rank", kind="embedding")
async def embedding_rank(state: CollectionSearchState, run: StageRun) -> RankUpdate:
    """Return the best `max_candidates` results with their scores, best first."""
    question, candidates = state["question"], state["candidates"]
    embedder, profile = await run.context.embedder(), run.context.profile()
    texts = await _known(
        [question, *(titled_text(c["title"], c["snippet"]) for c in candidates)], embedder, run
    )
    head_start_s = HEAD_START_S if embedder and texts.new else 0.0
    judging = asyncio.ensure_future(_judged(question, candidates, profile, after_s=head_start_s))
    try:
        measured = await _measured(texts, embedder, run)
        pool = await judging
    finally:
        judging.cancel()
    scored = rank_pool(
        pool,
        similarities=measured.similarities,
        limit=state["max_candidates"],
        calibration=measured.calibration,
        model=embedder.fingerprint if embedder and measured.similarities is not None else None,
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
            "cached": measured.known == len(texts.all),
            "cached_count": measured.known,
        },
    }


async def _judged(
    question: str, candidates: Sequence[Candidate], profile: RankingProfile, *, after_s: float
) -> JudgedPool:
    """Compare the words of question and candidates, `after_s` seconds from now."""
    await asyncio.sleep(after_s)
    pages = [PageText(title=c["title"], snippet=c["snippet"], url=c["url"]) for c in candidates]
    if len(pages) <= INLINE:
        return judge_pool(question, pages, profile=profile)
    return await offload(judge_pool, question, pages, profile=profile)


async def _known(texts: list[str], embedder: Embedder | None, run: StageRun) -> Texts:
    """Return the texts with the vectors of those that were embedded before."""
    if embedder is None or not run.context.answer_cache_s():
        return Texts(texts)
    if embedding_cost(embedder.fingerprint, 1) == 0:
        return Texts(texts)
    keys = {text: answer_key(embedder.fingerprint, text) for text in texts}
    found = await run.account.read_cached_vectors(list(keys.values()))
    return Texts(texts, keys, {text: found[key] for text, key in keys.items() if key in found})


async def _measured(texts: Texts, embedder: Embedder | None, run: StageRun) -> MeasuredSimilarity:
    """Embed the new texts in one request, and at first use the anchors meanwhile."""
    if embedder is None:
        return MeasuredSimilarity()
    new = texts.new
    reserved = embedding_cost(embedder.fingerprint, tokens_in(new)) if new else 0.0
    try:
        run.account.budget.reserve(reserved)
    except CostLimitReached as error:
        return MeasuredSimilarity(error=str(error))
    is_literal = run.context.profile() == "literal"
    scale = None if is_literal else start_calibration(embedder, folder=run.context.using().home)
    measured = await _compared(texts, embedder, run)
    tokens, cost = measured.input_tokens, measured.cost_usd
    run.account.budget.settle(reserved, cost)
    model = model_of(embedder.fingerprint)
    run.span.usage(model=model, input_tokens=tokens, output_tokens=None, cost_usd=cost)
    if new:
        run.account.record_cost("embedding", embedder.fingerprint, cost, input_tokens=tokens)
    else:
        run.account.record_saved("embedding", embedder.fingerprint)
    if scale is None or measured.error:
        return measured
    return replace(measured, calibration=await await_calibration(scale))


async def _compared(texts: Texts, embedder: Embedder, run: StageRun) -> MeasuredSimilarity:
    """Return the similarities of the texts to the first one, or the cause of a failure."""
    is_free = not texts.new
    try:
        embedded = await _embedded(texts, embedder, run)
        similarities = [float(value) for value in embedded.vectors[1:] @ embedded.vectors[0]]
    except Exception as error:
        logger.warning("embedding failed, similarities count as 0", exc_info=redact_error(error))
        cause = error_message(error)
        nothing = [math.nan] * (len(texts.all) - 1)
        cost = cost_of_failure(error)
        return MeasuredSimilarity(nothing, input_tokens=None, cost_usd=cost, error=cause)
    return MeasuredSimilarity(
        similarities,
        input_tokens=embedded.input_tokens,
        cost_usd=0.0 if is_free else embedding_cost(embedder.fingerprint, embedded.input_tokens),
        known=sum(text in texts.known for text in texts.all),
    )


async def _embedded(texts: Texts, embedder: Embedder, run: StageRun) -> Embedded:
    """Return the vectors of all texts, with the tokens of the new ones."""
    new, known = texts.new, texts.known
    if not new:
        return Embedded(np.concatenate([known[text] for text in texts.all]), input_tokens=0)
    async with run.listener.embedding(model_of(embedder.fingerprint), len(new)) as call:
        embedded = await embedder.embed(new)
        vectors = embedded.vectors
        if len(vectors) != len(new):
            raise ModelError(f"the embedder returned {len(vectors)} vectors for {len(new)} texts")
        count, dimension = vectors.shape
        call.embedded(count=count, dimension=dimension, input_tokens=embedded.input_tokens)
    if any(row.shape[1] != vectors.shape[1] for row in known.values()):
        known.clear()  # the model behind the name is another one now
        return replace(await _embedded(texts, embedder, run), input_tokens=None)
    if texts.keys:
        run.account.cache_vectors([texts.keys[text] for text in new], vectors)
    if len(new) == len(texts.all):
        return embedded
    rows = {text: vectors[n : n + 1] for n, text in enumerate(new)} | known
    return replace(embedded, vectors=np.concatenate([rows[text] for text in texts.all]))


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
