"""Labelled ranking pools: a question, up to 40 pages, and which of them are relevant.

A folder holds, per set, `NAME.docs.jsonl` (`id, title, snippet`, perhaps `url`),
`NAME.queries.jsonl` (`query_id, query, pool: [{doc, grade}]`, `doc` being a line of the former, and
perhaps `topic`: questions of one topic are near misses of each other) and `NAME.vectors.npz`
(`queries`, `docs`: unit vectors in file order).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from collection_search.ranking.metrics import PAIRINGS, Pool, derangement
from collection_search.ranking.scoring import PageText

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Pool", "cut", "load_off_topic", "load_sets"]


def load_sets(folder: Path) -> dict[str, list[Pool]]:
    """Return every set of the folder by name."""
    names = sorted(path.name.removesuffix(".queries.jsonl") for path in folder.glob("*.queries.*"))
    if not names:
        raise SystemExit(f"{folder} holds no NAME.queries.jsonl")
    return {name: _Set(folder, name).pools() for name in names}


def load_off_topic(folder: Path, *, pairings: int = PAIRINGS) -> dict[str, list[Pool]]:
    """Return questions with other questions' pools, the question's relevant pages taken out.

    Each question meets `pairings` other pools, drawn with a fixed seed.
    """
    return {
        name: [pool for seed in range(pairings) for pool in _Set(folder, name).pools(seed)]
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

    def pools(self, seed: int | None = None) -> list[Pool]:
        """Return each question with its own pool or, drawn by a seed, with another's."""
        pooled = range(len(self._queries)) if seed is None else self._others(seed)
        return [self._pool(asked, other) for asked, other in enumerate(pooled)]

    def _others(self, seed: int) -> list[int]:
        """Return another question for each, of another topic where topics are known."""
        topics = [row.get("topic") for row in self._queries]
        if topics[0] is None:
            return derangement(len(topics), seed)
        draw = np.random.default_rng(seed)
        strangers = {
            topic: np.flatnonzero([other != topic for other in topics]) for topic in topics
        }
        return [int(draw.choice(strangers[topic])) for topic in topics]

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

    def _page(self, doc: int) -> PageText:
        row = self._docs[doc]
        address = row.get("url") or f"https://pool.example/{row['id']}"
        return PageText(row["title"], row["snippet"], address)


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    with (folder / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
