"""What one embedder says of the pages, and what several say together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...contracts.prices import sum_tokens, total_if_known
from ...ranking.scoring import LEXICAL, Calibration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LIMITS: Final = (-0.5, 1.5)
"""The limits of a placed similarity, as those of `Calibration.probability`."""


@dataclass(frozen=True, slots=True)
class ModelSimilarity:
    """The pages' similarities to the question by one embedder, and what they cost."""

    embedder: str
    """Its fingerprint."""
    cosines: Sequence[float] | None = None
    """One per page, NaN where there is none; None: the embedder was not asked."""
    calibration: Calibration | None = None
    """None in the profile `literal`, and where nothing was measured."""
    input_tokens: int | None = 0
    cost_usd: float | None = 0.0
    known: int = 0
    """Texts whose vectors were cached."""
    error: str | None = None
    """Why there are no similarities."""
    dimension: int | None = None
    """Of the vectors; None where none were made."""

    @property
    def is_degraded(self) -> bool:
        """True when a page has no similarity, or the model no scale."""
        if self.refusal:
            return False
        if self.cosines is None or self.calibration is LEXICAL:
            return True
        return not all(map(math.isfinite, self.cosines))

    @property
    def refusal(self) -> str:
        """Why the model does not judge pages in the question's language; empty where it does."""
        return self.calibration.reason if self.calibration else ""

    @property
    def counts(self) -> bool:
        """True when the model has similarities with a scale, or needs none."""
        is_placed = self.calibration is None or self.calibration.scale == "dense"
        return self.cosines is not None and self.error is None and is_placed

    def with_anchors(self, input_tokens: int | None, cost_usd: float | None) -> ModelSimilarity:
        """Return the same with what the measurement of the model's scale took."""
        return replace(
            self,
            input_tokens=sum_tokens([self.input_tokens, input_tokens]),
            cost_usd=total_if_known([self.cost_usd, cost_usd]),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for the telemetry, JSON-plain."""
        return {
            "embedder": self.embedder,
            "counts": self.counts,
            "input_tokens": self.input_tokens,
            "cost_usd": self.cost_usd,
            "cached_count": self.known,
            "not_used": self.refusal or None,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class JoinedSimilarity:
    """The similarities by which pages are ranked."""

    similarities: Sequence[float] | None = None
    """One per page, on the scale of `calibration`; None: words alone are compared."""
    calibration: Calibration | None = None
    model: str | None = None
    """The embedders that count, or that words stand in for."""
    mean_cosines: Sequence[float] | None = None
    """Where several models count: the mean of their cosines for each page."""


def join_similarities(members: Sequence[ModelSimilarity]) -> JoinedSimilarity:
    """Return what the embedders say together: the mean of their placed similarities.

    Those that failed or cannot tell in the question's language are left out. Where none counts,
    words decide, or, where all failed, every similarity is NaN.
    """
    if counting := [each for each in members if each.counts]:
        return _joined(counting)
    if refused := [each for each in members if each.refusal]:
        return JoinedSimilarity(None, refused[0].calibration, _names(refused))
    if asked := [each for each in members if each.cosines is not None]:
        answered = [each for each in asked if each.error is None] or asked
        return JoinedSimilarity(_means(answered), answered[0].calibration, _names(answered))
    return JoinedSimilarity()


def total_tokens(members: Sequence[ModelSimilarity]) -> int | None:
    """Return the tokens of all embedders, None where those of one are not known."""
    return sum_tokens(each.input_tokens for each in members)


def total_embedding_cost(members: Sequence[ModelSimilarity]) -> float | None:
    """Return the cost of all embedders, None where that of one is not known."""
    return total_if_known(each.cost_usd for each in members)


def _joined(counting: Sequence[ModelSimilarity]) -> JoinedSimilarity:
    first, names = counting[0], _names(counting)
    scales = [each.calibration for each in counting if each.calibration is not None]
    if len(counting) == 1:
        return JoinedSimilarity(first.cosines, first.calibration, names)
    means = _means(counting)
    if not scales:  # the profile `literal`
        return JoinedSimilarity(means, None, names, means)
    unrelated = round(fmean(each.unrelated for each in scales), 4)
    related = round(fmean(each.related for each in scales), 4)
    placed = np.array([_placed(*each) for each in zip(counting, scales, strict=True)])
    similarities = [unrelated + (related - unrelated) * place for place in _finite_means(placed)]
    calibration = replace(scales[0], unrelated=unrelated, related=related)
    return JoinedSimilarity(similarities, calibration, names, means)


def _placed(each: ModelSimilarity, scale: Calibration) -> NDArray[np.float64]:
    cosines = np.array(each.cosines, dtype=float)
    return np.clip((cosines - scale.unrelated) / (scale.related - scale.unrelated), *_LIMITS)


def _means(members: Sequence[ModelSimilarity]) -> list[float]:
    return _finite_means(np.array([each.cosines for each in members], dtype=float))


def _finite_means(rows: NDArray[np.float64]) -> list[float]:
    """Return the mean of each column's finite values, NaN where it has none."""
    are_finite = np.isfinite(rows)
    counts = are_finite.sum(axis=0)
    sums = np.where(are_finite, rows, 0.0).sum(axis=0)
    return [float(s / n) if n else math.nan for s, n in zip(sums, counts, strict=True)]


def _names(members: Sequence[ModelSimilarity]) -> str:
    return " + ".join(each.embedder for each in members)
