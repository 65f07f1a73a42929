"""Where the anchors say that a model ranks worse than words: the line of `ranking.model_scale`.

`python benchmarks/model_check.py --model FOLDER --pools FOLDER` takes about five minutes. FOLDER is
all-MiniLM-L6-v2 as ONNX, as for `--embeddings local:FOLDER`. From it and from hashes it makes many
worse models, embeds pools and anchors with each, and prints per model and language what the anchors
say, and nDCG@10 by the package's own scale against that by words alone.

Of 54 cases none that loses more than .01 by the model has a distance above 3.4, and the next one
lies at 4.1. Below the line between them seven gain up to .03 all the same. The AUC and the own page
at the first place make as many mistakes. `docs/guides/embedders.md` has the table.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from pools import load_off_topic, load_sets
from worse_models import Model, models

from collection_search.contracts.embedded_text import titled_text
from collection_search.ranking.anchors import anchor_texts, anchors
from collection_search.ranking.metrics import best_score, format_table, ndcg
from collection_search.ranking.model_scale import MIN_SEPARATION, measure_scale
from collection_search.ranking.scoring import rank_pool, score_words
from collection_search.ranking.threshold import MIN_SCORE
from collection_search.tools.similarity.model_similarity import ModelSimilarity, join_similarities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pools import Pool

    from collection_search.ranking.scoring import Calibration, WordScores

SETS: Final[Mapping[str, Sequence[str]]] = {
    "english": ("scifact", "websearch", "xquad-en"),
    "german": ("xquad-de",),
}
"""The sets of the folder with questions in each language of the anchors."""
BESIDE: Final = (
    "MiniLM",
    "MiniLM, noise 0.5",
    "token vectors",
    "hashed n-grams, 4096",
    "hashed stems, 4096",
)
"""Models of the ensembles; the first one beside itself is the model alone."""
TIE: Final = 0.01


class Case(NamedTuple):
    """A model in one language."""

    model: str
    language: str
    auc: float
    distance: float
    """As `Separation` has both."""
    first: float
    """Share of the questions whose own page is the nearest of all anchor pages."""
    dense: float
    lexical: float
    """nDCG@10 by the model's scale and by words, means over the sets."""
    through: float
    through_by_words: float
    """Share of off-topic pools with anything at 60 or above, means over the sets."""

    @property
    def gain(self) -> float:
        """What the model adds to the order."""
        return self.dense - self.lexical


class Question(NamedTuple):
    """A pool whose words are compared already."""

    pool: Pool
    words: WordScores


def measure(folder: Path, pools: Path) -> Iterator[Case]:
    """Yield every model in every language."""
    own = {
        name: _judged(pool for pool in each if pool.is_answerable)
        for name, each in load_sets(pools).items()
    }
    others = {name: _judged(each) for name, each in load_off_topic(pools, pairings=1).items()}
    words = {name: fmean(_order(each, None)) for name, each in own.items()}
    passing = {name: fmean(_passes(each, None)) for name, each in others.items()}
    for name, model in models(folder):
        scale = measure_scale(model(anchor_texts()))
        cosines = partial(_with_cosines, model)
        dense = {key: fmean(_order(cosines(each), scale.dense)) for key, each in own.items()}
        through = {key: fmean(_passes(cosines(each), scale.dense)) for key, each in others.items()}
        for language, sets in SETS.items():
            auc, distance = scale.separations[language]
            means = (fmean(each[key] for key in sets) for each in (dense, words, through, passing))
            yield Case(name, language, auc, distance, _first(model, language), *means)


def _judged(pools: Iterable[Pool]) -> list[Question]:
    return [Question(pool, score_words(pool.question, pool.pages)) for pool in pools]


def _with_cosines(model: Model, questions: Sequence[Question]) -> list[Question]:
    """Return the questions with the cosines of this model."""
    asked = model([each.pool.question for each in questions])
    pages = [titled_text(p.title, p.snippet) for each in questions for p in each.pool.pages]
    rows, place, found = model(pages), 0, []
    for question, vector in zip(questions, asked, strict=True):
        end = place + len(question.pool.pages)
        cosines = (rows[place:end] @ vector).tolist()
        found.append(question._replace(pool=replace(question.pool, similarities=cosines)))
        place = end
    return found


def _scores(question: Question, scale: Calibration | None) -> NDArray[np.float64]:
    """Return the score of each page, by words without a scale."""
    pool = question.pool
    found = rank_pool(
        question.words,
        similarities=pool.similarities if scale else None,
        limit=len(pool.pages),
        calibration=scale,
    )
    scores = np.zeros(len(pool.pages))
    scores[[each.index for each in found]] = [each.embedding_rank_score for each in found]
    return scores


