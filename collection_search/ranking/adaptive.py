"""The minimum score, learnt from the pages that people approved and rejected.

The learnt score is where people begin to approve more pages than they reject: it maximises the
approved pages above it minus the rejected ones. Three things keep it steady. A page near the score
counts in part on both sides. A decision about many pages counts no more than one about ten. And a
score away from the default loses utility with the square of the distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..text.counted import counted
from .rejudging import judged_addend
from .threshold import FALLBACK_SCORE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

MAX_MOVED: Final = 15.0
"""Points that the score may move away from the default."""
LOWEST: Final = 50.0
HIGHEST: Final = 85.0
"""Bounds of a learnt score."""
FEWEST_PAGES: Final = 20
FEWEST_OF_A_KIND: Final = 5
FEWEST_DECISIONS: Final = 5
"""With fewer the default stays."""
_STEP: Final = 1.0
_BLUR: Final = 6.0
"""Points within which a page counts in part above and in part below."""
_DECISION: Final = 10.0
"""What a decision counts at most, in pages."""
_PRIOR: Final = 10.0
"""Pages by which a score ten points away from the default must be better."""


class DecidedScores(NamedTuple):
    """The scores of the pages of one decision, all on the same scale."""

    approved: Sequence[float]
    rejected: Sequence[float]


@dataclass(frozen=True, slots=True)
class Threshold:
    """The score that pages need, and why it is that."""

    min_score: float
    fallback_score: float = FALLBACK_SCORE
    """The score that is tried when too few pages reach `min_score`."""
    reason: str | None = None
    """None where the score is the caller's and nothing was learnt from decisions."""
    is_learnt: bool = False


def learn_threshold(decisions: Sequence[DecidedScores], *, default: float) -> Threshold:
    """Return the learnt score, or the default where there are too few decisions.

    It is a whole number of points from the default, at most 15, within 50 to 85. Another page that
    is approved never raises it, and one that is rejected never lowers it, as long as the decision
    has at most ten pages. The order of decisions and pages does not count. The fall-back score
    rises by as much and does not fall below 50. Left at 50, it would undo a learnt score: fewer
    searches reach that with three pages, so more of them would fall back to what people reject.

    >>> decided = [DecidedScores([90, 85, 80], [72, 68, 64])] * 20
    >>> learnt = learn_threshold(decided, default=60)
    >>> learnt.min_score, learnt.fallback_score
    (68.0, 58.0)
    >>> learnt.reason
    'learnt from 20 decisions of people in this collection: 60 -> 68'
    >>> learn_threshold(decided[:1], default=60).min_score
    60
    """
    counted = [each for each in decisions if each.approved or each.rejected]
    if missing := _missing(counted):
        return Threshold(default, reason=f"the default: {missing}")
    allowed = _allowed(default)
    utility = _utility(counted, allowed) - _PRIOR * ((allowed - default) / 10) ** 2
    best = np.flatnonzero(np.round(utility, 9) == np.round(utility, 9).max())
    learnt = float(min(allowed[best], key=lambda score: (abs(score - default), score)))
    moved = f"{default:g} stays" if learnt == default else f"{default:g} -> {learnt:g}"
    return Threshold(
        learnt,
        fallback_score=FALLBACK_SCORE + max(0.0, learnt - default),
        reason=f"learnt from {len(counted)} decisions of people in this collection: {moved}",
        is_learnt=True,
    )


def _missing(decisions: Sequence[DecidedScores]) -> str | None:
    """Return what there is where that is too little to learn from."""
    approved = sum(len(each.approved) for each in decisions)
    rejected = sum(len(each.rejected) for each in decisions)
    is_enough = (
        len(decisions) >= FEWEST_DECISIONS
        and approved + rejected >= FEWEST_PAGES
        and min(approved, rejected) >= FEWEST_OF_A_KIND
    )
    if is_enough:
        return None
    return (
        f"people decided {counted(len(decisions), 'review')} on this scale, {approved} pages"
        f" approved and {rejected} rejected; {FEWEST_DECISIONS} reviews with {FEWEST_PAGES} pages"
        f" are needed, {FEWEST_OF_A_KIND} of each kind"
    )


def _allowed(default: float) -> NDArray[np.float64]:
    """Return the scores that may be learnt; the default is always among them."""
    steps = (default + np.arange(-MAX_MOVED, MAX_MOVED + _STEP, _STEP)).astype(np.float64)
    allowed: NDArray[np.float64] = steps[
        (steps == default) | ((steps >= LOWEST) & (steps <= HIGHEST))
    ]
    return allowed


def _utility(
    decisions: Iterable[DecidedScores], allowed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of approved pages above each score minus that of rejected ones."""
    weighed = sorted(page for each in decisions for page in _weighed_pages(each))
    scores, weights = np.array(weighed, dtype=np.float64).T
    above = 0.5 * (1 + np.tanh((scores[:, None] - allowed) / (2 * _BLUR)))
    total: NDArray[np.float64] = weights @ above
    return total


def _weighed_pages(decision: DecidedScores) -> Iterable[tuple[float, float]]:
    """Yield each page's score and weight, below zero for rejected ones."""
    weight = min(1.0, _DECISION / (len(decision.approved) + len(decision.rejected)))
    yield from ((float(score), weight) for score in decision.approved)
    yield from ((float(score), -weight) for score in decision.rejected)


def scale_key(explanation: dict[str, Any]) -> tuple[str, str | None]:
    """Return the scale of a score and the model behind it: scores of others are not comparable.

    Scores that a judge has changed have a scale of their own.

    >>> scale_key({"scale": "dense", "model": "local:minilm"})
    ('dense', 'local:minilm')
    >>> scale_key({"scale": "lexical", "model": "a model without a scale"})
    ('lexical', None)
    >>> scale_key({"scale": "dense", "model": "local:minilm", "addends": [{"name": "judge"}]})
    ('dense, judged', 'local:minilm')
    """
    scale = str(explanation.get("scale", ""))
    model = explanation.get("model")
    judged = ", judged" if judged_addend(explanation) else ""
    return scale + judged, None if scale == "lexical" or model is None else str(model)
