"""The ranking methods that are compared: what the package ships, and its rivals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from fit_scoring import RELEVANT_SHARE, Array, Samples, fit_dense, fit_lexical, measured, minimised
from pools import Pool

from collection_search.lexicon import language_of, stems
from collection_search.scoring import Calibration, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

Method: TypeAlias = Callable[[Pool], Array]
"""Gives each page of a pool its score."""
PerSet: TypeAlias = Mapping[str, Method]
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
            name: shipped(fit_lexical(other), dense=False) for name, other in others.items()
        },
        "lexical, literal": dict.fromkeys(sets, shipped(None, dense=False)),
        "lexical, logistic": {name: logistic(other, dense=False) for name, other in others.items()},
        "BM25": dict.fromkeys(sets, bm25),
        "dense, default": {
            name: shipped(fit_dense(other, *scale), dense=True) for name, other in others.items()
        },
        "dense, literal": dict.fromkeys(sets, shipped(None, dense=True)),
        "dense, logistic": {name: logistic(other, dense=True) for name, other in others.items()},
        "dense, cosine": dict.fromkeys(sets, cosine),
    }


def shipped(calibration: Calibration | None, *, dense: bool) -> Method:
    """Return the package's own ranking; without a calibration its profile `literal`."""

    def method(pool: Pool) -> Array:
        found = rank(
            pool.question,
            pool.pages,
            similarities=pool.similarities if dense else None,
            profile="default" if calibration else "literal",
            limit=len(pool.pages),
            calibration=calibration,
        )
        scores = np.zeros(len(found))
        scores[[each.index for each in found]] = [each.embedding_rank_score for each in found]
        return scores

    return method


def bm25(pool: Pool, k1: float = 1.2, b: float = 0.75) -> Array:
    """Score by BM25 with the pool's own frequencies, stems and stop words out."""
    language = language_of(pool.question)
    asked = set(stems(pool.question, language))
    pages = [Counter(stems(f"{page.title} {page.snippet}", language)) for page in pool.pages]
    n, mean = len(pages), sum(page.total() for page in pages) / len(pages) or 1
    known = {stem: sum(stem in page for page in pages) for stem in asked}
    idf = {stem: math.log(1 + (n - df + 0.5) / (df + 0.5)) for stem, df in known.items()}

    def score(page: Counter[str]) -> float:
        norm = k1 * (1 - b + b * page.total() / mean)
        shared = asked & page.keys()
        return sum(idf[stem] * page[stem] * (k1 + 1) / (page[stem] + norm) for stem in shared)

    return np.array([score(page) for page in pages])


def cosine(pool: Pool) -> Array:
    """Score by the model's cosine alone."""
    return 100 * np.array(pool.similarities)


def logistic(samples: Samples, *, dense: bool) -> Method:
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
