"""Evaluates the ranking on the pools of a labelled data set, against other methods."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...contracts.price_list import LIST_PRICES
from ...errors import ModelError
from ...ranking.calibration import scale_of
from ...ranking.metrics import (
    Interval,
    bootstrap,
    by_bm25,
    by_cosine,
    by_score,
    by_search,
    ndcg,
    recall,
    reciprocal_rank,
)
from ...ranking.scoring import LEXICAL, forget_pools
from ..spending.paid_embedder import PaidEmbedder
from .findings import Difference, Evaluation, Figures
from .pools import build_pools, embed_corpus
from .selection_findings import describe_selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ...ports import Embedder
    from ...ranking.metrics import Array, Pool, ScoreFunction
    from ...ranking.scoring import Calibration
    from .pools import EvalCorpus, EvalProgress, Space
    from .selection_findings import SelectionFindings

RIVALS: Final = {
    "lexical, default": ("lexical, literal", "BM25", "search order"),
    "dense, default": ("dense, literal", "BM25", "search order", "lexical, default"),
}
"""Reported differences, by method."""


@dataclass(frozen=True)
class Model:
    """An embedder with its vectors and the calibration of its similarities."""

    name: str
    space: Space
    calibration: Calibration
    input_tokens: int | None = None
    """Of the corpus, and of the anchors where the scale was measured."""
    cost_usd: float | None = None
    """None when the price is not known."""
    problem: str | None = None
    """Cause of a missing calibration; then words are compared, as in a run."""


@dataclass(frozen=True)
class Contender:
    """A way of ranking."""

    name: str
    method: ScoreFunction
    has_threshold: bool = False
    """True when its scores are on the scale of 0 to 100 that thresholds are read from."""
    scale: str | None = None
    """The calibrated scale of its scores, by which whole searches are refused."""


async def measure_embedder(
    corpus: EvalCorpus, embedder: Embedder, *, folder: Path, progress: EvalProgress | None = None
) -> Model:
    """Return the corpus as the embedder represents it, calibrated as in a run. Raises ModelError.

    `folder`: the settings' data folder with the embedder's scale. `progress` counts texts. A
    `PaidEmbedder` pays for the measurement of its scale too, and raises CostLimitReached.
    """
    space = await embed_corpus(corpus, embedder, progress)
    problem: str | None = None
    try:
        scale = await scale_of(embedder, folder=folder)
    except ModelError as error:
        calibration, problem = LEXICAL, str(error)
    else:
        questions = " ".join(each.text for each in corpus.dataset.questions)
        calibration = scale.calibration_for(questions)  # they are in one language
        problem = f"{embedder.fingerprint}: {why}." if (why := calibration.reason) else None
    name = embedder.fingerprint
    tokens, cost = space.input_tokens, LIST_PRICES.embedding_cost(name, space.input_tokens)
    if isinstance(embedder, PaidEmbedder):
        tokens, cost = embedder.input_tokens, embedder.cost_usd
    return Model(name, space, calibration, tokens, cost, problem)


def list_contenders(model: Model | None = None) -> list[Contender]:
    """Return the ways of ranking, the package's own first."""
    found = [
        Contender(
            "lexical, default", by_score(LEXICAL, dense=False), has_threshold=True, scale="lexical"
        ),
        Contender("lexical, literal", by_score(None, dense=False), has_threshold=True),
        Contender("BM25", by_bm25),
        Contender("search order", by_search),
    ]
    if model is None:
        return found
    return [
        Contender(
            "dense, default",
            by_score(model.calibration, dense=True),
            has_threshold=True,
            scale=model.calibration.scale,
        ),
        Contender("dense, literal", by_score(None, dense=True), has_threshold=True),
        Contender("dense, cosine", by_cosine),
        *found,
    ]