def _order(questions: Sequence[Question], scale: Calibration | None) -> list[float]:
    return [ndcg(_scores(each, scale), each.pool.grades) for each in questions]


def _passes(questions: Sequence[Question], scale: Calibration | None) -> list[float]:
    return [float(best_score(_scores(each, scale)) >= MIN_SCORE) for each in questions]


def _first(model: Model, language: str) -> float:
    """Return the share of the questions whose own page is nearer than all others."""
    each = anchors()[language]
    cosines = model([a.question for a in each]) @ model([a.page for a in each]).T
    return float((cosines.argmax(axis=1) == np.arange(len(each))).mean())


def ensembles(folder: Path, pools: Path) -> Iterator[Sequence[str]]:
    """Yield nDCG@10 per language with each of some models beside the first, whatever its figures.

    A run leaves out those below the line.
    """
    known = dict(models(folder))
    own = {
        name: _judged(pool for pool in each if pool.is_answerable)
        for name, each in load_sets(pools).items()
    }
    first = known["MiniLM"]
    for name in BESIDE:
        chosen = [
            (model, measure_scale(model(anchor_texts())).dense)
            for model in dict.fromkeys((first, known[name]))
        ]
        joined = {key: fmean(_joined_order(each, chosen)) for key, each in own.items()}
        yield name, *(f"{fmean(joined[key] for key in sets):.3f}" for sets in SETS.values())


def _joined_order(
    questions: Sequence[Question], chosen: Sequence[tuple[Model, Calibration]]
) -> list[float]:
    """Return nDCG@10 of each question by the package's ensemble of these models."""
    by_model = [_with_cosines(model, questions) for model, _ in chosen]
    found = []
    for asked in zip(*by_model, strict=True):
        joined = join_similarities(
            [
                ModelSimilarity(str(number), question.pool.similarities, scale)
                for number, (question, (_, scale)) in enumerate(zip(asked, chosen, strict=True))
            ]
        )
        pool = replace(asked[0].pool, similarities=joined.similarities or ())
        scores = _scores(Question(pool, asked[0].words), joined.calibration)
        found.append(ndcg(scores, pool.grades))
    return found


def best_line(values: Sequence[float], gains: Sequence[float]) -> tuple[float, int]:
    """Return the line with the fewest mistakes, in the widest gap, and their number.

    A mistake is a model at or above the line that ranks worse than words by more than `TIE`, or one
    below it that ranks better by more. Ties are none.

    >>> best_line([0.5, 0.9, 1.0], [-0.2, 0.0, 0.1])
    (0.75, 0)
    """
    judged = sorted((v, g) for v, g in zip(values, gains, strict=True) if abs(g) > TIE)
    edges = sorted({v for v, _ in judged})
    found = []
    for low, high in pairwise([edges[0] - 1, *edges, edges[-1] + 1]):
        line = (low + high) / 2
        mistakes = sum((v >= line) != (g > 0) for v, g in judged)
        found.append((mistakes, low - high, line))
    mistakes, _, line = min(found)
    return line, mistakes


def main() -> None:
    """Print the cases, best separation first, and the line of each measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder of an ONNX model")
    parser.add_argument("--pools", type=Path, required=True)
    given = parser.parse_args()
    cases = sorted(measure(given.model, given.pools), key=lambda case: -case.distance)
    print("# Which models rank better than words\n")
    head = ["model", "language", "AUC", "own page first", "distance", "dense", "words", "gain"]
    rows = [
        [
            case.model,
            case.language,
            f"{case.auc:.3f}",
            f"{case.first:.2f}",
            f"{case.distance:.2f}",
            f"{case.dense:.3f}",
            f"{case.lexical:.3f}",
            f"{case.gain:+.3f}",
            f"{case.through:.2f}",
            f"{case.through_by_words:.2f}",
        ]
        for case in cases
    ]
    print(format_table([*head, "off-topic through", "by words"], rows))
    print(f"\n# The line of each measure; gains up to {TIE} either way count as ties\n")
    gains = [case.gain for case in cases]
    lines = [
        [name, *best_line([getattr(case, name) for case in cases], gains)]
        for name in ("auc", "first", "distance")
    ]
    print(
        format_table(
            ["measure", "line", "mistakes"],
            [[name, f"{line:.3f}", str(count)] for name, line, count in lines],
        )
    )
    print(f"\nThe package's line: distance {MIN_SEPARATION}")
    print("\n# nDCG@10 of MiniLM with another model beside it, none of them left out\n")
    print(format_table(["beside it", *SETS], ensembles(given.model, given.pools)))


if __name__ == "__main__":
    main()
