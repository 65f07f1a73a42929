"""Check the built-in anchors against labelled pools: python benchmarks/anchors.py PATH_TO_POOLS.

A model's scale is placed by its medians over the anchors, in a run and for the fit of the weights.
How far the anchors resemble the pools is judged here by measures that need no model, and whose
values do not depend on the other pages; the second table shows what is left when the medians lie
elsewhere.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

import numpy as np
from fit_scoring import RELEVANT_SHARE, RIDGE, Samples, fit_dense, measured
from pools import load_off_topic, load_sets

from collection_search.ranking.anchors import anchors
from collection_search.ranking.heuristics import PageWords, measure_points
from collection_search.ranking.metrics import format_table
from collection_search.ranking.scoring import DENSE, EMBEDDING_SHARE, HEURISTIC_SHARE, PageText
from collection_search.ranking.threshold import FALLBACK_SCORE, MIN_SCORE
from collection_search.ranking.tokenization import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fit_scoring import Array
    from pools import Pool

    from collection_search.ranking.scoring import Calibration

STEP: Final = 0.03
"""How far the medians of anchors may lie from those of pools."""
EVERY: Final = 5
"""Of the many unrelated pairs each fifth is measured."""


def shared(question: str, page: PageText) -> float:
    """Return the cosine of the character 3-5-grams inside words, counted by their logarithm."""
    asked, held = _grams(question), _grams(f"{page.title} {page.snippet}")
    norm = math.sqrt(sum(x * x for x in asked.values()) * sum(x * x for x in held.values()))
    return sum(x * held.get(gram, 0.0) for gram, x in asked.items()) / norm if norm else 0.0


def _grams(text: str) -> dict[str, float]:
    padded = (f" {word} " for word in words(text))
    grams = Counter(
        word[place : place + size]
        for word in padded
        for size in (3, 4, 5)
        for place in range(max(1, len(word) - size + 1))
    )
    return {gram: 1 + math.log(count) for gram, count in grams.items()}


def covered(question: str, page: PageText) -> float:
    """Return the share of the question's terms that the page has, rare ones counting more."""
    return measure_points(question, [page], [PageWords.of(page)])[0].coverage / 20


MEASURES: Final[Mapping[str, Callable[[str, PageText], float]]] = {
    "cosine of n-grams": shared,
    "terms covered": covered,
}


def resemblance(folder: Path) -> Iterator[Sequence[str]]:
    """Yield each measure's medians of related and unrelated pairs, of anchors and of pools."""
    pairs = {**dict(_anchor_pairs()), **dict(_pool_pairs(folder))}
    for name, measure in MEASURES.items():
        found = {
            source: [median(measure(*pair) for pair in kind) for kind in kinds]
            for source, kinds in pairs.items()
        }
        for source, (related, unrelated) in found.items():
            yield name, source, f"{related:.3f}", f"{unrelated:.3f}"
        for group, sources in (("anchors", anchors()), ("pools", load_sets(folder))):
            means = [fmean(found[source][kind] for source in sources) for kind in (0, 1)]
            yield name, f"mean of the {group}", *(f"{mean:.3f}" for mean in means)


def _anchor_pairs() -> Iterator[tuple[str, list[list[tuple[str, PageText]]]]]:
    for language, entries in anchors().items():
        pages = [PageText(each.title, each.snippet, "") for each in entries]
        related = [(each.question, page) for each, page in zip(entries, pages, strict=True)]
        unrelated = [
            (each.question, page)
            for own, each in enumerate(entries)
            for other, page in enumerate(pages)
            if own != other
        ]
        yield language, [related, unrelated]


def _pool_pairs(folder: Path) -> Iterator[tuple[str, list[list[tuple[str, PageText]]]]]:
    off_topic = load_off_topic(folder, pairings=1)
    for name, pools in load_sets(folder).items():
        related = [
            (pool.question, page._replace(url=""))
            for pool in pools
            for page, grade in zip(pool.pages, pool.grades, strict=True)
            if grade
        ]
        unrelated = [
            (pool.question, page._replace(url=""))
            for pool in off_topic[name]
            for page in pool.pages[::EVERY]
        ]
        yield name, [related, unrelated]


def sensitivity(folder: Path) -> Iterator[Sequence[str]]:
    """Yield the gate, each set judged by a fit on the others, with medians that lie elsewhere."""
    own = {
        name: [_parts(pool) for pool in pools if pool.is_answerable]
        for name, pools in load_sets(folder).items()
    }
    off_topic = {name: [*map(_parts, pools)] for name, pools in load_off_topic(folder).items()}
    placed = DENSE.unrelated, DENSE.related
    fitted = _fitted(folder, placed)
    for unrelated, related in product((-STEP, 0.0, STEP), repeat=2):
        served, through = [], []
        for name, fit in fitted.items():
            moved = replace(fit, unrelated=placed[0] + unrelated, related=placed[1] + related)
            served.append(
                fmean(_best(each, moved, graded=True) >= FALLBACK_SCORE for each in own[name])
            )
            through.append(fmean(_best(each, moved) >= MIN_SCORE for each in off_topic[name]))
        shares = f"{fmean(served):.3f}", f"{fmean(through):.3f}"
        yield f"{unrelated:+.2f}", f"{related:+.2f}", *shares


def _fitted(folder: Path, placed: tuple[float, float]) -> dict[str, Calibration]:
    samples = {name: Samples.of(pools) for name, pools in load_sets(folder).items()}
    others = {name: [each for other, each in samples.items() if other != name] for name in samples}
    return {name: fit_dense(Samples.joined(each), *placed) for name, each in others.items()}


def _parts(pool: Pool) -> Array:
    """Return similarity, wording, heuristic and grade of each page."""
    return np.array(measured(pool))


def _best(parts: Array, fit: Calibration, *, graded: bool = False) -> float:
    """Return the best score of the pages, or of the relevant ones."""
    return max(
        100 * (EMBEDDING_SHARE * fit.probability(similarity, wording) + HEURISTIC_SHARE * heuristic)
        for similarity, wording, heuristic, grade in parts
        if grade or not graded
    )


def main(folder: Path) -> None:
    """Print the report."""
    print("# Anchors\n\n## Median over related and over unrelated pairs\n")
    print(format_table(["measure", "pairs of", "related", "unrelated"], resemblance(folder)))
    unrelated, related = DENSE.unrelated, DENSE.related
    share = RELEVANT_SHARE["dense"]
    print(f"\n## The gate when a model's medians lie elsewhere than {unrelated} and {related}\n")
    print(f"Relevant pages carry {share:.0%} of the loss, ridge {RIDGE['dense']:g}.\n")
    head = ["unrelated", "related", "questions served at 50", "off-topic pools let through at 60"]
    print(format_table(head, sensitivity(folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
