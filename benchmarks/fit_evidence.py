"""Fit the weights of `ranking.evidence` and print them.

`python benchmarks/fit_evidence.py DATA --embeddings local:FOLDER` asks xquad-en and xquad-de (BEIR
layout, below DATA) and the anchors each question: of the pages that a search finds, the best one
that answers is an example of evidence, and the best of all others is none. Which is the best one
depends on the weights, so the fit is repeated. Each set and both kinds weigh the same. The weights
with a model come from xquad-en and the anchors, since a model that knows no German would teach that
models know nothing. `evidence_set` is no part of it: `evidence.py` judges by that.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import Chunk, Document, TenantScope
from collection_search.contracts.embedded_text import chunk_texts, titled_fingerprint
from collection_search.ranking.anchors import anchors
from collection_search.ranking.calibration import scale_of
from collection_search.ranking.evidence import EvidenceParts, measure_parts
from collection_search.ranking.scoring import PageText
from collection_search.tools.evaluation.beir import load_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from collection_search.ports import Embedder
    from collection_search.ranking.scoring import Calibration

    Array = NDArray[np.float64]

POOL: Final = 40
LIMIT: Final = 300
RIDGE: Final = 1e-3
PARTS: Final = EvidenceParts._fields
SCOPE: Final = TenantScope("benchmark", "pages")


@dataclass
class Examples:
    """The parts of every page per question: of those that answer, and of the others."""

    answers: list[Array]
    others: list[Array]

    def only(self, columns: list[int]) -> Examples:
        """Return the same with some of the parts alone."""
        return Examples(
            [each[:, columns] for each in self.answers], [each[:, columns] for each in self.others]
        )


@dataclass
class Material:
    """Pages by id, and questions with the ids of the pages that answer them."""

    pages: dict[str, PageText]
    questions: list[tuple[str, set[str]]]


def read_dataset(folder: Path) -> Material:
    """Return a data set of short pages: each is one chunk."""
    dataset = load_dataset(folder, limit=LIMIT)
    pages = {one.id: PageText(one.title, one.text, one.url) for one in dataset.entries()}
    return Material(pages, [(one.text, set(one.grades)) for one in dataset.questions])


def read_anchors() -> Material:
    """Return the anchors of both languages."""
    every = [anchor for each in anchors().values() for anchor in each]
    pages = {str(n): PageText(one.title, one.snippet, "") for n, one in enumerate(every)}
    return Material(pages, [(one.question, {str(n)}) for n, one in enumerate(every)])


async def embed(embedder: Embedder | None, texts: Sequence[str]) -> Array | None:
    """Return the vectors of the texts, None without an embedder."""
    if embedder is None:
        return None
    parts = [(await embedder.embed(texts[n : n + 64])).vectors for n in range(0, len(texts), 64)]
    return np.concatenate(parts)


async def measure(
    material: Material, embedder: Embedder | None, calibration: Calibration | None
) -> Examples:
    """Return the parts of the pages that a search finds."""
    keys, found = list(material.pages), Examples([], [])
    name = "" if embedder is None else titled_fingerprint(embedder.fingerprint)
    texts = chunk_texts(name, ((page.title, page.snippet) for page in material.pages.values()))
    pages = await embed(embedder, texts)
    asked = await embed(embedder, [question for question, _ in material.questions])
    with tempfile.TemporaryDirectory() as home:
        store = SQLiteStore.from_settings(Settings(home=Path(home)))
        if embedder is not None:
            store.collections.bind_embedder(SCOPE, name)
        for n, key in enumerate(keys):
            page = material.pages[key]
            vector = None if pages is None else pages[n]
            digest = hashlib.sha256(page.snippet.encode()).hexdigest()
            document = Document(page.url or f"https://pages.example/{key}", key, page.title, digest)
            chunk = Chunk(0, page.snippet, 0, len(page.snippet), vector)
            store.collections.replace_document(SCOPE, document, [chunk])
        for n, (question, right) in enumerate(material.questions):
            vector = None if asked is None else asked[n : n + 1]
            pool = store.collections.search(SCOPE, question, vector=vector, limit=POOL)
            texts = [material.pages[one.document.url_key] for one in pool]
            cosines = None
            if vector is not None:
                cosines = [float(one.chunk.vector @ vector[0]) for one in pool]
            parts = np.array(
                measure_parts(question, texts, similarities=cosines, calibration=calibration)
            )
            is_right = np.array([one.document.url_key in right for one in pool], bool)
            if len(pool):
                found.answers.append(parts[is_right])
                found.others.append(parts[~is_right])
        store.close()
    return found


def fit(sets: Sequence[Examples]) -> Array:
    """Return the weights of the parts and the constant."""
    size = sets[0].others[0].shape[1]
    weights = np.append(np.full(size, 3.0), -3.0)
    for _ in range(20):
        rows, labels, shares = [], [], []
        for examples in sets:
            for label, every in ((1.0, examples.answers), (0.0, examples.others)):
                best = [parts[(parts @ weights[:-1]).argmax()] for parts in every if len(parts)]
                rows += best
                labels += [label] * len(best)
                shares += [1 / len(best)] * len(best)
        features = np.column_stack([np.array(rows), np.ones(len(rows))])
        weights = logistic(features, np.array(labels), np.array(shares) / sum(shares))
    return weights


def logistic(features: Array, labels: Array, shares: Array) -> Array:
    """Return the coefficients with the least log loss, by Newton's method."""
    penalty = RIDGE * np.append(np.ones(features.shape[1] - 1), 0)
    weights = np.zeros(features.shape[1])  # Newton's method may diverge from elsewhere
    for _ in range(30):
        p = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (shares * (p - labels)) + penalty * weights
        curvature = features.T @ (features * (shares * p * (1 - p))[:, None]) + np.diag(penalty)
        weights = weights - np.linalg.solve(curvature, gradient)
    return weights


