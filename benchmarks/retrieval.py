"""Measure retrieval from a stored collection against a bare numpy scan plus a bare FTS5 query.

`python benchmarks/retrieval.py [--chunks 50000] [--questions 41] [--documents 1000,10000]` prints
two tables in about five minutes: the time of each kind of search as a ratio to the floor, taken in
turns question by question, and the peak memory of a process that stores, exports and searches
collections of both sizes, by words alone and by vectors too. `--skip-memory` leaves the second out.
The exit code is 1 when a ratio is above its limit, or when memory grows with the collection.
numpy gets one thread: those that wait for more work would slow whoever comes after them.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from retrieval_texts import PER_DOCUMENT, SIZE, Texts, documents, fill

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.ranking.lexicon import match_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

LIMIT: Final = 40
MAX_RATIO: Final = 1.5
MAX_GROWTH_MIB: Final = 16
"""From the least number of documents to any other: 2 MiB of ids and cosines, and the noise."""
SCOPE: Final = TenantScope("bench", "all")
SEARCHES: Final[dict[str, dict[str, Any] | None]] = {
    "no filter": None,
    "provider, half": {"provider": "brave"},
    "is_pdf, a tenth": {"is_pdf": True},
    "host, a fiftieth": {"host": "host7.example"},
    "url_prefix, a fiftieth": {"url_prefix": "https://host7.example/"},
    "published_after, half": {"published_after": "2026-07-01"},
    "three at once": {"provider": "brave", "is_pdf": False, "published_before": "2026-09-01"},
}


class Floor:
    """The least that the same answer takes: one product, one sort, one FTS5 query."""

    def __init__(self, path: Path, scope: TenantScope) -> None:
        self._connection = sqlite3.connect(path)
        name = self._connection.execute(
            "SELECT id FROM collections WHERE tenant_id = ? AND name = ?",
            (scope.tenant_id, scope.collection),
        ).fetchone()[0]
        self._part = f"c{name}"
        blobs = self._connection.execute(
            "SELECT vector FROM chunks JOIN documents ON documents.id = document_id"
            " WHERE collection_id = ?",
            (name,),
        )
        joined = b"".join(row[0] for row in blobs)
        self._matrix = np.frombuffer(joined, dtype=np.float32).reshape(-1, SIZE)

    def scan(self, vector: Any) -> None:
        """Compare with every vector and take the nearest."""
        cosines = self._matrix @ vector[0]
        np.argpartition(cosines, -LIMIT)[-LIMIT:]

    def query(self, question: str) -> None:
        """Take the best by words."""
        self._connection.execute(
            "SELECT rowid, bm25(chunk_words, 0, 2, 1) AS score FROM chunk_words"
            " WHERE chunk_words MATCH ? ORDER BY score LIMIT ?",
            (f"part : {self._part} AND {{title body}} : ({match_query(question)})", LIMIT),
        ).fetchall()


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def compare(
    store: SQLiteStore, path: Path, scope: TenantScope, texts: Texts, questions: int
) -> dict[str, list[float]]:
    """Return the times of the floor's two parts and of every search, question by question."""
    floor = Floor(path, scope)
    calls: dict[str, Callable[[str, Any], object]] = {
        "numpy scan": lambda _question, vector: floor.scan(vector),
        "FTS5 query": lambda question, _vector: floor.query(question),
    }
    for name, filters in SEARCHES.items():
        calls[name] = partial(_search, store, scope, filters)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for n in range(questions + 2):
        question, vector = texts.question(), texts.vectors(1)
        order = deque(calls.items())
        order.rotate(n)  # so that nobody always finds the caches as the same one left them
        for name, call in order:
            took = timed(partial(call, question, vector))
            if n >= 2:  # the first ones load
                times[name].append(took)
    return times


def _search(
    store: SQLiteStore,
    scope: TenantScope,
    filters: dict[str, Any] | None,
    question: str,
    vector: Any,
) -> None:
    store.collections.search(scope, question, vector=vector, limit=LIMIT, filters=filters)


def reloads(store: SQLiteStore, scope: TenantScope, texts: Texts) -> list[float]:
    """Return the times of searches that each come after a change of the collection."""
    times = []
    for page, chunks in documents(texts, 7, vectors=True):
        store.collections.replace_document(scope, page, chunks)
        search = partial(store.collections.search, scope, texts.question())
        times.append(timed(partial(search, vector=texts.vectors(1))))
    return times


