"""Figures of the reviews over time: how many there were, and what was decided."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from ...ranking.adaptive import learn_threshold
from .history import decided_pages, list_decisions
from .run_threshold import DEFAULT_MIN_SCORE, on_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...contracts.review import Gate
    from ...ports import GateStore

ReviewPeriod = Literal["day", "week"]
SCORE_BANDS: Final = (0, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """The reviews of one collection that were opened in one day or week."""

    collection: str
    period: str
    """A day such as 2026-11-23, or a week of ISO 8601 such as 2026-W48; UTC."""
    opened: int
    by_person: int
    by_deadline: int
    shown: int
    """Pages of all reviews."""
    approved: int
    """Pages that people approved, rejected, and added by hand."""
    rejected: int
    added: int
    median_decision_s: float | None
    """From the opening to a person's decision; None where no person decided."""

    @property
    def is_open(self) -> int:
        """Reviews that are not decided."""
        return self.opened - self.by_person - self.by_deadline


@dataclass(frozen=True, slots=True)
class BandFigures:
    """The pages of one collection whose score was in one band, as people decided."""

    collection: str
    scale: str
    model: str | None
    low: int
    high: int
    """Not included, but for 100."""
    approved: int
    rejected: int

    @property
    def approved_share(self) -> float:
        """The share of approved pages, 0 to 1."""
        return self.approved / (self.approved + self.rejected)


@dataclass(frozen=True, slots=True)
class LearntScore:
    """The minimum score that one collection's decisions lead to on one scale."""

    collection: str
    scale: str
    model: str | None
    min_score: float
    is_learnt: bool
    reason: str | None


def count_reviews(gates: Iterable[Gate], *, by: ReviewPeriod) -> list[PeriodFigures]:
    """Return figures by collection, then by the period in which the reviews were opened.

    A decision counts in the period of its review's opening, however late it came.
    """
    groups: dict[tuple[str, str], list[Gate]] = defaultdict(list)
    for gate in gates:
        groups[gate.collection, _period(gate.opened_at, by)].append(gate)
    return [_figures(*key, groups[key]) for key in sorted(groups)]


def count_score_bands(gates: Iterable[Gate]) -> list[BandFigures]:
    """Return what people approved and rejected by score, in ascending bands that have pages."""
    counts: dict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for gate in gates:
        for page in decided_pages(gate) if _is_by(gate, "person") else ():
            if page.is_approved is not None:
                scale, model = page.scale
                key = (gate.collection, scale, model or "", _band(page.score))
                counts[key][not page.is_approved] += 1
    bands = list(pairwise(SCORE_BANDS))
    return [
        BandFigures(collection, scale, model or None, *bands[band], *counts[key])
        for key in sorted(counts)
        for collection, scale, model, band in [key]
    ]


def learn_current_scores(
    store: GateStore, tenant_id: str, collections: Sequence[str]
) -> list[LearntScore]:
    """Return what each collection's runs would ask for now, per scale. Blocks. Raises StoreError.

    That is so where the setting `adaptive_threshold` is on.
    """
    found = []
    for collection in collections:
        decisions = list_decisions(store, tenant_id, collection=collection)
        pages = [page for each in decisions for page in each.pages]
        scales = {page.scale for page in pages}
        for scale in sorted(scales, key=lambda one: (one[0], one[1] or "")):
            learnt = learn_threshold(on_scale(decisions, scale), default=DEFAULT_MIN_SCORE)
            found.append(
                LearntScore(collection, *scale, learnt.min_score, learnt.is_learnt, learnt.reason)
            )
    return found


def _figures(collection: str, period: str, gates: Sequence[Gate]) -> PeriodFigures:
    people = [gate for gate in gates if _is_by(gate, "person")]
    verdicts = [page.is_approved for gate in people for page in decided_pages(gate)]
    waits = [_seconds_to_decision(gate) for gate in people]
    return PeriodFigures(
        collection=collection,
        period=period,
        opened=len(gates),
        by_person=len(people),
        by_deadline=sum(_is_by(gate, "deadline") for gate in gates),
        shown=sum(len(gate.candidates) for gate in gates),
        approved=verdicts.count(True),
        rejected=verdicts.count(False),
        added=sum(len(gate.decision["added_urls"]) for gate in people),
        median_decision_s=median(waits) if waits else None,
    )


def _is_by(gate: Gate, who: str) -> bool:
    return bool(gate.decision) and gate.decision["decided_by"] == who


def _seconds_to_decision(gate: Gate) -> float:
    decided = datetime.fromisoformat(gate.decision["decided_at"]).timestamp()
    return max(0.0, decided - gate.opened_at)


def _period(unix_time: float, by: ReviewPeriod) -> str:
    return datetime.fromtimestamp(unix_time, UTC).strftime("%Y-%m-%d" if by == "day" else "%G-W%V")


def _band(score: float) -> int:
    """Return the number of the score's band.

    >>> [_band(score) for score in (0.0, 49.9, 50.0, 100.0)]
    [0, 0, 1, 5]
    """
    return sum(score >= low for low in SCORE_BANDS[1:-1])