def show(names: Sequence[str], sets: Sequence[Examples], weights: Array) -> None:
    """Print, for each set, the shares of answers and of others on their sides of 50."""
    for name, examples in zip(names, sets, strict=True):
        answers = [(each @ weights[:-1]).max(initial=-99) for each in examples.answers]
        others = [(each @ weights[:-1]).max(initial=-99) for each in examples.others]
        kept = np.mean(np.array(answers) >= -weights[-1])
        refused = np.mean(np.array(others) < -weights[-1])
        print(f"#   {name}: answered {kept:.1%}, unanswered without {refused:.1%}")


async def main() -> None:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--embeddings", required=True)
    given = parser.parse_args()
    names = ["xquad-en", "xquad-de", "anchors"]
    materials = [read_dataset(given.data / name) for name in names[:2]] + [read_anchors()]
    with tempfile.TemporaryDirectory() as home:
        context = SearchContext(settings=Settings(home=Path(home)), embeddings=given.embeddings)
        embedder = await context.embedder()
        assert embedder is not None, "name a model"
        calibration = (await scale_of(embedder, folder=Path(home))).dense
    by_words = [await measure(each, None, None) for each in materials]
    by_model = [await measure(each, embedder, calibration) for each in materials]
    for name, sets, columns in (
        ("BY_WORDS", by_words, [0, 1]),
        ("BY_MODEL", [by_model[0], by_model[2]], [0, 1, 2]),
        ("BY_MEANING", [by_model[0], by_model[2]], [2]),
    ):
        weights = fit([each.only(columns) for each in sets])
        told = zip([PARTS[column] for column in columns] + ["constant"], weights, strict=True)
        print(name, ", ".join(f"{part}={weight:.2f}" for part, weight in told))
        every = by_words if name == "BY_WORDS" else by_model
        show(names, [each.only(columns) for each in every], weights)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
