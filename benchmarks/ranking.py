"""Judge the ranking on labelled pools: python benchmarks/ranking.py PATH_TO_POOLS > report.md.

Coefficients are judged on the set that they were not fitted on. Intervals are 95 % bootstrap
intervals over the questions, sets weighing the same; differences are paired.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from environment import environment
from fit_scoring import Array, medians
from methods import PerSet, compared
from pools import Pool, cut, load_off_topic, load_sets

from collection_search.ranking.metrics import (
    PAIRINGS,
    ThresholdScores,
    best_score,
    bootstrap,
    by_score,
    format_table,
    ndcg,
    trade_off,
)
from collection_search.ranking.scoring import DENSE, LEXICAL, forget_pools
from collection_search.tools.evaluation.report import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SMALL: Final = 8
NOTE: Final = """
A threshold's goal is met when the means reach it; the intervals tell how sure that is. The fits'
free numbers, `RELEVANT_SHARE` and the ridges, were chosen by hand on these very figures, and the
model's two medians, which place its scale, come from all sets: expect somewhat less elsewhere."""
ABOVE: Final = tuple(
    (f"{kind}, default", rival)
    for kind in ("lexical", "dense")
    for rival in (f"{kind}, literal", "BM25")
)
"""Whose mean difference must lie above zero with its whole interval, no set's below."""
THRESHOLDS: Final = {"lexical, default": (0.80, 0.20), "dense, default": (0.83, 0.10)}
"""Share of questions to serve at least, share of off-topic pools to let through at most."""
GATED: Final = ("lexical, default", "lexical, logistic", "dense, default", "dense, logistic")
PAIRS: Final = (
    ("lexical, default", "lexical, literal"),
    ("lexical, default", "BM25"),
    ("lexical, default", "lexical, logistic"),
    ("dense, default", "dense, literal"),
    ("dense, default", "BM25"),
    ("dense, default", "dense, logistic"),
)


@dataclass(frozen=True)
class Data:
    """Questions with their own pools, and with other questions' pools."""

    own: Mapping[str, Sequence[Pool]]
    off_topic: Mapping[str, Sequence[Pool]]

    def cut_to(self, size: int) -> Data:
        """Return the same pools with fewer pages."""
        return Data(
            {name: [cut(pool, size) for pool in pools] for name, pools in self.own.items()},
            {name: [cut(pool, size) for pool in pools] for name, pools in self.off_topic.items()},
        )


@dataclass(frozen=True)
class Judged:
    """One method, by set: nDCG@10 per question, and the scores that decide about the gate."""

    ndcg: Mapping[str, Array]
    gates: Mapping[str, ThresholdScores]

    @classmethod
    def of(cls, method: PerSet, data: Data) -> Judged:
        """Score every pool."""
        ndcgs, gates = {}, {}
        for name, pools in data.own.items():
            scored = [(method[name](pool), pool.grades) for pool in pools]
            ndcgs[name] = np.array([ndcg(scores, grades) for scores, grades in scored])
            relevant = [best_score(scores[np.array(grades) > 0]) for scores, grades in scored]
            off_topic = np.array([best_score(method[name](pool)) for pool in data.off_topic[name]])
            gates[name] = ThresholdScores(np.array(relevant), off_topic.reshape(PAIRINGS, -1))
        return cls(ndcgs, gates)

    def shares(self) -> list[tuple[float, float]]:
        """Return per set the share of questions served and that of off-topic pools let through."""
        gates = self.gates.values()
        return [(float(gate.served().mean()), float(gate.let_through().mean())) for gate in gates]

    def minus(self, other: Judged) -> list[Array]:
        """Return by how much nDCG@10 is above the other's, per question of each set."""
        return [self.ndcg[name] - other.ndcg[name] for name in self.ndcg]


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


def gate(judged: Mapping[str, Judged], pages: int) -> Iterable[Sequence[str]]:
    """Yield who passes, per method."""
    for label, each in judged.items():
        shares = each.shares()
        both = [*shares, np.mean(shares, 0)]
        yield f"{label}, {pages} pages", *(f"{a:.3f} / {b:.3f}" for a, b in both)


def curve(judged: Mapping[str, Judged], shares: Sequence[float]) -> Iterable[Sequence[str]]:
    """Yield the share let through at each share served, were the score shifted to serve it."""
    for label, each in judged.items():
        yield label, *(f"{share:.3f}" for share in trade_off(list(each.gates.values()), shares))


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
    for label, (served, through) in THRESHOLDS.items():
        gates = judged[label].gates.values()
        a = bootstrap(*(each.served() for each in gates))
        b = bootstrap(*(each.let_through() for each in gates))
        goal = f"{label}: at least {served:.0%} served, at most {through:.0%} let through"
        yield goal, f"{a.text()} / {b.text()}", _yes(a.mean >= served and b.mean <= through)


def section(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print one Markdown table under its title."""
    print(f"\n## {title}\n\n{format_table(head, rows)}")


def _mean(sets: Sequence[Array]) -> str:
    return bootstrap(*sets).text(4)


def _yes(is_met: object) -> str:
    return "yes" if is_met else "**no**"


def main(folder: Path) -> None:
    """Print the report."""
    data = Data(load_sets(folder), load_off_topic(folder))
    methods = compared(data.own, medians(folder))
    judged = {label: Judged.of(method, data) for label, method in methods.items()}
    gated = {label: judged[label] for label in GATED}
    small = {label: Judged.of(methods[label], data.cut_to(SMALL)) for label in GATED}
    shares = [0.75, 0.80, 0.83, 0.86, 0.90]

    print("# Ranking\n", *environment(PACKAGES), sep="\n")
    print("-", ", ".join(f"{name} ({len(pools)} questions)" for name, pools in data.own.items()))
    section("Goals", ["goal", "reached", "met"], goals(judged))
    print(NOTE)
    section("nDCG@10", ["method", *data.own, "mean"], ranking(judged))
    section("Paired differences in nDCG@10", ["methods", *data.own, "mean"], differences(judged))
    section(
        "Questions with a relevant page at 50 or above / off-topic pools with anything at 60",
        ["method", *data.own, "mean"],
        [*gate(gated, 40), *gate(small, SMALL)],
    )
    section(
        "Off-topic pools let through, at a given share of questions served",
        ["method", *(f"{share:.0%}" for share in shares)],
        curve(gated, shares),
    )
    section("Milliseconds of one rank of 40 pages", ["", "median", "95 %"], times(data))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
