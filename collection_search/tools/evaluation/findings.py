"""The results of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...ranking.metrics import Interval
    from ...ranking.scoring import Calibration
    from .selection_findings import SelectionFindings


@dataclass(frozen=True)
class Figures:
    """The figures of one method, 0 to 1: means over the questions that have a relevant page."""

    method: str
    ndcg_at_10: Interval
    recall_at_20: Interval
    precision_at_1: Interval
    mrr_at_10: Interval
    ndcg_at_10_in_pool: Interval | None
    """Over the questions with a relevant page in their pool, against the pool's best order."""
    gate: SelectionFindings | None
    """None for a method whose scores are not compared with thresholds."""
    ms_median: float
    """Processor time of one rank."""
    ms_95: float


@dataclass(frozen=True)
class Difference:
    """The paired difference between two methods over the questions."""

    method: str
    rival: str
    ndcg_at_10: Interval


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation."""

    dataset: str
    split: str
    pages: int
    questions: int
    """Those that were asked."""
    questions_in_split: int
    has_given_pools: bool
    """True when the pages to rank were given, and nothing was searched."""
    answerable: int
    """Questions with a relevant page in their pool."""
    relevant_pages: int
    relevant_pages_found: int
    """Those that are in the pools."""
    relevant_pages_unknown: int
    """Those that the corpus does not hold; they count as not found."""
    unjudged_pages: int
    """Pages of given pools without a judgement; they count as not relevant."""
    off_topic_pools: int
    model: str | None
    """Fingerprint of the embedder; None when words alone were compared."""
    embedded_texts: int
    embedded_pages: int
    input_tokens: int | None
    cost_usd: float | None
    """What the embedding cost; None when it is not known."""
    calibration: Calibration | None
    """How the model's similarities were read."""
    methods: list[Figures]
    differences: list[Difference]
