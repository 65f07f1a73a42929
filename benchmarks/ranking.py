"""Judge the ranking on labelled pools: python benchmarks/ranking.py PATH_TO_POOLS > report.md.

Coefficients are judged on the set that they were not fitted on. The gate is judged by the rule of
automatic ingestion: see `ranking.selection_metrics`. Intervals are 95 % bootstrap intervals over
the questions, sets weighing the same; differences are paired.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from environment import environment
from judged_methods import Data, Judged
from methods import compared
from pools import load_off_topic, load_sets

from collection_search.ranking.metrics import (
    Interval,
    bootstrap,
    by_score,
    format_table,
)
from collection_search.ranking.scoring import DENSE, LEXICAL, forget_pools
from collection_search.ranking.selection_metrics import reliability
from collection_search.tools.evaluation.report import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fit_scoring import Array

SMALL: Final = 8
REAL: Final = "websearch"
"""The set of real search results, by which precision is judged."""
NOTE: Final = """
`dense, default` is what a run does: the check of models leaves German questions to words, since the
model of these pools knows little German; `dense, unchecked` lets the model rank them too.
A goal is met when the figure reaches it; the interval tells how sure that is. The shares and ridges
of `fit_scoring.py` were chosen by hand on these very figures: expect somewhat less elsewhere."""
ABOVE: Final = tuple(
    (f"{kind}, default", rival)
    for kind in ("lexical", "dense")
    for rival in (f"{kind}, literal", "BM25")
)
"""Whose mean difference must lie above zero with its whole interval, no set's below."""
NO_LOSS: Final = 0.005
"""By how much the order may be worse than the earlier one."""
SHIFTS: Final = (-8, -4, -2, 0, 2, 4, 8)
"""Points by which all scores are moved to see what another place of the gate would cost."""


@dataclass(frozen=True)
class Goal:
    """What the gate must reach on one scale: the least, or where it says so the most."""

    precision: float
    recall: float
    empty_handed: float
    """At most."""
    off_topic: float
    """At most, mean over the sets."""
    served: float
    """Mean over the sets."""


GOALS: Final = {
    "lexical, default": Goal(0.75, 0.60, 0.38, 0.20, 0.72),
    "dense, default": Goal(0.68, 0.60, 0.38, 0.10, 0.76),
}
GATED: Final = (
    "lexical, default",
    "lexical, earlier",
    "lexical, logistic",
    "dense, default",
    "dense, earlier",
    "dense, unchecked",
    "dense, no n-grams",
    "dense, literal",
)
PAIRS: Final = (
    ("lexical, default", "lexical, earlier"),
    ("lexical, default", "lexical, literal"),
    ("lexical, default", "BM25"),
    ("lexical, default", "lexical, logistic"),
    ("dense, default", "dense, earlier"),
    ("dense, default", "dense, unchecked"),
    ("dense, unchecked", "dense, no n-grams"),
    ("dense, default", "dense, literal"),
    ("dense, default", "BM25"),
    ("dense, default", "dense, logistic"),
)


