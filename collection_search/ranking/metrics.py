"""Measures of a ranking over labelled pools, with their intervals and tables.

A ranking scores each page of a pool. Pages of equal score stay in the order of the pool, so shuffle
it first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .lexicon import language_of, stems
from .scoring import Calibration, PageText, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Array: TypeAlias = NDArray[np.float64]

RESAMPLES: Final = 4000
PAIRINGS: Final = 3
"""Other questions' pools that serve as off-topic pools of a question."""


@dataclass(frozen=True)
class Pool:
    """One question with the pages that a search found, in no order."""

    question: str
    pages: Sequence[PageText]
    grades: Sequence[int]
    """One per page; 0 = not relevant."""
    similarities: Sequence[float] = ()
    """A model's cosines, one per page; empty without a model."""
    places: Sequence[int] = ()
    """Place of each page in the search's own order, 0 = first; empty when unknown."""
    missed: Sequence[int] = ()
    """Grades of the relevant pages that the search did not find."""

    @property
    def is_answerable(self) -> bool:
        """True when a page of the pool is relevant."""
        return any(self.grades)


ScoreFunction: TypeAlias = Callable[[Pool], Array]
"""Returns a score for each page of a pool; higher is better."""


def by_score(calibration: Calibration | None, *, dense: bool) -> ScoreFunction:
    """Return the package's own ranking; without a calibration its profile `literal`."""

    def method(pool: Pool) -> Array:
        found = rank(
            pool.question,
            pool.pages,
            similarities=pool.similarities if dense else None,
            profile="default" if calibration else "literal",
            limit=len(pool.pages),
            calibration=calibration,
        )
        scores = np.zeros(len(found))
        scores[[each.index for each in found]] = [each.embedding_rank_score for each in found]
        return scores

    return method


def by_bm25(pool: Pool, k1: float = 1.2, b: float = 0.75) -> Array:
    """Score by BM25 over stems without stop words, with the pool's own frequencies.

    >>> pages = [PageText("Tea", "Brewing tea", ""), PageText("Tasks", "Cancelling a task", "")]
    >>> scores = by_bm25(Pool("cancelled tasks", pages, [0, 1]))
    >>> bool(scores[1] > scores[0] == 0)
    True
    """
    language = language_of(pool.question)
    asked = set(stems(pool.question, language))
    pages = [Counter(stems(f"{page.title} {page.snippet}", language)) for page in pool.pages]
    n = len(pages)
    mean = sum(page.total() for page in pages) / max(n, 1) or 1
    known = {stem: sum(stem in page for page in pages) for stem in asked}
    idf = {stem: math.log(1 + (n - df + 0.5) / (df + 0.5)) for stem, df in known.items()}

    def score(page: Counter[str]) -> float:
        norm = k1 * (1 - b + b * page.total() / mean)
        shared = asked & page.keys()
        return sum(idf[stem] * page[stem] * (k1 + 1) / (page[stem] + norm) for stem in shared)

    return np.array([score(page) for page in pages], dtype=np.float64)


def by_cosine(pool: Pool) -> Array:
    """Score by the model's cosine alone, times 100."""
    return 100 * np.array(pool.similarities, dtype=np.float64)


def by_search(pool: Pool) -> Array:
    """Score by the order in which the search found the pages."""
    return -np.array(pool.places, dtype=np.float64)


def ndcg(
    scores: Array, grades: Sequence[int], *, depth: int = 10, missed: Sequence[int] = ()
) -> float:
    """Return nDCG of the order by score, 0-1, with gains of 2**grade - 1.

    The best possible order has the `missed` relevant pages too. Without a relevant page: 0.

    >>> round(ndcg(np.array([3.0, 2.0, 1.0]), [0, 1, 0]), 3)
    0.631
    """
    gains = 2.0 ** np.array(grades) - 1
    ordered = gains[np.argsort(-scores, kind="stable")][:depth]
    ideal = np.sort(np.append(gains, 2.0 ** np.array(missed) - 1))[::-1][:depth]
    discount = 1 / np.log2(np.arange(2, depth + 2))
    best = float(ideal @ discount[: len(ideal)])
    return float(ordered @ discount[: len(ordered)]) / best if best else 0.0


def recall(
    scores: Array, grades: Sequence[int], *, depth: int = 20, missed: Sequence[int] = ()
) -> float:
    """Return the share of all relevant pages that is among the first `depth`.

    >>> recall(np.array([3.0, 2.0, 1.0]), [0, 1, 1], depth=2, missed=[1, 1])
    0.25
    """
    relevant = sum(grade > 0 for grade in (*grades, *missed))
    return float(_relevance(scores, grades)[:depth].sum()) / relevant if relevant else 0.0


def reciprocal_rank(scores: Array, grades: Sequence[int], *, depth: int = 10) -> float:
    """Return 1 / place of the first relevant page, 0 when it is not among the first `depth`.

    With a depth of 1 it is P@1.

    >>> reciprocal_rank(np.array([3.0, 2.0, 1.0]), [0, 1, 1])
    0.5
    """
    places = np.flatnonzero(_relevance(scores, grades)[:depth])
    return 1 / (1 + int(places[0])) if len(places) else 0.0


def _relevance(scores: Array, grades: Sequence[int]) -> NDArray[np.bool_]:
    """Return whether each page is relevant, best page first."""
    relevant: NDArray[np.bool_] = np.array(grades, dtype=np.int64) > 0
    return relevant[np.argsort(-scores, kind="stable")]


def best_score(scores: Array) -> float:
    """Return the best score, below every threshold when there is none."""
    return float(scores.max(initial=-math.inf))


def _mean(sets: Iterable[Array]) -> float:
    """Return the mean of the sets' means."""
    return float(np.mean([each.mean() for each in sets]))


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    def text(self, digits: int = 3) -> str:
        """Return mean and interval as text.

        >>> Interval(0.5, 0.25, 0.75).text(2)
        '0.50 [0.25, 0.75]'
        """
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def bootstrap(*sets: Array) -> Interval:
    """Return the mean over the sets with equal weights, and its interval.

    A set has one value per question; differences make it a paired bootstrap. The same values
    always give the same interval.

    >>> bootstrap(np.array([0.0, 1.0, 1.0, 1.0])).mean
    0.75
    """
    draw = np.random.default_rng(0)
    resampled = [
        [each[draw.integers(0, len(each), len(each))].mean() for _ in range(RESAMPLES)]
        for each in sets
    ]
    low, high = np.percentile(np.mean(resampled, 0), [2.5, 97.5])
    return Interval(_mean(sets), float(low), float(high))


def derangement(n: int, seed: int) -> list[int]:
    """Return a permutation of 0 to n - 1 (n of 2 or more) that leaves no place as it was.

    >>> derangement(2, seed=0)
    [1, 0]
    """
    order = np.random.default_rng(seed).permutation(n)
    partner = np.empty(n, np.int64)
    partner[order] = np.roll(order, 1)
    return partner.tolist()


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table whose columns line up.

    >>> print(format_table(["method", "P@1"], [["BM25", "0.5"]]))
    | method | P@1 |
    | ------ | --- |
    | BM25   | 0.5 |
    """
    cells = [head, *rows]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = (" | ".join(map(str.ljust, line, widths)) for line in cells)
    return "\n".join(f"| {line} |" for line in lines)
