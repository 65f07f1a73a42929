"""What the rule of automatic ingestion lets through, over labelled pools.

The rule is the product's own: the best 20 results of a search, those at 60 or above, at 50 or above
where fewer than three reach 60, at most 10 of them (`threshold.select_for_ingestion`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..errors import QualityThresholdError
from .metrics import RESAMPLES, Interval, bootstrap
from .threshold import MIN_SCORE, select_for_ingestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from .metrics import Array, Pool, ScoreFunction

SHOWN: Final = 20
"""Results that a run returns by default."""
TOP_K: Final = 10
"""Pages that a run ingests at most by default."""
TENTHS: Final = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
"""The borders of the bands of a reliability table; the last band holds 100 too."""


def ingested(
    scores: Array, *, scale: str | None = None, min_score: float = MIN_SCORE, top_k: int = TOP_K
) -> list[int]:
    """Return the positions that a run would ingest, best first; none where it refuses.

    >>> ingested(np.array([72.0, 31.0, 55.0]))
    [0, 2]
    """
    shown = np.argsort(-scores, kind="stable")[:SHOWN].tolist()
    try:
        chosen = select_for_ingestion(
            [float(scores[place]) for place in shown],
            min_score=min_score,
            top_k=top_k,
            scale=scale,
            pool_size=len(scores),
        )
    except QualityThresholdError:
        return []
    return [shown[position] for position in chosen.positions]


class IngestedPages(NamedTuple):
    """What would be ingested for one question."""

    chosen: int
    hits: int
    """Those that are relevant."""
    relevant: int
    """Relevant pages that the search found; 0: it came back empty-handed."""


@dataclass(frozen=True)
class SelectionFigures:
    """The rule's figures over some questions."""

    questions: Sequence[IngestedPages]
    off_topic: Array
    """Share of each question's off-topic pools of which anything is ingested."""

    @property
    def precision(self) -> Interval | None:
        """Return the share of all ingested pages that are relevant; None where nothing is."""
        return _share([(one.hits, one.chosen) for one in self.questions])

    @property
    def precision_answerable(self) -> Interval | None:
        """Return the same over the questions whose search found a relevant page."""
        return _share([(one.hits, one.chosen) for one in self._answerable])

    @property
    def recall(self) -> Interval | None:
        """Return the share of all relevant pages that are ingested."""
        return _share([(one.hits, one.relevant) for one in self._answerable])

    @property
    def recall_by_question(self) -> Interval | None:
        """Return the mean share of a question's relevant pages that are ingested."""
        return _mean([one.hits / one.relevant for one in self._answerable])

    @property
    def served(self) -> Interval | None:
        """Return the share of answerable questions with a relevant page ingested."""
        return _mean([float(one.hits > 0) for one in self._answerable])

    @property
    def empty_handed(self) -> Interval | None:
        """Return the share of searches without a relevant page of which anything is ingested."""
        return _mean([float(one.chosen > 0) for one in self.questions if not one.relevant])

    @property
    def let_through(self) -> Interval | None:
        """Return the share of off-topic pools of which anything is ingested."""
        return bootstrap(self.off_topic) if len(self.off_topic) else None

    @property
    def _answerable(self) -> list[IngestedPages]:
        return [one for one in self.questions if one.relevant]


def measure_selection(
    score: ScoreFunction,
    own: Iterable[Pool],
    off_topic: Iterable[Pool] = (),
    *,
    scale: str | None = None,
    pairings: int = 1,
) -> SelectionFigures:
    """Return the figures of a way of scoring.

    `off_topic` holds `pairings` pools of each question, pairing by pairing. `scale` is that of the
    scores, for the refusal of whole searches.
    """
    scored = [(score(pool), pool.grades) for pool in own]
    return measure_scored_pools(
        scored, [score(pool) for pool in off_topic], scale=scale, pairings=pairings
    )


def measure_scored_pools(
    own: Iterable[tuple[Array, Sequence[int]]],
    off_topic: Iterable[Array] = (),
    *,
    scale: str | None = None,
    pairings: int = 1,
    min_score: float = MIN_SCORE,
) -> SelectionFigures:
    """Return the same for pools that are scored: scores and grades, and scores off topic."""
    chosen = [(ingested(s, scale=scale, min_score=min_score), grades) for s, grades in own]
    questions = [
        IngestedPages(
            len(places),
            sum(grades[place] > 0 for place in places),
            sum(grade > 0 for grade in grades),
        )
        for places, grades in chosen
    ]
    through = [float(bool(ingested(s, scale=scale, min_score=min_score))) for s in off_topic]
    return SelectionFigures(questions, np.array(through).reshape(pairings, -1).mean(axis=0))


class Band(NamedTuple):
    """The pages whose score lies in one band."""

    low: float
    high: float
    pages: int
    relevant: int

    @property
    def share(self) -> float | None:
        """Return the share that is relevant, None without pages."""
        return self.relevant / self.pages if self.pages else None


def reliability(
    scored: Iterable[tuple[Array, Sequence[int]]], edges: Sequence[float] = TENTHS
) -> list[Band]:
    """Return how many pages of each band of the score are relevant.

    `scored` has the scores and the grades of each pool.

    >>> reliability([(np.array([95.0, 91.0, 12.0]), [1, 0, 0])], edges=(0, 90, 100))
    [Band(low=0, high=90, pages=1, relevant=0), Band(low=90, high=100, pages=2, relevant=1)]
    """
    pools = list(scored)
    scores = np.concatenate([each for each, _ in pools]) if pools else np.array([])
    relevant = np.concatenate([np.array(grades) > 0 for _, grades in pools]) if pools else scores
    places = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, len(edges) - 2)
    pages = np.bincount(places, minlength=len(edges) - 1).tolist()
    hits = np.bincount(places, relevant, minlength=len(edges) - 1).astype(int).tolist()
    return [Band(*row) for row in zip(edges[:-1], edges[1:], pages, hits, strict=True)]


def _mean(values: Sequence[float]) -> Interval | None:
    return bootstrap(np.array(values)) if values else None


def _share(counts: Sequence[tuple[int, int]]) -> Interval | None:
    """Return the ratio of two sums over the questions; they are drawn anew for the interval."""
    found: NDArray[np.int64] = np.array(counts, dtype=np.int64).reshape(-1, 2)
    if not found[:, 1].sum():
        return None
    draw = np.random.default_rng(0)
    drawn = found[draw.integers(0, len(found), (RESAMPLES, len(found)))].sum(axis=1)
    ratios = drawn[:, 0] / np.maximum(drawn[:, 1], 1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Interval(float(found[:, 0].sum() / found[:, 1].sum()), float(low), float(high))