def ranking(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield nDCG@10 per method."""
    for label, each in judged.items():
        yield (
            label,
            *(f"{of.mean():.3f}" for of in each.ndcg.values()),
            bootstrap(*each.ndcg.values()).text(4),
        )


def differences(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield paired differences in nDCG@10."""
    for one, other in PAIRS:
        sets = judged[one].minus(judged[other])
        yield f"{one} - {other}", *(bootstrap(each).text(4) for each in sets), _mean(sets)


REAL_HEAD: Final = (
    *("method", "precision", "of answerable", "recall", "by question", "served", "empty-handed"),
)


def real_results(judged: Mapping[str, Judged], shift: float = 0.0) -> Iterable[Sequence[str]]:
    """Yield what would be ingested from real search results, per method."""
    for label, each in judged.items():
        found = each.gate(REAL, shift)
        yield (
            label,
            *map(
                _text,
                (
                    found.precision,
                    found.precision_answerable,
                    found.recall,
                    found.recall_by_question,
                    found.served,
                    found.empty_handed,
                ),
            ),
        )


def gate(judged: Mapping[str, Judged], pages: int) -> Iterable[Sequence[str]]:
    """Yield per set the questions served and the off-topic pools let through."""
    for label, each in judged.items():
        found = [each.gate(name) for name in each.own]
        both = [(_value(one.served), _value(one.let_through)) for one in found]
        yield (
            f"{label}, {pages} pages",
            *(f"{a:.3f} / {b:.3f}" for a, b in [*both, np.mean(both, 0)]),
        )


def frontier(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield what another place of the gate would cost."""
    for label in GOALS:
        for shift in SHIFTS:
            found = {name: judged[label].gate(name, shift) for name in judged[label].own}
            real = found[REAL]
            values = (
                real.precision,
                real.precision_answerable,
                real.recall,
                real.recall_by_question,
                real.empty_handed,
            )
            means = (
                np.mean([_value(one.let_through) for one in found.values()]),
                np.mean([_value(one.served) for one in found.values()]),
            )
            yield (
                label,
                f"{shift:+d}",
                *(f"{_value(each):.3f}" for each in values),
                *(f"{each:.3f}" for each in means),
            )


def bands(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield the share of relevant pages per band of the score; the sets weigh the same."""
    for scale, label in (("lexical", "lexical, default"), ("dense", "dense, unchecked")):
        by_set = {name: reliability(each) for name, each in judged[label].own.items()}
        for of_band in zip(*by_set.values(), strict=True):
            shares = [band.share for band in of_band if band.share is not None]
            yield (
                scale,
                f"{of_band[0].low:g}-{of_band[0].high:g}",
                *(_band(band.share, band.pages) for band in of_band),
                f"{np.mean(shares):.2f}" if shares else "-",
            )


def _band(share: float | None, pages: int) -> str:
    return "-" if share is None else f"{share:.2f} of {pages}"


def times(data: Data) -> Iterable[Sequence[str]]:
    """Yield the processor time of one rank of a pool whose pages were not seen before."""
    pools = [pool for each in data.own.values() for pool in each[:100]]
    for label, calibration in (("lexical", LEXICAL), ("dense", DENSE)):
        method, taken = by_score(calibration, dense=label == "dense"), []
        for pool in pools:
            forget_pools()
            start = time.process_time()
            method(pool)
            taken.append(1000 * (time.process_time() - start))
        yield label, f"{np.median(taken):.1f}", f"{np.percentile(taken, 95):.1f}"


def goals(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield each goal, what was reached, and whether that is enough."""
    for one, other in ABOVE:
        sets = judged[one].minus(judged[other])
        worst = min((bootstrap(each) for each in sets), key=lambda each: each.high)
        is_met = bootstrap(*sets).low > 0 and worst.high >= 0
        reached = f"{_mean(sets)}; worst set {worst.text(4)}"
        yield f"nDCG@10: {one} above {other}, on no set below", reached, _yes(is_met)
    for label, goal in GOALS.items():
        earlier = label.replace("default", "earlier")
        sets = judged[label].minus(judged[earlier])
        is_met = bootstrap(*sets).mean >= -NO_LOSS
        yield f"nDCG@10: {label} at most {NO_LOSS:g} below {earlier}", _mean(sets), _yes(is_met)
        yield from _gate_goals(label, goal, judged[label])


def _gate_goals(label: str, goal: Goal, judged: Judged) -> Iterable[Sequence[str]]:
    found = {name: judged.gate(name) for name in judged.own}
    real = found[REAL]
    yield _least(f"{label}: precision on {REAL}", goal.precision, real.precision)
    yield _least(f"{label}: recall on {REAL}, by question", goal.recall, real.recall_by_question)
    yield _most(f"{label}: empty-handed searches ingested", goal.empty_handed, real.empty_handed)
    through = [_value(one.let_through) for one in found.values()]
    yield _most(f"{label}: off-topic pools ingested", goal.off_topic, float(np.mean(through)))
    served = [_value(one.served) for one in found.values()]
    yield _least(f"{label}: questions served", goal.served, float(np.mean(served)))


def _least(name: str, wanted: float, reached: Interval | float | None) -> Sequence[str]:
    return f"{name}, at least {wanted:g}", _text(reached), _yes(_value(reached) >= wanted)


def _most(name: str, wanted: float, reached: Interval | float | None) -> Sequence[str]:
    return f"{name}, at most {wanted:g}", _text(reached), _yes(_value(reached) <= wanted)


def section(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print one Markdown table under its title."""
    print(f"\n## {title}\n\n{format_table(head, rows)}")


def _value(figure: Interval | float | None) -> float:
    if isinstance(figure, Interval):
        return figure.mean
    return float("nan") if figure is None else figure


def _text(figure: Interval | float | None) -> str:
    return figure.text() if isinstance(figure, Interval) else f"{_value(figure):.3f}"


def _mean(sets: Sequence[Array]) -> str:
    return bootstrap(*sets).text(4)


def _yes(is_met: object) -> str:
    return "yes" if is_met else "**no**"


def main(folder: Path) -> None:
    """Print the report."""
    data = Data(load_sets(folder), load_off_topic(folder))
    methods = compared(data.own)
    judged = {
        label: Judged.of(method, data, has_threshold=label in GATED)
        for label, method in methods.items()
    }
    gated = {label: judged[label] for label in GATED}
    cut_data = data.cut_to(SMALL)
    small = {label: Judged.of(methods[label], cut_data, has_threshold=True) for label in GOALS}
    sets = [*data.own]

    print("# Ranking\n", *environment(PACKAGES), sep="\n")
    print("-", ", ".join(f"{name} ({len(pools)} questions)" for name, pools in data.own.items()))
    section("Goals", ["goal", "reached", "met"], goals(judged))
    print(NOTE)
    section("nDCG@10", ["method", *sets, "mean"], ranking(judged))
    section("Paired differences in nDCG@10", ["methods", *sets, "mean"], differences(judged))
    section("What is ingested from real search results", REAL_HEAD, real_results(gated))
    section(
        "Questions with a relevant page ingested / off-topic pools of which anything is ingested",
        ["method", *sets, "mean"],
        [*gate(gated, 40), *gate(small, SMALL)],
    )
    section(
        "Frontier: what another place of the gate would cost",
        ["method", "points", *REAL_HEAD[1:5], REAL_HEAD[6], "off topic, mean", "served, mean"],
        frontier(judged),
    )
    section("Share of relevant pages by score", ["scale", "score", *sets, "mean"], bands(judged))
    section("Milliseconds of one rank of 40 pages", ["", "median", "95 %"], times(data))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
