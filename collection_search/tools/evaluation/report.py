"""The report of an evaluation, with its environment and its picture."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ...ranking.selection_metrics import SHOWN, TOP_K
from ...ranking.threshold import ENOUGH_RESULTS, FALLBACK_SCORE, MIN_SCORE
from .charts import Chart, Curve, CurvePoint, draw_charts
from .pools import POOL_SIZE, SNIPPET_CHARS
from .report_tables import Report, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ranking.metrics import Interval
    from .findings import Evaluation, Figures
    from .selection_findings import SelectionFindings

PACKAGES: Final = ("collection-search", "numpy", "PyStemmer")
"""Packages that may influence the figures."""
DETAILED: Final = ("dense, default", "lexical, default")
"""Methods whose scores are looked at in detail."""
_MARKED: Final = (50, 60)
"""Thresholds that are marked in the curves."""


@dataclass(frozen=True)
class Environment:
    """The environment of an evaluation: by default the current one."""

    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    python: str = field(default_factory=platform.python_version)
    platform: str = field(default_factory=lambda: f"{platform.system()} {platform.machine()}")
    processors: int = field(default_factory=lambda: os.cpu_count() or 1)
    packages: dict[str, str] = field(
        default_factory=lambda: {
            **{name: importlib.metadata.version(name) for name in PACKAGES},
            "SQLite": sqlite3.sqlite_version,
        }
    )

    def line(self) -> str:
        """Return it as one line of a report."""
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items())
        machine = f"{self.platform}, {self.processors} processors"
        return f"{self.date}; Python {self.python}, {packages}; {machine}"


_ORDER: Final = ("method", "nDCG@10", "in pool", "Recall@20", "P@1", "ms")
_INGESTED: Final = (
    "method",
    "precision",
    "recall",
    "served",
    "empty-handed",
    "off-topic",
    "pages",
)
_ORDER_NOTE: Final = (
    "Means over the questions with a relevant page, with their 95 % bootstrap intervals. A relevant"
    " page that the search did not find counts as missed; 'in pool' is nDCG@10 over the questions"
    " with a relevant page in the pool, against the best order of the pool. 'search order' has read"
    " the whole texts where the corpus was searched; all others read what the pool shows. 'ms':"
    " processor time of one rank, median / 95th percentile."
)
_INGESTED_NOTE: Final = (
    f"What a run with --auto-ingest and the default values would ingest: pages at {MIN_SCORE:g}, or"
    f" at {FALLBACK_SCORE:g} where fewer than {ENOUGH_RESULTS} reach that; at most {TOP_K} of the"
    f" best {SHOWN}. 'precision': relevant ones among what is ingested; 'recall': ingested ones"
    " among the relevant pages of the pools; 'served': questions with a relevant page in the pool"
    " that get one; 'empty-handed' and 'off-topic': searches that found nothing relevant, and other"
    " questions' pools, of which something is ingested (lower is better); 'pages': how many are"
    " ingested."
)
_BANDS_NOTE: Final = (
    "Share of the pages with such a score that are relevant, with Wilson's 95 % interval: what a"
    " score says on these pools."
)


def build_report(found: Evaluation, environment: Environment) -> Report:
    """Return the report of an evaluation."""
    differences = [
        (f"{each.method} - {each.rival}", each.ndcg_at_10.text()) for each in found.differences
    ]
    gates = [(each.method, each.gate) for each in found.methods if each.gate is not None]
    sections = [
        Section("Order", _ORDER, [_method(each) for each in found.methods], _ORDER_NOTE),
        Section("Paired differences in nDCG@10", ("methods", "nDCG@10"), differences),
        Section("What is ingested", _INGESTED, [_gate(*each) for each in gates], _INGESTED_NOTE),
        *(_reliability(*each) for each in gates if each[0] in DETAILED),
    ]
    return Report(f"Ranking of {found.dataset}", [environment.line(), *_facts(found)], sections)


def draw_curves(found: Evaluation) -> str:
    """Return an SVG: what scores say, and precision against recall over the thresholds."""
    gates = [
        (each.method, each.gate)
        for each in found.methods
        if each.gate is not None and each.method in DETAILED
    ]
    reliability = [
        Curve(
            name,
            [
                CurvePoint(
                    (band.low + band.high) / 2, band.share.mean, band.share.low, band.share.high
                )
                for band in gate.bands
            ],
        )
        for name, gate in gates
    ]
    trade_offs = [
        Curve(
            name,
            [
                CurvePoint(
                    each.recall,
                    each.precision,
                    label=str(each.threshold) if each.threshold in _MARKED else "",
                )
                for each in gate.trade_off
                if each.precision is not None
            ],
        )
        for name, gate in gates
    ]
    return draw_charts(
        [
            Chart("Reliability", "score", "share of relevant pages", reliability, x_to=100.0),
            Chart("Precision and recall at thresholds", "recall", "precision", trade_offs),
        ]
    )


def _facts(found: Evaluation) -> Iterator[str]:
    """Yield the facts about the data set."""
    yield (
        f"{found.pages} pages; {found.questions} of the {found.questions_in_split} questions"
        f" judged in {found.split}"
    )
    if found.has_given_pools:
        yield "given pools: nothing was searched"
    else:
        yield (
            f"pools of up to {POOL_SIZE} pages (title and {SNIPPET_CHARS} characters), found by"
            f" {'full text and nearness in turn' if found.model else 'full text'}"
        )
    yield (
        f"{found.answerable} questions ({found.answerable / found.questions:.0%}) have a relevant"
        f" page in their pool; {found.relevant_pages_found} of {found.relevant_pages} relevant"
        " pages were found"
    )
    if found.relevant_pages_unknown:
        yield f"{found.relevant_pages_unknown} relevant pages are not in the corpus"
    if found.questions - found.answerable:
        yield (
            f"{found.questions - found.answerable} searches came back empty-handed: without a"
            " relevant page"
        )
    if found.unjudged_pages:
        yield f"{found.unjudged_pages} pages have no judgement and count as not relevant"
    yield f"{found.off_topic_pools} off-topic pools: another question's, without relevant pages"
    if found.model:
        yield f"{found.model} embedded {found.embedded_pages} of the pages{_cost(found)}"
    if (scale := found.calibration) and scale.scale == "dense":
        yield (
            f"its scale, by the built-in anchors: median cosine {scale.unrelated:.2f} of unrelated"
            f" and {scale.related:.2f} of related pairs"
        )


def _cost(found: Evaluation) -> str:
    """Return the cost of embedding, in total and for one rank."""
    if found.cost_usd is None:
        return "; the price is not known"
    if not found.cost_usd:
        return ""
    each = found.cost_usd / found.embedded_texts * (POOL_SIZE + 1)
    return f" for ${found.cost_usd:.6f}; one rank costs about ${each:.6f}"


def _method(figures: Figures) -> Sequence[str]:
    return (
        figures.method,
        figures.ndcg_at_10.text(),
        _text(figures.ndcg_at_10_in_pool),
        figures.recall_at_20.text(),
        figures.precision_at_1.text(),
        f"{figures.ms_median:.1f} / {figures.ms_95:.1f}",
    )


def _gate(name: str, gate: SelectionFindings) -> Sequence[str]:
    return (
        name,
        _text(gate.precision),
        _text(gate.recall),
        _text(gate.served),
        _text(gate.empty_let_through),
        _text(gate.off_topic_let_through),
        str(gate.ingested),
    )


def _reliability(name: str, gate: SelectionFindings) -> Section:
    rows = [
        (f"{band.low:g}-{band.high:g}", str(band.pages), str(band.relevant), band.share.text())
        for band in gate.bands
    ]
    return Section(
        f"Reliability: {name}", ("score", "pages", "relevant", "share"), rows, _BANDS_NOTE
    )


def _text(interval: Interval | None) -> str:
    return "-" if interval is None else interval.text()
