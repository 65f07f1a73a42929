"""What would be ingested by a method's scores, and what a score says, as an evaluation tells it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ...ranking.metrics import Interval
from ...ranking.selection_metrics import measure_selection, reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...ranking.metrics import Array, Pool, ScoreFunction

BANDS: Final = (0.0, 20.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
"""Edges of the bands of scores; between 50 and 90 as fine as thresholds are usually set."""
THRESHOLDS: Final = tuple(range(20, 100, 5))
_Z: Final = 1.96


@dataclass(frozen=True)
class ReliabilityBand:
    """The pages with a score of `low` or more and below `high`; the last band has 100 too."""

    low: float
    high: float
    pages: int
    relevant: int
    share: Interval
    """Share of relevant pages, with Wilson's 95 % interval."""


@dataclass(frozen=True)
class TradeOffPoint:
    """What a threshold without a fall-back would ingest; shares are those of all pages."""

    threshold: int
    precision: float | None
    """None where nothing scores as much."""
    recall: float


@dataclass(frozen=True)
class SelectionFindings:
    """What the product's rule does with the pools; shares 0 to 1."""

    ingested: int
    """Pages that would be ingested over all questions."""
    precision: Interval | None
    """Share of relevant ones among them; None where nothing is ingested."""
    recall: Interval | None
    """Share of the relevant pages in the pools that is ingested."""
    served: Interval | None
    """Share of the questions with a relevant page in their pool that get one."""
    empty_pools: int
    """Pools of a question's own search without a relevant page."""
    empty_let_through: Interval | None
    """Share of these of which something is ingested: lower is better."""
    off_topic_let_through: Interval | None
    """Share of other questions' pools of which something is ingested: lower is better."""
    bands: list[ReliabilityBand]
    """Those that have a page."""
    trade_off: list[TradeOffPoint]


def describe_selection(
    score: ScoreFunction, own: Sequence[Pool], off_topic: Sequence[Pool], *, scale: str | None
) -> SelectionFindings:
    """Return the findings; `off_topic` holds as many pools of each question, pairing by pairing.

    `scale` is that of the scores. Figures about pools that do not exist are None.
    """
    pairings = len(off_topic) // len(own) if off_topic else 1
    figures = measure_selection(score, own, off_topic, scale=scale, pairings=pairings)
    scored = [(score(pool), pool.grades) for pool in own]
    return SelectionFindings(
        ingested=sum(one.chosen for one in figures.questions),
        precision=figures.precision,
        recall=figures.recall,
        served=figures.served,
        empty_pools=sum(not one.relevant for one in figures.questions),
        empty_let_through=figures.empty_handed,
        off_topic_let_through=figures.let_through,
        bands=reliability_bands(scored),
        trade_off=trade_off_points(scored),
    )


def reliability_bands(scored: Sequence[tuple[Array, Sequence[int]]]) -> list[ReliabilityBand]:
    """Return the bands that have a page; `scored` has the scores and grades of each pool."""
    return [
        ReliabilityBand(*band, share=wilson_interval(band.relevant, band.pages))
        for band in reliability(scored, BANDS)
        if band.pages
    ]


def trade_off_points(scored: Sequence[tuple[Array, Sequence[int]]]) -> list[TradeOffPoint]:
    """Return precision and recall at each threshold; [] without a relevant page."""
    scores = np.concatenate([np.zeros(0), *(each for each, _ in scored)])
    relevant = np.concatenate([np.zeros(0), *(np.array(grades) > 0 for _, grades in scored)])
    if not relevant.sum():
        return []
    found = []
    for threshold in THRESHOLDS:
        hits = relevant[scores >= threshold]
        precision = float(hits.mean()) if len(hits) else None
        found.append(TradeOffPoint(threshold, precision, float(hits.sum() / relevant.sum())))
    return found


def wilson_interval(hits: int, count: int) -> Interval:
    """Return the share of hits with Wilson's 95 % interval; `count` is 1 or more.

    >>> wilson_interval(0, 10).text(2)
    '0.00 [0.00, 0.28]'
    """
    share, square = hits / count, _Z * _Z / count
    middle = (share + square / 2) / (1 + square)
    reach = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return Interval(share, max(middle - reach, 0.0), min(middle + reach, 1.0))
