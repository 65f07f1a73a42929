"""The ranking methods that are compared: what the package ships, and its rivals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from fit_scoring import Samples, fit_dense, fit_lexical, measured, minimised

from collection_search.ranking.lexicon import language_of
from collection_search.ranking.metrics import ScoreFunction, by_bm25, by_cosine, by_score
from collection_search.ranking.scoring import DENSE, Calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fit_scoring import Array
    from pools import Pool

EARLIER: Final = {
    "lexical": Calibration("lexical", similarity=0.0, wording=13.39, constant=-0.57),
    "dense": replace(DENSE, similarity=3.72, wording=1.89, constant=-1.81),
}
"""The scales as they were fitted without real search results, for comparison."""


LEFT_TO_WORDS: Final = frozenset({"de"})
"""Languages in which the check of models leaves the model of the pools' vectors out, see
`model_check.py`: there a run compares words."""


@dataclass(frozen=True)
class Method:
    """A way of scoring, its fitted numbers fitted on the other sets."""

    by_set: Mapping[str, ScoreFunction]
    scales: Mapping[str, str] = field(default_factory=dict)
    """The scale of the scores by set, for the refusal of whole searches; without one none is."""


def compared(sets: Mapping[str, Sequence[Pool]]) -> dict[str, Method]:
    """Return every method by label."""
    samples = {name: Samples.of(pools) for name, pools in sets.items()}
    others = {
        name: Samples.joined([each for other, each in samples.items() if other != name])
        for name in sets
    }
    scale = DENSE.unrelated, DENSE.related

    def fitted(make: Callable[[Samples], ScoreFunction]) -> dict[str, ScoreFunction]:
        return {name: make(other) for name, other in others.items()}

    by_words = {name for name, pools in sets.items() if _language(pools) in LEFT_TO_WORDS}
    lexical = fitted(lambda other: by_score(fit_lexical(other), dense=False))
    dense = fitted(lambda other: by_score(fit_dense(other, *scale), dense=True))
    shipped = {name: (lexical if name in by_words else dense)[name] for name in sets}
    of_shipped = {name: "lexical" if name in by_words else "dense" for name in sets}

    def same(method: ScoreFunction) -> dict[str, ScoreFunction]:
        return dict.fromkeys(sets, method)

    return {
        "lexical, default": Method(lexical, dict.fromkeys(sets, "lexical")),
        "lexical, earlier": Method(same(by_score(EARLIER["lexical"], dense=False))),
        "lexical, literal": Method(same(by_score(None, dense=False))),
        "lexical, logistic": Method(fitted(lambda other: logistic(other, dense=False))),
        "BM25": Method(same(by_bm25)),
        "dense, default": Method(shipped, of_shipped),
        "dense, unchecked": Method(dense, dict.fromkeys(sets, "dense")),
        "dense, earlier": Method(same(by_score(EARLIER["dense"], dense=True))),
        "dense, no n-grams": Method(
            fitted(lambda other: without_wording(other, *scale)), dict.fromkeys(sets, "dense")
        ),
        "dense, literal": Method(same(by_score(None, dense=True))),
        "dense, logistic": Method(fitted(lambda other: logistic(other, dense=True))),
        "dense, cosine": Method(same(by_cosine)),
    }


def _language(pools: Sequence[Pool]) -> str:
    return Counter(language_of(pool.question) for pool in pools).most_common(1)[0][0]


def without_wording(samples: Samples, unrelated: float, related: float) -> ScoreFunction:
    """Return the dense score without the similarity of the words."""
    blind = replace(samples, wording=np.zeros(len(samples.wording)))
    return by_score(replace(fit_dense(blind, unrelated, related), wording=0.0), dense=True)


def logistic(samples: Samples, *, dense: bool) -> ScoreFunction:
    """Return a logistic over the same parts: the rival of the 0.6 / 0.4 sum."""

    def features(parts: Array) -> Array:
        return np.column_stack([parts[:, 0 if dense else 1 :], np.ones(len(parts))])

    parts = np.column_stack([samples.similarity, samples.wording, samples.heuristic])
    kind = "dense" if dense else "lexical"
    coefficients = minimised(features(parts), samples, kind, logistic_share=1.0)

    def method(pool: Pool) -> Array:
        return sigmoid(features(np.array(measured(pool))[:, :3]) @ coefficients)

    return method


def sigmoid(x: Array) -> Array:
    """Return 100 times the logistic function."""
    scores: Array = 100 / (1 + np.exp(-x))
    return scores
