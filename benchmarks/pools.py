"""Labelled ranking pools: a question, up to 40 pages, and which of them are relevant.

A folder holds, per set, `NAME.docs.jsonl` (`id, title, snippet`), `NAME.queries.jsonl`
(`query_id, query, pool: [{doc, grade}]`, `doc` being a line of the former) and `NAME.vectors.npz`
(`queries`, `docs`: unit vectors in file order).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from collection_search.scoring import Page

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Pool:
    """One question with its pages; grade 0 = not relevant."""

    question: str
    pages: list[Page]
    grades: list[int]
    similarities: list[float]
    """The dense model's cosines."""


def load_sets(folder: Path) -> dict[str, list[Pool]]:
    """Return every set of the folder by name."""
    names = sorted(path.name.removesuffix(".queries.jsonl") for path in folder.glob("*.queries.*"))
    if not names:
        raise SystemExit(f"{folder} holds no NAME.queries.jsonl")
    return {name: _Set(folder, name).pools() for name in names}


def load_off_topic(folder: Path, *, pairings: int = 3) -> dict[str, list[Pool]]:
    """Return questions with other questions' pools, the question's relevant pages taken out.

    Each question meets `pairings` other pools, drawn with a fixed seed.
    """
    return {
        name: [
            pool
            for seed in range(pairings)
            for pool in _Set(folder, name).pools(np.random.default_rng(seed))
        ]
        for name in load_sets(folder)
    }


def cut(pool: Pool, size: int) -> Pool:
    """Return the pool with its best page and the first others, in their order."""
    best = max(range(len(pool.pages)), key=pool.grades.__getitem__)
    kept = sorted([best, *(place for place in range(size) if place != best)][:size])
    return Pool(
        pool.question,
        [pool.pages[place] for place in kept],
        [pool.grades[place] for place in kept],
        [pool.similarities[place] for place in kept],
    )


class _Set:
    """One set of the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._docs = _lines(folder, f"{name}.docs.jsonl")
        self._queries = _lines(folder, f"{name}.queries.jsonl")
        with np.load(folder / f"{name}.vectors.npz") as vectors:
            self._cosines = vectors["queries"].astype(np.float32) @ vectors["docs"].T.astype(
                np.float32
            )

    def pools(self, shuffle: np.random.Generator | None = None) -> list[Pool]:
        """Return each question with its own pool or, shuffled, with another's."""
        n = len(self._queries)
        step = np.arange(n) if shuffle is None else _derangement(n, shuffle)
        return [self._pool(i, int(step[i])) for i in range(n)]

    def _pool(self, asked: int, pooled: int) -> Pool:
        relevant = {row["doc"] for row in self._queries[asked]["pool"] if row["grade"]}
        rows = self._queries[pooled]["pool"]
        if asked != pooled:
            rows = [{**row, "grade": 0} for row in rows if row["doc"] not in relevant]
        return Pool(
            self._queries[asked]["query"],
            [self._page(row["doc"]) for row in rows],
            [row["grade"] for row in rows],
            [float(self._cosines[asked, row["doc"]]) for row in rows],
        )

    def _page(self, doc: int) -> Page:
        row = self._docs[doc]
        return Page(row["title"], row["snippet"], f"https://pool.example/{row['id']}")


def _derangement(n: int, shuffle: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a permutation that leaves no place as it was."""
    order = shuffle.permutation(n)
    partner = np.empty(n, np.int64)
    partner[order] = np.roll(order, 1)
    return partner


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    with (folder / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
