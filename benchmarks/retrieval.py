"""Measure retrieval from a stored collection against a bare numpy scan plus a bare FTS5 query.

`python benchmarks/retrieval.py [--chunks 50000] [--words 150000] [--questions 41] [--documents
1000,5000,10000]` prints three tables in about eight minutes, each figure beside its goal: searches
by words and vectors as ratios to the floor, and `retrieve` as a ratio to the search, all taken in
turns question by question; searches by words alone as ratios to the one without a filter; and the
peak memory of a process that stores, exports and searches collections. Everything is measured with
default settings. `--skip-memory` leaves the last table out. The exit code is 1 when a goal is
missed. numpy gets one thread: those that wait for more work would slow whoever comes after them.
The embedder of `retrieve` draws its vectors and takes no time.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from retrieval_memory import SCOPE, SEARCHES, show_memory
from retrieval_texts import PER_DOCUMENT, SIZE, Texts, documents, fill

from collection_search import Settings, retrieve
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import Embedded
from collection_search.ranking.lexicon import match_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from collection_search.contracts.collection import TenantScope

LIMIT: Final = 40
DEEP: Final = 10
GOALS: Final = {"no filter": 0.7, "retrieve": 1.3, "recall": 0.99, "changed": 3.0, "words": 1.5}
FILTERED: Final = 1.5
"""Most of a search with a filter, as a ratio to the floor."""
BROAD: Final = ("provider, half", "published_after, half", "three at once")
"""Filters that most chunks or many pass."""


class Floor:
    """The least that the same answer takes: one product, one sort, one FTS5 query."""

    def __init__(self, path: Path, scope: TenantScope) -> None:
        self._connection = sqlite3.connect(path)
        name = self._connection.execute(
            "SELECT id FROM collections WHERE tenant_id = ? AND name = ?",
            (scope.tenant_id, scope.collection),
        ).fetchone()[0]
        self._part = f"c{name}"
        rows = self._connection.execute(
            "SELECT vector, url_key, ordinal FROM chunks"
            " JOIN documents ON documents.id = document_id WHERE collection_id = ?",
            (name,),
        ).fetchall()
        joined = b"".join(row[0] for row in rows)
        self._matrix = np.frombuffer(joined, dtype=np.float32).reshape(-1, SIZE)
        self._names = [row[1:] for row in rows]

    def scan(self, vector: Any) -> Any:
        """Compare with every vector and take the nearest."""
        cosines = self._matrix @ vector[0]
        return np.argpartition(cosines, -LIMIT)[-LIMIT:]

    def nearest(self, vector: Any) -> set[tuple[str, int]]:
        """Return the chunks whose vectors are the nearest."""
        cosines = self._matrix @ vector[0]
        return {self._names[place] for place in np.argsort(-cosines)[:DEEP]}

    def query(self, question: str) -> None:
        """Take the best by words."""
        self._connection.execute(
            "SELECT rowid, bm25(chunk_words, 0, 2, 1) AS score FROM chunk_words"
            " WHERE chunk_words MATCH ? ORDER BY score LIMIT ?",
            (f"part : {self._part} AND {{title body}} : ({match_query(question)})", LIMIT),
        ).fetchall()


class DrawnVectors:
    """An embedder whose vectors have nothing to do with the texts."""

    fingerprint = f"bench:{SIZE}"

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return one vector per text."""
        return Embedded(self._texts.vectors(len(texts)), 0)


