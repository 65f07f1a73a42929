"""Measure what a learnt minimum score does: python benchmarks/adaptive.py PATH_TO_POOLS.

Simulated people review the first questions that are drawn: they are shown the 20 best pages and
approve the relevant ones, each with a chance of mistake. The score that is learnt from them and the
default then decide, by the product's rule, what the other questions ingest. Precision and recall
are those of all pages that were shown for them; `gain` is how many relevant pages are ingested
more than irrelevant ones, per question. `--shift POINTS` moves every score,
to ask what is learnt where the default fits better or worse. The exit code is 1 when a learnt score
loses gain on average over sets, scales and draws.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from environment import environment
from pools import load_sets

from collection_search.errors import QualityThresholdError
from collection_search.ranking.adaptive import DecidedScores, Threshold, learn_threshold
from collection_search.ranking.metrics import bootstrap, by_score, format_table
from collection_search.ranking.scoring import DENSE, LEXICAL
from collection_search.ranking.threshold import select_for_ingestion
from collection_search.tools.decisions.run_threshold import DEFAULT_MIN_SCORE
from collection_search.tools.evaluation.report import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collection_search.ranking.metrics import Array, Pool

SHOWN: Final = 20
TOP_K: Final = 10
REVIEWED: Final = (5, 10, 20, 40)
MISTAKES: Final = (0.05, 0.10)
DRAWS: Final = 40
MAX_QUESTIONS: Final = 300
HEAD: Final = (
    "set, scale",
    "mistakes",
    "reviewed",
    "learnt",
    "precision",
    "recall",
    "empty-handed",
    "gain",
    "change of gain",
)


class Review(NamedTuple):
    """The pages that are shown for one question, best first."""

    scores: Array
    relevant: Sequence[bool]
    is_empty_handed: bool
    """Whether the search found nothing relevant at all."""


@dataclass(frozen=True)
class Ingested:
    """What a threshold lets through, over the questions."""

    precision: float
    recall: float
    empty_handed: float
    """Share of the searches without a relevant page that ingest something; 0 without such."""
    gain: float


class Reviewers:
    """People who review the questions of one set on one scale."""

    def __init__(self, pools: Sequence[Pool], *, dense: bool, shift: float = 0.0) -> None:
        method = by_score(DENSE if dense else LEXICAL, dense=dense)
        self._reviews = [_shown(pool, np.clip(method(pool) + shift, 0, 100)) for pool in pools]

    def compare(
        self, reviewed: int, mistakes: float, seed: int
    ) -> tuple[Threshold, Ingested, Ingested]:
        """Return what is learnt in one draw, and what the default and it ingest for the others."""
        draw = np.random.default_rng(seed)
        order = draw.permutation(len(self._reviews))
        decided = [_decided(self._reviews[i], draw, mistakes) for i in order[:reviewed]]
        held_out = [self._reviews[i] for i in order[reviewed:]]
        learnt = learn_threshold(decided, default=DEFAULT_MIN_SCORE)
        return learnt, _judge(held_out, Threshold(DEFAULT_MIN_SCORE)), _judge(held_out, learnt)


def _shown(pool: Pool, scores: Array) -> Review:
    best = np.argsort(-scores, kind="stable")[:SHOWN]
    return Review(scores[best], [pool.grades[i] > 0 for i in best], not pool.is_answerable)


def _decided(review: Review, draw: np.random.Generator, mistakes: float) -> DecidedScores:
    approved = np.array(review.relevant) ^ (draw.random(len(review.scores)) < mistakes)
    return DecidedScores(review.scores[approved].tolist(), review.scores[~approved].tolist())


def _judge(reviews: Sequence[Review], threshold: Threshold) -> Ingested:
    taken = [_taken(review, threshold) for review in reviews]
    judged = list(zip(reviews, taken, strict=True))
    right = sum(review.relevant[place] for review, chosen in judged for place in chosen)
    count = sum(map(len, taken))
    empty = [bool(chosen) for review, chosen in judged if review.is_empty_handed]
    return Ingested(
        precision=right / max(count, 1),
        recall=right / max(sum(sum(review.relevant) for review in reviews), 1),
        empty_handed=sum(empty) / max(len(empty), 1),
        gain=(2 * right - count) / len(reviews),
    )


def _taken(review: Review, threshold: Threshold) -> list[int]:
    try:
        chosen = select_for_ingestion(
            review.scores.tolist(),
            min_score=threshold.min_score,
            fallback_score=threshold.fallback_score,
            top_k=TOP_K,
        )
    except QualityThresholdError:
        return []
    return chosen.positions


def rows(label: str, reviewers: Reviewers, changes: list[Array]) -> Iterator[Sequence[str]]:
    """Yield a row per number of reviews and rate of mistakes; add the changes of gain."""
    for mistakes in MISTAKES:
        for reviewed in REVIEWED:
            drawn = [reviewers.compare(reviewed, mistakes, seed) for seed in range(DRAWS)]
            scores = np.array([learnt.min_score for learnt, _, _ in drawn])
            change = np.array([after.gain - before.gain for _, before, after in drawn])
            changes.append(change)
            yield (
                label,
                f"{mistakes:.0%}",
                str(reviewed),
                f"{scores.mean():.1f} +- {scores.std():.1f}",
                *(
                    " -> ".join(
                        f"{np.mean([getattr(one, name) for one in side]):.3f}"
                        for side in (
                            [before for _, before, _ in drawn],
                            [after for _, _, after in drawn],
                        )
                    )
                    for name in ("precision", "recall", "empty_handed", "gain")
                ),
                bootstrap(change).text(),
            )


def main(folder: Path, names: Sequence[str], shift: float) -> int:
    """Print the table; return the exit code."""
    changes: list[Array] = []
    table: list[Sequence[str]] = []
    for name, pools in load_sets(folder).items():
        if names and name not in names:
            continue
        for scale in ("words", "dense"):
            reviewers = Reviewers(pools[:MAX_QUESTIONS], dense=scale == "dense", shift=shift)
            table += rows(f"{name}, {scale}", reviewers, changes)
    print("# Learnt minimum score\n", *environment(PACKAGES), sep="\n")
    print(f"\n{format_table(HEAD, table)}")
    mean = bootstrap(*changes)
    print(f"\nMean change of gain over all rows: {mean.text()}")
    print("Intervals are over the draws, which share questions: so they are too narrow.")
    return int(mean.mean < 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the labelled pools")
    parser.add_argument("--set", action="append", default=[], help="only this set; repeatable")
    parser.add_argument("--shift", type=float, default=0.0, help="points added to every score")
    given = parser.parse_args()
    raise SystemExit(main(given.folder, given.set, given.shift))
