"""The ranking methods that are compared: what the package ships, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from fit_scoring import RELEVANT_SHARE, Array, Samples, fit_dense, fit_lexical, measured, minimised

from collection_search.ranking.metrics import ScoreFunction, by_bm25, by_cosine, by_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pools import Pool

PerSet: TypeAlias = Mapping[str, ScoreFunction]
"""The method by set, its fitted numbers fitted on the other sets."""


def compared(sets: Mapping[str, Sequence[Pool]], scale: tuple[float, float]) -> dict[str, PerSet]:
    """Return every method by label; `scale`: the model's medians, unrelated and related."""
    samples = {name: Samples.of(pools) for name, pools in sets.items()}
    others = {
        name: Samples.joined([each for other, each in samples.items() if other != name])
        for name in sets
    }
    return {
        "lexical, default": {
            name: by_score(fit_lexical(other), dense=False) for name, other in others.items()
        },
        "lexical, literal": dict.fromkeys(sets, by_score(None, dense=False)),
        "lexical, logistic": {name: logistic(other, dense=False) for name, other in others.items()},
        "BM25": dict.fromkeys(sets, by_bm25),
        "dense, default": {
            name: by_score(fit_dense(other, *scale), dense=True) for name, other in others.items()
        },
        "dense, literal": dict.fromkeys(sets, by_score(None, dense=True)),
        "dense, logistic": {name: logistic(other, dense=True) for name, other in others.items()},
        "dense, cosine": dict.fromkeys(sets, by_cosine),
    }


def logistic(samples: Samples, *, dense: bool) -> ScoreFunction:
    """Return a logistic over the same parts: the rival of the 0.6 / 0.4 sum."""

    def features(parts: Array) -> Array:
        return np.column_stack([parts[:, 0 if dense else 1 :], np.ones(len(parts))])

    parts = np.column_stack([samples.similarity, samples.wording, samples.heuristic])
    share = RELEVANT_SHARE["dense" if dense else "lexical"]
    coefficients = minimised(features(parts), samples, share, logistic_share=1.0)

    def method(pool: Pool) -> Array:
        return sigmoid(features(np.array(measured(pool))[:, :3]) @ coefficients)

    return method


def sigmoid(x: Array) -> Array:
    """Return 100 times the logistic function."""
    scores: Array = 100 / (1 + np.exp(-x))
    return scores
