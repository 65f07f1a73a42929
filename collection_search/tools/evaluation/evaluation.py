"""Evaluates the ranking on the pools of a labelled data set, against other methods."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...contracts.prices import embedding_cost
from ...errors import ModelError
from ...ranking.calibration import calibration_of
from ...ranking.metrics import (
    Interval,
    ThresholdScores,
    best_score,
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
from .pools import build_pools, embed_corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ...ports import Embedder
    from ...ranking.metrics import Array, Pool, ScoreFunction
    from ...ranking.scoring import Calibration
    from .pools import EvalCorpus, EvalProgress, Space

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
    cost_usd: float | None = None
    """None when the price is not known."""
    problem: str | None = None
    """Cause of a missing calibration; then words are compared, as in a run."""


@dataclass(frozen=True)
class Contender:
    """A way of ranking."""

    name: str
    method: ScoreFunction
    is_gate: bool = False
    """True when its scores are on the scale of 0 to 100 that thresholds are read from."""


@dataclass(frozen=True)
class Figures:
    """The figures of one method: means over the questions, 0 to 1, higher is better."""

    method: str
    ndcg_at_10: Interval
    recall_at_20: Interval
    precision_at_1: Interval
    mrr_at_10: Interval
    ndcg_at_10_in_pool: Interval | None
    """Over the questions with a relevant page in their pool, against the pool's best order."""
    served: Interval | None
    """Share of these questions with a relevant page at 50 or above; None without thresholds."""
    let_through: Interval | None
    """Share of off-topic pools with anything at 60 or above: lower is better."""
    ms_median: float
    """Processor time of one rank."""
    ms_95: float


@dataclass(frozen=True)
class Difference:
    """The paired difference between two methods over the questions."""

    method: str
    rival: str
    ndcg_at_10: Interval


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation."""

    dataset: str
    split: str
    pages: int
    questions: int
    """Those that were asked."""
    questions_in_split: int
    answerable: int
    """Questions with a relevant page in their pool."""
    relevant_pages: int
    relevant_pages_found: int
    """Those that are in the pools."""
    relevant_pages_unknown: int
    """Those that the corpus does not hold; they count as not found."""
    off_topic_pools: int
    model: str | None
    """Fingerprint of the embedder; None when words alone were compared."""
    embedded_texts: int
    embedded_pages: int
    input_tokens: int | None
    cost_usd: float | None
    """What the embedding cost; None when it is not known."""
    calibration: Calibration | None
    """How the model's similarities were read."""
    methods: list[Figures]
    differences: list[Difference]


async def measure_embedder(
    corpus: EvalCorpus, embedder: Embedder, *, folder: Path, progress: EvalProgress | None = None
) -> Model:
    """Return the corpus as the embedder represents it, calibrated as in a run. Raises ModelError.

    `folder`: the settings' data folder with the embedder's scale. `progress` counts texts.
    """
    space, problem = await embed_corpus(corpus, embedder, progress), None
    try:
        calibration = await calibration_of(embedder, folder=folder)
    except ModelError as error:
        calibration, problem = LEXICAL, str(error)
    name = embedder.fingerprint
    return Model(name, space, calibration, embedding_cost(name, space.input_tokens), problem)


def list_contenders(model: Model | None = None) -> list[Contender]:
    """Return the ways of ranking, the package's own first."""
    found = [
        Contender("lexical, default", by_score(LEXICAL, dense=False), is_gate=True),
        Contender("lexical, literal", by_score(None, dense=False), is_gate=True),
        Contender("BM25", by_bm25),
        Contender("search order", by_search),
    ]
    if model is None:
        return found
    return [
        Contender("dense, default", by_score(model.calibration, dense=True), is_gate=True),
        Contender("dense, literal", by_score(None, dense=True), is_gate=True),
        Contender("dense, cosine", by_cosine),
        *found,
    ]


def evaluate_ranking(
    corpus: EvalCorpus, model: Model | None = None, progress: EvalProgress | None = None
) -> Evaluation:
    """Return how each contender ranks the pools of the corpus; `progress` counts the ranks."""
    own, off_topic = build_pools(corpus, model.space if model else None)
    judges = list_contenders(model)
    whole = sum(len(own) + len(off_topic) * each.is_gate for each in judges)
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
        answerable=sum(pool.is_answerable for pool in own),
        relevant_pages=found + sum(len(pool.missed) for pool in own),
        relevant_pages_found=found,
        relevant_pages_unknown=corpus.unknown,
        off_topic_pools=len(off_topic),
        model=model.name if model else None,
        embedded_texts=len(corpus.texts) if model else 0,
        embedded_pages=len(corpus.to_embed) if model else 0,
        input_tokens=model.space.input_tokens if model else 0,
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
    """One contender's figures per question."""

    contender: Contender
    ndcg: Array
    recall: Array
    first: Array
    reciprocal: Array
    in_pool: Array
    gate: ThresholdScores
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
        answerable = [(pool, scores) for pool, scores, _ in found if pool.is_answerable]
        others = off_topic if contender.is_gate else ()
        return cls(
            contender,
            ndcg=np.array([ndcg(s, p.grades, missed=p.missed) for p, s, _ in found]),
            recall=np.array([recall(s, p.grades, missed=p.missed) for p, s, _ in found]),
            first=np.array([reciprocal_rank(s, p.grades, depth=1) for p, s, _ in found]),
            reciprocal=np.array([reciprocal_rank(s, p.grades) for p, s, _ in found]),
            in_pool=np.array([ndcg(s, p.grades) for p, s in answerable]),
            gate=ThresholdScores(
                relevant=np.array([best_score(s[np.array(p.grades) > 0]) for p, s in answerable]),
                off_topic=np.array([best_score(scored(pool)[0]) for pool in others]).reshape(
                    -1, len(own)
                ),
            ),
            times=np.array([1000 * taken for *_, taken in found]),
        )

    def figures(self) -> Figures:
        """Return the means with their intervals."""
        is_gate = self.contender.is_gate
        return Figures(
            method=self.contender.name,
            ndcg_at_10=bootstrap(self.ndcg),
            recall_at_20=bootstrap(self.recall),
            precision_at_1=bootstrap(self.first),
            mrr_at_10=bootstrap(self.reciprocal),
            ndcg_at_10_in_pool=_interval(self.in_pool),
            served=_interval(self.gate.served()) if is_gate else None,
            let_through=_interval(self.gate.let_through()) if self.gate.off_topic.size else None,
            ms_median=round(float(np.median(self.times)), 2),
            ms_95=round(float(np.percentile(self.times, 95)), 2),
        )


def _interval(values: Array) -> Interval | None:
    return bootstrap(values) if len(values) else None
