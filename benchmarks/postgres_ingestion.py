"""Rows through the ledger of PostgreSQL by 1, 2 and 4 processes, beside the embedded engine.

Usage: postgres_ingestion.py [--rows 2000] [--tenants 5] [--workers 1 2 4]. Enqueues small pages,
then claims and finishes each with one chunk, without network and embedder. Starts a PostgreSQL
server of its own. Prints rows per second of both engines and their ratio in the same run; the exit
code is 1 where a row was lost.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.postgres_server import (  # pyright: ignore[reportMissingImports]
    postgres_server,
)

from collection_search.contracts.collection import Chunk, Document, TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search.ports import Storage

TEXT = "A task that waits is cancelled after a timeout; page {0} tells how. " * 8
LEASE_S = 600.0
BATCH = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tenants", type=int, default=5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    wanted = parser.parse_args(arguments)
    complete = True
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        for workers in wanted.workers:
            rates: list[float] = []
            for place in (f"{folder}/of_{workers}.db", server.url):
                rate, done = ingested(place, workers, wanted.rows, wanted.tenants)
                complete = complete and done == wanted.rows
                rates.append(rate)
            embedded, served = rates
            print(
                f"{workers} workers: embedded {embedded:.0f} rows/s, PostgreSQL {served:.0f}"
                f" rows/s, {served / embedded:.2f} x",
                flush=True,
            )
    return 0 if complete else 1


def ingested(place: str, workers: int, rows: int, tenants: int) -> tuple[float, int]:
    """Return the rows per second of claims and finishes, and how many rows were stored."""
    schema = f"of_{workers}"
    store = opened(place, schema)
    enqueue(store, rows, tenants)
    store.close()
    context = multiprocessing.get_context("spawn")
    ready, done = context.Barrier(workers + 1), context.Queue()
    processes = [
        context.Process(target=work, args=(place, schema, number, ready, done))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    ready.wait()
    began = time.monotonic()
    stored = sum(done.get() for _ in processes)
    took_s = time.monotonic() - began
    for process in processes:
        process.join()
    return rows / took_s, stored


def opened(place: str, schema: str) -> Storage:
    """Open the embedded store in a file, or that of a server."""
    if place.startswith("postgresql:"):
        from collection_search.adapters.stores.postgres import PostgresStore

        return PostgresStore(place, schema=schema)
    from collection_search.adapters.stores.sqlite import SQLiteStore

    return SQLiteStore(Path(place))


def enqueue(store: Storage, rows: int, tenants: int) -> None:
    """Accept the pages of all tenants, in small requests."""
    for first in range(0, rows, BATCH):
        scope = TenantScope(f"tenant {first // BATCH % tenants}", "docs")
        numbers = range(first, min(first + BATCH, rows))
        refs = store.staging.put(scope.tenant_id, [TEXT.format(number) for number in numbers])
        items = [
            IngestionItem(f"https://h{n % 10}.example/{n}", f"h{n % 10}.example/{n}", "Page", ref)
            for n, ref in zip(numbers, refs, strict=True)
        ]
        store.ledger.enqueue(IngestionRequest(scope, items))


def work(place: str, schema: str, number: int, ready: object, done: object) -> None:
    """Claim and finish until nothing waits."""
    store, stored = opened(place, schema), 0
    ready.wait()  # type: ignore[attr-defined]
    while claim := store.ledger.claim(f"worker {number}", lease_s=LEASE_S):
        text = store.staging.get(claim.scope.tenant_id, claim.content_ref or "") or ""
        text_hash = hashlib.sha256(text.encode()).hexdigest()
        page = Document(claim.url, claim.url_key, claim.title, text_hash)
        stored += store.ledger.finish(claim, page, [Chunk(0, text, 0, len(text))])
    done.put(stored)  # type: ignore[attr-defined]
    store.close()


if __name__ == "__main__":
    raise SystemExit(main())