def in_turns(
    calls: Mapping[str, Callable[[str, Any], object]], texts: Texts, questions: int
) -> dict[str, list[float]]:
    """Return the seconds of every call, question by question."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for n in range(questions + 2):
        question, vector = texts.question(), texts.vectors(1)
        order = deque(calls.items())
        order.rotate(n)  # so that nobody always finds the caches as the same one left them
        for name, call in order:
            began = time.perf_counter()
            call(question, vector)
            if n >= 2:  # the first ones load
                times[name].append(time.perf_counter() - began)
    return times


def ratio(took: Sequence[float], *floors: Sequence[float]) -> float:
    """Return the median of the ratios to the sum of the floors, question by question."""
    sums = [sum(parts) for parts in zip(*floors, strict=True)]
    return statistics.median(t / floor for t, floor in zip(took, sums, strict=True))


def _search(
    store: SQLiteStore, filters: dict[str, Any] | None, question: str, vector: Any
) -> list[Any]:
    return store.collections.search(SCOPE, question, vector=vector, limit=LIMIT, filters=filters)


class Report:
    """The rows of a table, and whether all goals are met."""

    def __init__(self) -> None:
        self.met = True

    def head(self, title: str, measure: str) -> None:
        """Print the head of a table."""
        print(f"\n{title}\n\n| | median ms | {measure} | goal |\n|---|---|---|---|")

    def row(
        self, name: str, times: Sequence[float] = (), value: float | None = None, goal: float = 0.0
    ) -> None:
        """Print a row; a goal is the most, for a recall the least."""
        took = f"{1000 * statistics.median(times):.2f}" if times else ""
        told = "" if value is None else f"{value:.3f}" if not times else f"{value:.2f}"
        sign = "<=" if times else ">="
        if goal and value is not None:
            self.met &= value <= goal if times else value >= goal
        print(f"| {name} | {took} | {told} | {f'{sign} {goal}' if goal else ''} |", flush=True)


def measure_both(chunks: int, questions: int, report: Report) -> None:
    """Measure searches by words and vectors."""
    with tempfile.TemporaryDirectory() as folder:
        path, texts = Path(folder) / "collections.db", Texts()
        store = SQLiteStore(path)
        fill(store, SCOPE, texts, chunks // PER_DOCUMENT, vectors=True)
        floor = Floor(path, SCOPE)
        context = SearchContext(
            settings=Settings(home=Path(folder)),
            store=store,
            tenant_id=SCOPE.tenant_id,
            embeddings=DrawnVectors(texts),
        )
        calls: dict[str, Callable[[str, Any], object]] = {
            "floor: numpy scan": lambda _question, vector: floor.scan(vector),
            "floor: FTS5 query": lambda question, _vector: floor.query(question),
            **{name: partial(_search, store, filters) for name, filters in SEARCHES.items()},
            "retrieve": lambda question, _vector: retrieve(
                question, collection=SCOPE.collection, context=context
            ),
        }
        times = in_turns(calls, texts, questions)
        scans, queries = times["floor: numpy scan"], times["floor: FTS5 query"]
        report.head(f"{chunks} chunks of {SIZE} dimensions", "ratio to the floor")
        report.row("floor: numpy scan", scans)
        report.row("floor: FTS5 query", queries)
        for name in SEARCHES:
            goal = GOALS.get(name, FILTERED)
            report.row(name, times[name], ratio(times[name], scans, queries), goal)
        whole = times["retrieve"]
        both = ratio(whole, times["no filter"])
        report.row("`retrieve()`, to the search", whole, both, GOALS["retrieve"])
        recall = _recall(store, floor, texts, questions)
        report.row("recall@10 against the exact scan", value=recall, goal=GOALS["recall"])
        _measure_changes(store, texts, report)  # after that the floor knows other vectors
        store.close()


def _measure_changes(store: SQLiteStore, texts: Texts, report: Report) -> None:
    """Search after each change of one document, and once more."""
    first, warm = [], []
    for page, rows in documents(texts, 9, vectors=True):
        store.collections.replace_document(SCOPE, page, rows)
        for times in (first, warm):
            question, vector, began = texts.question(), texts.vectors(1), time.perf_counter()
            _search(store, None, question, vector)
            times.append(time.perf_counter() - began)
    name = "first search after a change of one document, to a warm one"
    report.row(name, first, ratio(first, warm), GOALS["changed"])


def _recall(store: SQLiteStore, floor: Floor, texts: Texts, questions: int) -> float:
    """Return the share of the nearest chunks that a search without words finds."""
    shares = []
    for _ in range(questions):
        vector = texts.vectors(1)
        found = store.collections.search(SCOPE, "", vector=vector, limit=DEEP)
        names = {(one.document.url_key, one.chunk.ordinal) for one in found}
        shares.append(len(names & floor.nearest(vector)) / DEEP)
    return statistics.fmean(shares)


def measure_words(chunks: int, questions: int, report: Report) -> None:
    """Measure searches by words alone."""
    with tempfile.TemporaryDirectory() as folder:
        store, texts = SQLiteStore(Path(folder) / "collections.db"), Texts()
        fill(store, SCOPE, texts, chunks // PER_DOCUMENT, vectors=False)

        def by_words(filters: dict[str, Any] | None, question: str, _: Any) -> object:
            return _search(store, filters, question, None)

        calls = {name: partial(by_words, filters) for name, filters in SEARCHES.items()}
        times = in_turns(calls, texts, questions)
        report.head(f"{chunks} chunks by words", "ratio to no filter")
        report.row("no filter", times["no filter"])
        for name in [*SEARCHES][1:]:
            value = ratio(times[name], times["no filter"])
            report.row(name, times[name], value, GOALS["words"] if name in BROAD else 0.0)
        store.close()


def main() -> int:
    """Fill the stores, ask, print the tables, and return 0 when all goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--words", type=int, default=150_000)
    parser.add_argument("--questions", type=int, default=41)
    parser.add_argument("--documents", default="1000,5000,10000")
    parser.add_argument("--skip-memory", action="store_true")
    given = parser.parse_args()
    report = Report()
    measure_both(given.chunks, given.questions, report)
    measure_words(given.words, given.questions, report)
    if not given.skip_memory:
        report.met &= show_memory([int(count) for count in given.documents.split(",")])
    return int(not report.met)


if __name__ == "__main__":
    sys.exit(main())
