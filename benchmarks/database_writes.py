"""Measure how many pages a second one PostgreSQL takes: claimed, and stored with ten chunks each.

`python benchmarks/database_writes.py URL [--pages 400] [--processes 1 2 4]` prints a line for each
number of processes. Nothing is fetched and nothing is embedded. Each of twenty tenants has a
collection. It works in a schema of its own in that database, and drops it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import psycopg
from retrieval_texts import Texts, documents

from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

SCHEMA: Final = "bench_writes"
TENANTS: Final = 20
SIZE: Final = 384
LEASE_S: Final = 60.0


def measure(url: str, pages: int, processes: int) -> float:
    """Return pages per second, all processes together."""
    _accept(url, pages)
    spawning = multiprocessing.get_context("spawn")
    barrier = spawning.Barrier(processes + 1)
    workers = [
        spawning.Process(target=_work, args=(url, number, pages, barrier))
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    begun = time.perf_counter()
    for worker in workers:
        worker.join()
    taken_s = time.perf_counter() - begun
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())
    if any(worker.exitcode for worker in workers):
        raise SystemExit("A process failed; what is above says why.")
    return pages / taken_s


def _accept(url: str, pages: int) -> None:
    store = PostgresStore(url, schema=SCHEMA)
    for tenant in range(TENANTS):
        scope = TenantScope(f"tenant{tenant}", "all")
        store.collections.bind_embedder(scope, f"bench:{SIZE}")
        items = [
            IngestionItem(f"https://host{n % 50}.example/{n}", f"{n:06}", "Page")
            for n in range(pages // TENANTS)
        ]
        store.ledger.enqueue(IngestionRequest(scope, items))
    store.close()


def _work(url: str, number: int, pages: int, barrier: Barrier) -> None:
    store = PostgresStore(url, schema=SCHEMA)
    prepared = iter(list(documents(Texts(number), pages, vectors=True)))
    barrier.wait()
    while (claim := store.ledger.claim(f"worker{number}", lease_s=LEASE_S, fetch=True)) is not None:
        page, chunks = next(prepared)
        own = replace(page, url=claim.url, url_key=claim.url_key)
        store.ledger.finish(claim, own, chunks)
    store.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    given = parser.parse_args()
    print("| processes | pages/s |\n|---|---|")
    for processes in given.processes:
        print(f"| {processes} | {measure(given.url, given.pages, processes):.0f} |", flush=True)


if __name__ == "__main__":
    main()
