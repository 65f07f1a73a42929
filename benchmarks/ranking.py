"""Judge the ranking on labelled pools: python benchmarks/ranking.py PATH_TO_POOLS > report.md.

Whatever is fitted is judged on the set that it was not fitted on. Intervals are 95 % bootstrap
intervals over the questions, sets weighing the same; differences are paired.
"""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from fit_scoring import Array, medians
from methods import PerSet, compared, shipped
from pools import Pool, cut, load_off_topic, load_sets

from collection_search.heuristics import judge
from collection_search.scoring import DENSE, LEXICAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RESAMPLES: Final = 4000
SERVED_AT: Final = 50.0
REFUSED_BELOW: Final = 60.0
SMALL: Final = 8
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
    relevant: Mapping[str, Array]
    """Best score of a relevant page, per question."""
    off_topic: Mapping[str, Array]
    """Best score of any page, per off-topic pool."""

    @classmethod
    def of(cls, method: PerSet, data: Data) -> Judged:
        """Score every pool."""
        ndcgs, relevant = {}, {}
        for name, pools in data.own.items():
            scored = [(method[name](pool), np.array(pool.grades)) for pool in pools]
            ndcgs[name] = np.array([ndcg(scores, grades) for scores, grades in scored])
            relevant[name] = np.array([scores[grades > 0].max() for scores, grades in scored])
        off_topic = {
            name: np.array([method[name](pool).max() for pool in pools])
            for name, pools in data.off_topic.items()
        }
        return cls(ndcgs, relevant, off_topic)

    def served(self, shift: float = 0.0) -> list[float]:
        """Return per set the share of questions with a relevant page at 50 or above."""
        return [float((best + shift >= SERVED_AT).mean()) for best in self.relevant.values()]

    def let_through(self, shift: float = 0.0) -> list[float]:
        """Return per set the share of off-topic pools with anything at 60 or above."""
        return [float((best + shift >= REFUSED_BELOW).mean()) for best in self.off_topic.values()]


def ndcg(scores: Array, grades: Array, depth: int = 10) -> float:
    """Return nDCG of the order by score, 0-1."""
    gains = 2.0**grades - 1
    ordered = gains[np.argsort(-scores, kind="stable")][:depth]
    ideal = np.sort(gains)[::-1][:depth]
    discount = 1 / np.log2(np.arange(2, len(ideal) + 2))
    return float(ordered @ discount / (ideal @ discount))


def interval(sets: Iterable[Array]) -> str:
    """Return the mean over the sets with its bootstrap interval."""
    draw, values = np.random.default_rng(0), list(sets)
    resampled = np.mean(
        [each[draw.integers(0, len(each), (RESAMPLES, len(each)))].mean(1) for each in values], 0
    )
    low, high = np.percentile(resampled, [2.5, 97.5])
    return f"{np.mean([each.mean() for each in values]):.4f} [{low:.4f}, {high:.4f}]"


def ranking(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield nDCG@10 per method."""
    for label, each in judged.items():
        yield (
            label,
            *(f"{of.mean():.3f}" for of in each.ndcg.values()),
            interval(each.ndcg.values()),
        )


def differences(judged: Mapping[str, Judged]) -> Iterable[Sequence[str]]:
    """Yield paired differences in nDCG@10."""
    for one, other in PAIRS:
        apart = [judged[one].ndcg[name] - judged[other].ndcg[name] for name in judged[one].ndcg]
        yield f"{one} - {other}", *(interval([each]) for each in apart), interval(apart)


def gate(judged: Mapping[str, Judged], pages: int) -> Iterable[Sequence[str]]:
    """Yield who passes, per method."""
    for label, each in judged.items():
        served, through = each.served(), each.let_through()
        both = zip([*served, np.mean(served)], [*through, np.mean(through)], strict=True)
        yield f"{label}, {pages} pages", *(f"{a:.3f} / {b:.3f}" for a, b in both)


def curve(judged: Mapping[str, Judged], goals: Sequence[float]) -> Iterable[Sequence[str]]:
    """Yield the share let through at each share served, were the score shifted to serve it."""
    for label, each in judged.items():
        points = [
            (np.mean(each.served(shift)), np.mean(each.let_through(shift)))
            for shift in np.arange(-40, 40, 0.5)
        ]
        yield label, *(f"{min(b for a, b in points if a >= goal):.3f}" for goal in goals)


def times(data: Data) -> Iterable[Sequence[str]]:
    """Yield the processor time of one rank of a pool whose pages were not seen before."""
    pools = [pool for each in data.own.values() for pool in each[:100]]
    for label, calibration in (("lexical", LEXICAL), ("dense", DENSE)):
        method, taken = shipped(calibration, dense=label == "dense"), []
        for pool in pools:
            judge.cache_clear()
            start = time.process_time()
            method(pool)
            taken.append(1000 * (time.process_time() - start))
        yield label, f"{np.median(taken):.1f}", f"{np.percentile(taken, 95):.1f}"


def section(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print one Markdown table under its title."""
    lines = [head, ["---"] * len(head), *rows]
    print(f"\n## {title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))


def main(folder: Path) -> None:
    """Print the report."""
    data = Data(load_sets(folder), load_off_topic(folder))
    methods = compared(data.own, medians(folder))
    judged = {label: Judged.of(method, data) for label, method in methods.items()}
    gated = {label: judged[label] for label in GATED}
    small = {label: Judged.of(methods[label], data.cut_to(SMALL)) for label in GATED}
    goals = [0.75, 0.80, 0.83, 0.86, 0.90]

    print(f"# Ranking\n\nPython {platform.python_version()}, {platform.machine()}, ", end="")
    print(", ".join(f"{name} ({len(pools)} questions)" for name, pools in data.own.items()))
    section("nDCG@10", ["method", *data.own, "mean"], ranking(judged))
    section("Paired differences in nDCG@10", ["methods", *data.own, "mean"], differences(judged))
    section(
        "Questions with a relevant page at 50 or above / off-topic pools with anything at 60",
        ["method", *data.own, "mean"],
        [*gate(gated, 40), *gate(small, SMALL)],
    )
    section(
        "Off-topic pools let through, at a given share of questions served",
        ["method", *(f"{goal:.0%}" for goal in goals)],
        curve(gated, goals),
    )
    section("Milliseconds of one rank of 40 pages", ["", "median", "95 %"], times(data))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
