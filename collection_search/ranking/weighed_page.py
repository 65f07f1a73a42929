"""A page's score with all that it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .heuristics import Factors, Points
    from .lexicon import Term
    from .preferences import PagePreference
    from .scoring import Calibration


class AddendWeights(NamedTuple):
    """The weight of each addend of a score; 0 where it does not count."""

    similarity: float
    title: float
    snippet: float
    coverage: float
    url: float


@dataclass(frozen=True)
class ScoreBasis:
    """What the scores of a pool's pages have in common."""

    calibration: Calibration | None
    """None in the profile `literal`."""
    share: float
    """Share of the embedding score; the heuristic score has the rest."""
    factors: Factors
    terms: tuple[Term, ...]
    """The words of the question."""
    model: str | None

    @cached_property
    def weights(self) -> AddendWeights:
        """The weight of each addend of the score."""
        rest = 1 - self.share
        return AddendWeights(self.share, *(factor * rest for factor in self.factors))

    @cached_property
    def least(self) -> float:
        """The embedding score of a page that has nothing to do with the question."""
        scale = self.calibration
        return 100 * scale.probability(scale.unrelated, 0.0) if scale else 0.0


class WeighedPage(NamedTuple):
    """A page's score, and what it was made from."""

    place: int
    score: float
    """0-100, with two decimals."""
    similarity: float
    wording: float
    embedding: float
    heuristic: float
    is_failed: bool
    """True for a page that could not be embedded."""
    parts: Points
    preference: PagePreference
    basis: ScoreBasis

    @property
    def is_refused(self) -> bool:
        """True for a page that ranks last, since it may not be ingested automatically."""
        return bool(self.preference.refused)
