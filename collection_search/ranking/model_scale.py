"""What the built-in anchors say of a model: its scale, and the languages that it can tell.

A model whose unrelated texts lie among the related ones makes a ranking worse than words alone do.
The line was measured: `benchmarks/model_check.py`.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..errors import ModelError
from .anchors import LANGUAGES, anchors
from .languages import LANGUAGE_NAMES
from .lexicon import language_of
from .scoring import DENSE, LEXICAL, Calibration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..contracts.collection import Vectors

MIN_DISTANCE: Final = 0.02
"""Least distance of the medians of a usable model."""
MIN_SEPARATION: Final = 3.75
"""Least separation of a language in which a model ranks better than words.

Of 54 models and languages in the benchmark none that loses by the model lies above 3.4, and the
next one above lies at 4.1. Below it some would have gained a little too.
"""
_MAX_SEPARATION: Final = 99.0
"""Stands for cosines that do not vary."""


class Separation(NamedTuple):
    """How far apart related and unrelated pairs of one language lie."""

    auc: float
    """Probability that a related pair has the higher cosine, 0-1."""
    distance: float
    """Distance of the means in standard deviations (d'); it grows on where the former is 1."""

    @property
    def is_enough(self) -> bool:
        """True when the model ranks better than words."""
        return math.isfinite(self.distance) and self.distance >= MIN_SEPARATION


@dataclass(frozen=True, slots=True)
class ModelScale:
    """A model's median cosines of unrelated and of related pairs, and its separations."""

    unrelated: float
    related: float
    separations: Mapping[str, Separation]
    """By language, named as the anchors are; none where an earlier version measured the scale."""
    dimension: int | None = None
    """Of the vectors that were measured; None where an earlier version measured the scale."""

    @property
    def tells_apart(self) -> bool:
        """True when related pairs lie clearly higher."""
        distance = self.related - self.unrelated
        return math.isfinite(distance) and distance > MIN_DISTANCE

    @property
    def is_complete(self) -> bool:
        """True when every language was measured."""
        return self.separations.keys() >= set(LANGUAGES)

    def fits(self, dimension: int | None) -> bool:
        """Return whether vectors of this dimension may be of the same model; true for None."""
        return dimension is None or self.dimension in (None, dimension)

    @property
    def dense(self) -> Calibration:
        """`DENSE` on this scale, whatever the language."""
        return replace(DENSE, unrelated=self.unrelated, related=self.related)

    def calibration_for(self, question: str) -> Calibration:
        """Return `dense`; `LEXICAL` with the reason where the model cannot tell."""
        if reason := self.refusal(question):
            return replace(LEXICAL, reason=reason)
        return self.dense

    def refusal(self, question: str) -> str:
        """Return why the model does not judge pages for this question; empty where it does.

        >>> few = {"english": Separation(0.99, 6.0), "german": Separation(0.8, 1.2)}
        >>> ModelScale(0.1, 0.6, few).refusal("How do I cancel a task?")
        ''
        >>> ModelScale(0.1, 0.6, few).refusal("Wie breche ich eine Aufgabe ab?")
        'the model tells related from unrelated German texts no better than words do'
        """
        language = LANGUAGE_NAMES[language_of(question)]
        if self.can_tell(language):
            return ""
        named = language.capitalize()
        return f"the model tells related from unrelated {named} texts no better than words do"

    def can_tell(self, language: str) -> bool:
        """Return whether the model ranks texts of this language better than words do.

        True where that was not measured.
        """
        known = self.separations.get(language)
        return self.tells_apart and (known is None or known.is_enough)

    def described(self) -> str:
        """Return the languages with their figures as a text.

        >>> few = {"english": Separation(1.0, 9.49), "german": Separation(0.955, 2.47)}
        >>> ModelScale(0.1, 0.6, few).described()
        'English told apart (AUC 1.000), German left to words (AUC 0.955)'
        """
        return ", ".join(
            f"{name.capitalize()} {'told apart' if self.can_tell(name) else 'left to words'}"
            f" (AUC {each.auc:.3f})"
            for name, each in self.separations.items()
        )


def measure_scale(vectors: Vectors) -> ModelScale:
    """Return the scale by the vectors of `anchor_texts`; medians are means over the languages.

    Languages count separately, since a model may place the texts of one nearer together. Raises
    ModelError for a wrong number of vectors and for values that are not finite.
    """
    expected = 2 * sum(map(len, anchors().values()))
    if len(vectors) != expected or not np.isfinite(vectors).all():
        raise ModelError(f"{expected} sound vectors were expected, not these {len(vectors)}.")
    found, separations, start = [], {}, 0
    for language in LANGUAGES:
        size = len(anchors()[language])
        questions, pages = np.split(vectors[start : start + 2 * size], 2)
        cosines, own = questions @ pages.T, np.eye(size, dtype=bool)
        related, unrelated = cosines[own].astype(float), cosines[~own].astype(float)
        found.append((float(np.median(unrelated)), float(np.median(related))))
        separations[language] = _separation(related, unrelated)
        start += 2 * size
    unrelated_median, related_median = map(statistics.fmean, zip(*found, strict=True))
    return ModelScale(
        round(unrelated_median, 4), round(related_median, 4), separations, vectors.shape[1]
    )


def _separation(related: NDArray[np.float64], unrelated: NDArray[np.float64]) -> Separation:
    distance = float(related.mean() - unrelated.mean())
    spread = math.sqrt((related.var() + unrelated.var()) / 2)
    if not distance or abs(distance) >= _MAX_SEPARATION * spread:
        separated = math.copysign(_MAX_SEPARATION, distance) if distance else 0.0
    else:
        separated = distance / spread
    return Separation(round(roc_auc(related, unrelated), 4), round(separated, 3))


def roc_auc(higher: NDArray[np.float64], lower: NDArray[np.float64]) -> float:
    """Return the probability that a value of the first is above one of the second, ties half.

    >>> roc_auc(np.array([0.5, 0.9]), np.array([0.1, 0.5]))
    0.875
    """
    compared = higher[:, None] - lower[None, :]
    return float((compared > 0).mean() + (compared == 0).mean() / 2)