def evaluate_ranking(
    corpus: EvalCorpus, model: Model | None = None, progress: EvalProgress | None = None
) -> Evaluation:
    """Return how each contender ranks the pools of the corpus; `progress` counts the ranks."""
    own, off_topic = build_pools(corpus, model.space if model else None)
    judges = list_contenders(model)
    whole = sum(len(own) + len(off_topic) * each.has_threshold for each in judges)
    done = 0

    def ticked() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, whole)

    judged = [_Judged.of(each, own, off_topic, ticked) for each in judges]
    by_name = {each.contender.name: each for each in judged}
    grades = [pool.grades for pool in own]
    found = int(sum(np.count_nonzero(each) for each in grades))
    return Evaluation(
        dataset=corpus.dataset.name,
        split=corpus.dataset.split,
        pages=len(corpus.pages),
        questions=len(own),
        questions_in_split=corpus.dataset.total,
        has_given_pools=corpus.is_given,
        answerable=sum(pool.is_answerable for pool in own),
        relevant_pages=found + sum(len(pool.missed) for pool in own),
        relevant_pages_found=found,
        relevant_pages_unknown=corpus.unknown,
        unjudged_pages=sum(question.unjudged for question in corpus.dataset.questions),
        off_topic_pools=len(off_topic),
        model=model.name if model else None,
        embedded_texts=len(corpus.texts) if model else 0,
        embedded_pages=len(corpus.to_embed) if model else 0,
        input_tokens=model.input_tokens if model else 0,
        cost_usd=model.cost_usd if model else 0.0,
        calibration=model.calibration if model else None,
        methods=[each.figures() for each in judged],
        differences=[
            Difference(name, rival, bootstrap(each.ndcg - by_name[rival].ndcg))
            for name, each in by_name.items()
            for rival in RIVALS.get(name, ())
        ],
    )


@dataclass(frozen=True)
class _Judged:
    """One contender's figures per question; but for the gate only those with a relevant page."""

    contender: Contender
    ndcg: Array
    recall: Array
    first: Array
    reciprocal: Array
    in_pool: Array
    gate: SelectionFindings | None
    times: Array
    """Milliseconds per rank."""

    @classmethod
    def of(
        cls,
        contender: Contender,
        own: Sequence[Pool],
        off_topic: Sequence[Pool],
        ticked: Callable[[], None],
    ) -> _Judged:
        """Rank every pool; those off topic where scores can be compared with thresholds."""

        def scored(pool: Pool) -> tuple[Array, float]:
            forget_pools()  # so that the time of every method includes reading
            start = time.process_time()
            scores = contender.method(pool)
            taken = time.process_time() - start
            ticked()
            return scores, taken

        found = [(pool, *scored(pool)) for pool in own]
        judged = [(p, s) for p, s, _ in found if p.is_answerable or p.missed]
        gate = None
        if contender.has_threshold:
            known = {id(pool): scores for pool, scores, _ in found}
            known |= {id(pool): scored(pool)[0] for pool in off_topic}
            gate = describe_selection(
                lambda pool: known[id(pool)], own, off_topic, scale=contender.scale
            )
        return cls(
            contender,
            ndcg=np.array([ndcg(s, p.grades, missed=p.missed) for p, s in judged]),
            recall=np.array([recall(s, p.grades, missed=p.missed) for p, s in judged]),
            first=np.array([reciprocal_rank(s, p.grades, depth=1) for p, s in judged]),
            reciprocal=np.array([reciprocal_rank(s, p.grades) for p, s in judged]),
            in_pool=np.array([ndcg(s, p.grades) for p, s in judged if p.is_answerable]),
            gate=gate,
            times=np.array([1000 * taken for *_, taken in found]),
        )

    def figures(self) -> Figures:
        """Return the means with their intervals."""
        return Figures(
            method=self.contender.name,
            ndcg_at_10=bootstrap(self.ndcg),
            recall_at_20=bootstrap(self.recall),
            precision_at_1=bootstrap(self.first),
            mrr_at_10=bootstrap(self.reciprocal),
            ndcg_at_10_in_pool=_interval(self.in_pool),
            gate=self.gate,
            ms_median=round(float(np.median(self.times)), 2),
            ms_95=round(float(np.percentile(self.times, 95)), 2),
        )


def _interval(values: Array) -> Interval | None:
    return bootstrap(values) if len(values) else None
