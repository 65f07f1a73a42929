"""Figures of the reviews as text that fits a terminal."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from .narrow_tables import narrow_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...tools.decisions.review_figures import BandFigures, LearntScore, PeriodFigures

_COLUMNS: Final = (
    "when", "opened", "person", "deadline", "open", "shown", "approved", "rejected", "added",
    "median",
)  # fmt: skip
_WIDTH: Final = 78
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_DAY_S: Final = 86_400


def format_periods(figures: Sequence[PeriodFigures], *, width: int) -> Iterator[str]:
    """Yield a table per collection: a row for each day or week; several where that is narrow."""
    for name, rows in groupby(figures, key=lambda each: each.collection):
        yield f"Collection {name}"
        cells = [_cells(each) for each in rows]
        yield from narrow_tables(_COLUMNS, cells, columns=width, gap=" ")
        yield ""


def _cells(each: PeriodFigures) -> tuple[str, ...]:
    numbers = (each.opened, each.by_person, each.by_deadline, each.is_open, each.shown)
    decided = (each.approved, each.rejected, each.added)
    counts = (str(number) for number in (*numbers, *decided))
    return each.period, *counts, format_wait(each.median_decision_s)


def format_bands(figures: Sequence[BandFigures], scores: Sequence[LearntScore]) -> Iterator[str]:
    """Yield a table per collection and scale: what was approved by score, and what is learnt."""
    learnt = {(each.collection, each.scale, each.model): each for each in scores}
    for key, rows in groupby(figures, key=lambda each: (each.collection, each.scale, each.model)):
        name, scale, model = key
        yield f"Collection {name}, scale {scale}{f' of {model}' if model else ''}"
        yield "score     approved  rejected  share approved"
        for each in rows:
            band = f"{each.low}-{each.high}"
            yield (
                f"{band:<10}{each.approved:>8}  {each.rejected:>8}  {each.approved_share:>14.0%}"
            )
        if (now := learnt.get(key)) is not None:
            yield f"Minimum score by these decisions: {now.min_score:g}"
            yield from textwrap.wrap(
                now.reason or "", _WIDTH, initial_indent="  ", subsequent_indent="  "
            )
        yield ""


def format_wait(seconds: float | None) -> str:
    """Return a duration in its largest whole unit.

    >>> [format_wait(each) for each in (None, 12.0, 150.0, 7000.0, 200_000.0)]
    ['-', '12s', '2min', '1.9h', '2.3d']
    """
    if seconds is None:
        return "-"
    if seconds < _MINUTE_S:
        return f"{seconds:.0f}s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f}min"
    return f"{seconds / _HOUR_S:.1f}h" if seconds < _DAY_S else f"{seconds / _DAY_S:.1f}d"


def list_bands(figures: Sequence[BandFigures]) -> list[dict[str, Any]]:
    """Return the bands as JSON-plain rows with their shares."""
    from dataclasses import asdict

    return [{**asdict(each), "approved_share": each.approved_share} for each in figures]
