"""Fit the calibrations of `ranking.scoring`: python benchmarks/fit_scoring.py POOLS.

Prints the two lines that the module holds. The logistic is fitted inside the whole score, so that
the score itself, not only its embedding side, speaks of the probability of relevance.
`RELEVANT_SHARE` and `RIDGE` were chosen by hand, on the held-out figures of `ranking.py` over the
same four pools: expect somewhat less elsewhere. The medians that place the model's scale are those
of the built-in anchors, measured with the model of the pools' vectors.
"""

from __future__ import annotations

import sys
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pools import Pool, load_sets

from collection_search.ranking.heuristics import PageWords, measure_points
from collection_search.ranking.scoring import DENSE, EMBEDDING_SHARE, Calibration
from collection_search.ranking.similarity import LexicalSimilarity

if TYPE_CHECKING:
    from collections.abc import Sequence

RELEVANT_SHARE: Final[dict[str, float]] = {"lexical": 0.40, "dense": 0.26}
"""How much of the loss relevant pages carry. It places 60 on the scale: below one half the score
falls, since a wrong page in a collection costs more than a missed one. A model needs the smaller
share, because it brings near misses of every kind nearer."""
RIDGE: Final[dict[str, float]] = {"lexical": 1e-4, "dense": 6e-5}
"""Keeps the logistic from saturating, where it would no longer order."""

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Every page of one set: what was measured, whether it is relevant, how much it weighs."""

    similarity: Array
    wording: Array
    heuristic: Array
    """0-1."""
    relevant: Array
    weight: Array

    @classmethod
    def of(cls, pools: Sequence[Pool]) -> Samples:
        """Measure the pages; relevant and other pages weigh the same, and so does each set."""
        rows = [row for pool in pools for row in measured(pool)]
        similarity, wording, heuristic, grade = np.array(rows).T
        relevant = (grade > 0).astype(float)
        weight = np.where(relevant > 0, 1 / relevant.sum(), 1 / (1 - relevant).sum())
        return cls(similarity, wording, heuristic, relevant, weight)

    @classmethod
    def joined(cls, sets: Sequence[Samples]) -> Samples:
        """Put several sets together."""
        return cls(*(np.concatenate(each) for each in zip(*map(astuple, sets), strict=True)))


def measured(pool: Pool) -> list[tuple[float, float, float, int]]:
    """Return similarity, wording, heuristic (0-1) and grade of each page."""
    texts = [f"{page.title} {page.snippet}" for page in pool.pages]
    wording = LexicalSimilarity().similarities(pool.question, texts)
    read = [PageWords.of(page) for page in pool.pages]
    points = measure_points(pool.question, pool.pages, read)
    heuristic = [each.relevance / 100 for each in points]
    return list(zip(pool.similarities, wording, heuristic, pool.grades, strict=True))


def fit_lexical(samples: Samples) -> Calibration:
    """Return the calibration of the lexical similarity."""
    features = np.column_stack([samples.wording, np.ones(len(samples.wording))])
    slope, constant = minimised(features, samples, "lexical")
    return Calibration("lexical", 0.0, _short(slope), _short(constant))


def fit_dense(samples: Samples, unrelated: float, related: float) -> Calibration:
    """Return the calibration of a model whose median similarities are given."""
    placed = np.clip((samples.similarity - unrelated) / (related - unrelated), -0.5, 1.5)
    features = np.column_stack([placed, samples.wording, np.ones(len(placed))])
    slope, wording, constant = minimised(features, samples, "dense")
    return Calibration(
        "dense", _short(slope), _short(wording), _short(constant), unrelated, related
    )


def minimised(
    features: Array,
    samples: Samples,
    kind: Literal["lexical", "dense"],
    *,
    logistic_share: float = EMBEDDING_SHARE,
) -> Array:
    """Return the coefficients with the least log loss of the whole score (Levenberg-Marquardt).

    `kind` selects what relevant pages carry of the loss, and the penalty of all but the constant.
    `logistic_share`: what the logistic gives of the score; the heuristic gives the rest.
    """
    relevant, relevant_share = samples.relevant, RELEVANT_SHARE[kind]
    weight = samples.weight * np.where(relevant > 0, relevant_share, 1 - relevant_share)
    weight = weight / weight.sum()
    penalty = RIDGE[kind] * np.append(np.ones(features.shape[1] - 1), 0)

    def judged(coefficients: Array) -> tuple[float, Array, Array]:
        side = 1 / (1 + np.exp(-features @ coefficients))
        score = logistic_share * side + (1 - logistic_share) * samples.heuristic
        score = np.clip(score, 1e-6, 1 - 1e-6)
        loss = -weight @ np.log(np.where(relevant > 0, score, 1 - score))
        return float(loss + penalty @ coefficients**2 / 2), side, score

    coefficients, damping = np.zeros(features.shape[1]), 1e-3
    for _ in range(200):
        loss, side, score = judged(coefficients)
        slopes = features * (logistic_share * side * (1 - side))[:, None]
        spread = score * (1 - score)
        gradient = slopes.T @ (weight * (score - relevant) / spread) + penalty * coefficients
        curvature = slopes.T @ (slopes * (weight / spread)[:, None]) + np.diag(penalty + damping)
        step = np.linalg.solve(curvature, gradient)
        if judged(coefficients - step)[0] <= loss:
            coefficients, damping = coefficients - step, damping / 3
        else:
            damping *= 4
        if np.abs(step).max() < 1e-6:
            break
    return coefficients


def _short(value: float) -> float:
    return round(float(value), 2)


def main(folder: Path) -> None:
    """Print the calibrations fitted on all sets of the folder."""
    samples = Samples.joined([Samples.of(pools) for pools in load_sets(folder).values()])
    print("LEXICAL: Final =", fit_lexical(samples))
    print("DENSE: Final =", fit_dense(samples, DENSE.unrelated, DENSE.related))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
