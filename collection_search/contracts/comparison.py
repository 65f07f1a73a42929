"""The record of two ranking profiles on the same results of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from typing_extensions import TypedDict

KEPT_COMPARISONS = 200
"""Comparisons that are kept per collection, the newest ones."""


class ComparedPage(TypedDict):
    """One page under both profiles; ranks count from 1."""

    url: str
    decided_rank: int | None
    """None where the deciding profile did not return the page."""
    decided_score: float | None
    decided_ingests: bool
    """Whether the product's rule would ingest the page by this profile's scores."""
    compared_rank: int
    compared_score: float
    compared_ingests: bool


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """One run, ranked by the profile that decided and by a second one."""

    tenant_id: str
    collection: str
    run_id: str
    question: str
    decided_by: str
    """The profile that decided."""
    compared: str
    """The profile beside it, which decided nothing."""
    model: str | None
    """Fingerprint of the embedder; None where words alone were compared."""
    min_score: float
    """The score that the run asked for."""
    top10_overlap: float
    """Share of the first ten that both have, 0 to 1."""
    rank_correlation: float | None
    """Spearman's, -1 to 1; None below two pages."""
    pages: list[ComparedPage]
    """In the order of the deciding profile, then those of the other one."""
    compared_at: float = field(default=0.0, compare=False)
    """Unix time, set by the store."""
