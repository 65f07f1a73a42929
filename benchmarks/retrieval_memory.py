"""Measure the memory of a process that stores, exports and searches a collection.

`python benchmarks/retrieval_memory.py COUNT [--vectors]` does so with so many documents of ten
chunks, and prints the highest memory in MiB: all of it, and what is no page of a file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_texts import PER_DOCUMENT, SIZE, Texts, fill

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.adapters.stores.sqlite.vector_cache import SMALL_BYTES
from collection_search.contracts.collection import TenantScope

if TYPE_CHECKING:
    from typing import Self

SCOPE: Final = TenantScope("bench", "all")
MAX_GROWTH_MIB: Final = 16
"""From the least number of documents to any other: 2 MiB of ids and cosines, and the noise."""
KEPT_MIB: Final = SMALL_BYTES >> 20
"""Beyond that, by vectors: what may be kept in memory of one collection."""
SEARCHES: Final[dict[str, dict[str, Any] | None]] = {
    "no filter": None,
    "provider, half": {"provider": "brave"},
    "is_pdf, a tenth": {"is_pdf": True},
    "host, a fiftieth": {"host": "host7.example"},
    "url_prefix, a fiftieth": {"url_prefix": "https://host7.example/"},
    "published_after, half": {"published_after": "2026-07-01"},
    "three at once": {"provider": "brave", "is_pdf": False, "published_before": "2026-09-01"},
}


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
    command = [sys.executable, __file__, str(count), *["--vectors"][: int(vectors)]]
    call = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    whole, anonymous = map(float, call.stdout.split())
    return whole, anonymous


def show_memory(counts: list[int]) -> bool:
    """Print the peaks in MiB; return whether none grows by more than it may."""
    print(
        "\n| documents | matrix MiB | by words: peak | anonymous | by vectors: peak | anonymous |"
        "\n|---|---|---|---|---|---|"
    )
    rows = []
    for count in counts:
        rows.append([*peaks(count, vectors=False), *peaks(count, vectors=True)])
        figures = " | ".join(f"{figure:.0f}" for figure in rows[-1])
        print(f"| {count} | {count * PER_DOCUMENT * SIZE / 2**20:.0f} | {figures} |", flush=True)
    growth = [max(column) - column[0] for column in zip(*rows, strict=True)]
    words, vectors = max(growth[:2]), max(growth[2:])
    most = MAX_GROWTH_MIB + KEPT_MIB
    print(f"\nGrowth by words {words:.0f} MiB, at most {MAX_GROWTH_MIB};", end=" ")
    print(f"by vectors {vectors:.0f} MiB, at most {most}.")
    return words <= MAX_GROWTH_MIB and vectors <= most


def main() -> None:
    """Do what `peaks` measures, and print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--vectors", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Peak() as peak:
        store, texts = SQLiteStore(Path(folder) / "collections.db"), Texts()
        fill(store, SCOPE, texts, given.count, vectors=given.vectors)
        for _ in store.collections.export(SCOPE):
            pass
        for filters in [*SEARCHES.values()] * 3:
            vector = texts.vectors(1) if given.vectors else None
            store.collections.search(SCOPE, texts.question(), vector=vector, filters=filters)
        store.close()
        print(*peak.read())


if __name__ == "__main__":
    main()
