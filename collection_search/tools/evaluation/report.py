"""The report of an evaluation as Markdown, with its environment."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sqlite3
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ...ranking.metrics import REFUSED_BELOW, SERVED_AT, format_table
from .pools import POOL_SIZE, SNIPPET_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...ranking.metrics import Interval
    from .evaluation import Evaluation, Figures

PACKAGES: Final = ("collection-search", "numpy", "PyStemmer")
"""Packages that may influence the figures."""


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


_METHODS: Final = ("method", "nDCG@10", "in pool", "Recall@20", "P@1", "ms")
_GATES: Final = (
    "method",
    f"relevant page at {SERVED_AT:g} or above",
    f"off-topic pool with anything at {REFUSED_BELOW:g}",
)
_NOTES: Final = """\
Means with their 95 % bootstrap intervals over the questions. A relevant page that the search did
not find counts as missed; `in pool` is nDCG@10 over the questions with a relevant page in the pool,
against the best order of the pool. The search has read the whole texts; all others read what the
pool shows. `ms`: processor time of one rank, median / 95th percentile."""


def format_findings(found: Evaluation, environment: Environment) -> str:
    """Return the report."""
    differences = (
        (f"{each.method} - {each.rival}", each.ndcg_at_10.text()) for each in found.differences
    )
    gates = [each for each in found.methods if (each.served, each.let_through) != (None, None)]
    parts = (
        f"# Ranking of {found.dataset}",
        environment.line(),
        "\n".join(f"- {fact}" for fact in _facts(found)),
        f"## Ranking\n\n{format_table(_METHODS, map(_method, found.methods))}",
        _NOTES,
        f"## Paired differences in nDCG@10\n\n{format_table(('methods', 'nDCG@10'), differences)}",
        f"## Thresholds\n\n{format_table(_GATES, map(_gate, gates))}",
    )
    return "\n\n".join(parts) + "\n"


def _facts(found: Evaluation) -> Iterator[str]:
    """Yield the facts about the data set."""
    yield (
        f"{found.pages} pages; {found.questions} of the {found.questions_in_split} questions"
        f" of the split {found.split}"
    )
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


def _gate(figures: Figures) -> Sequence[str]:
    return figures.method, _text(figures.served), _text(figures.let_through)


def _text(interval: Interval | None) -> str:
    return "-" if interval is None else interval.text()