def show(title: str, times: dict[str, list[float]]) -> float:
    """Print the medians, and the ratios to the floor question by question; return the highest."""
    scans, queries = times.pop("numpy scan"), times.pop("FTS5 query")
    floors = [scan + query for scan, query in zip(scans, queries, strict=True)]
    print(
        f"\n{title}\n\n| search | median ms | ratio to the floor, <= {MAX_RATIO} |\n|---|---|---|"
    )
    print(f"| floor: numpy scan | {1000 * statistics.median(scans):.2f} | |")
    print(f"| floor: FTS5 query | {1000 * statistics.median(queries):.2f} | |")
    ratios = []
    for name, took in times.items():
        ratios.append(statistics.median(t / floor for t, floor in zip(took, floors, strict=True)))
        print(f"| {name} | {1000 * statistics.median(took):.2f} | {ratios[-1]:.2f} |")
    return max(ratios)


class Peak:
    """The highest memory of this process in MiB: all of it, and what is no page of a file.

    The second is looked at every few milliseconds, since the system keeps no mark of it.
    """

    def __init__(self) -> None:
        self._anonymous = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self._anonymous = max(self._anonymous, _status("RssAnon"))

    def read(self) -> tuple[float, float]:
        """Return both; ru_maxrss would not do, as it begins with the parent's."""
        return _status("VmHWM"), self._anonymous


def _status(name: str) -> float:
    """Return a size of this process in MiB, as Linux tells it."""
    with Path("/proc/self/status").open() as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def peaks(count: int, *, vectors: bool) -> tuple[float, float]:
    """Return the `Peak` of a process that stores, exports and searches so many documents."""
    command = [sys.executable, __file__, "--fill", str(count), *["--vectors"][: int(vectors)]]
    call = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    whole, anonymous = map(float, call.stdout.split())
    return whole, anonymous


def use(count: int, *, vectors: bool) -> None:
    """Do what `peaks` measures, and print both figures."""
    with tempfile.TemporaryDirectory() as folder, Peak() as peak:
        store, texts = SQLiteStore(Path(folder) / "collections.db"), Texts()
        fill(store, SCOPE, texts, count, vectors=vectors)
        for _ in store.collections.export(SCOPE):
            pass
        for filters in [*SEARCHES.values()] * 3:
            vector = texts.vectors(1) if vectors else None
            store.collections.search(SCOPE, texts.question(), vector=vector, filters=filters)
        store.close()
        print(*peak.read())


def show_memory(counts: list[int]) -> float:
    """Print the peaks in MiB; return by how much any is above that of the first count."""
    print(
        "\n| documents | matrix MiB | by words: peak | anonymous | by vectors: peak | anonymous |"
        "\n|---|---|---|---|---|---|"
    )
    rows = []
    for count in counts:
        rows.append([*peaks(count, vectors=False), *peaks(count, vectors=True)])
        figures = " | ".join(f"{figure:.0f}" for figure in rows[-1])
        print(f"| {count} | {count * PER_DOCUMENT * SIZE * 4 / 2**20:.0f} | {figures} |")
    growth = max(now - then for row in rows for now, then in zip(row, rows[0], strict=True))
    print(f"\nGrowth {growth:.0f} MiB, at most {MAX_GROWTH_MIB}.")
    return growth


def main() -> int:
    """Fill the stores, ask, print the tables, and return 0 when all is within its limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=41)
    parser.add_argument("--documents", default="1000,10000")
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--fill", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--vectors", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fill:
        use(given.fill, vectors=given.vectors)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path, texts = Path(folder) / "collections.db", Texts()
        store = SQLiteStore(path)
        fill(store, SCOPE, texts, given.chunks // PER_DOCUMENT, vectors=True)
        times = compare(store, path, SCOPE, texts, given.questions)
        ratio = show(f"One collection of {given.chunks} chunks, {SIZE} dimensions", times)
        changed = 1000 * statistics.median(reloads(store, SCOPE, texts))
        print(f"\nThe first search after a change: {changed:.0f} ms.")
        store.close()
    growth = 0.0
    if not given.skip_memory:
        growth = show_memory([int(count) for count in given.documents.split(",")])
    return int(ratio > MAX_RATIO or growth > MAX_GROWTH_MIB)


if __name__ == "__main__":
    sys.exit(main())
