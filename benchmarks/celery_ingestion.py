"""Pages into a collection by Celery workers, beside the embedded engine.

Usage: celery_ingestion.py [--pages 1000] [--hosts 50] [--workers 1 2 4]. Starts a PostgreSQL
server, a RabbitMQ broker and sites of its own, and for each row `collection-search worker` as often
as the row says. Every row has the same pages, by words, with default settings but for addresses and
the delay between two pages of a host, which is 0. Measured between a tenth of the pages and the
last page, so that no start counts. The overhead of the queue is what a page costs with one Celery
worker beyond one worker without a queue on the same database. The exit code is 1 where the
collections differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.crawl_under_fire import Sites  # pyright: ignore[reportMissingImports]
from support.postgres_server import (  # pyright: ignore[reportMissingImports]
    PostgresServer,
    postgres_server,
)
from support.rabbitmq_server import (  # pyright: ignore[reportMissingImports]
    RabbitMQServer,
    rabbitmq_server,
)

from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest
from collection_search.text.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from collection_search.ports import Storage

SCOPE: Final = TenantScope("local", "tea")
FIRST: Final = 0.1
"""The share of the pages that is not measured."""
LOOK_S: Final = 0.1
PATIENCE_S: Final = 600.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_HEAD: Final = """\
| engine | pages/s | CPU of workers a page | of PostgreSQL | of RabbitMQ |
|---|---|---|---|---|"""


class Taken(NamedTuple):
    """What a page took; all but the first are processor time."""

    wall_ms: float
    workers_ms: float
    """With the processes that extract for them."""
    postgres_ms: float
    broker_ms: float

    def row(self, name: str) -> str:
        """Return a row of the table."""
        costs = " | ".join(f"{ms:.1f} ms" for ms in self[1:])
        return f"| {name} | {1000 / self.wall_ms:.1f} | {costs} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    wanted = parser.parse_args(arguments)
    exports = []
    print(_HEAD)
    with (
        Sites(wanted.hosts, wanted.pages, fault_rate=0.0) as sites,
        rabbitmq_server() as broker,
        postgres_server() as postgres,
    ):
        bench = Bench(sites, postgres, broker)

        def measure(name: str, workers: int, **settings: str) -> Taken:
            taken, export = bench.measure(workers, settings)
            exports.append(export)
            print(taken.row(name), flush=True)
            return taken

        measure("embedded, 1 worker", 1)
        plain = measure("PostgreSQL, 1 worker", 1, database_url=postgres.new_database())
        for count in wanted.workers:
            shared = {"database_url": postgres.new_database(), "broker_url": broker.url}
            name = f"PostgreSQL and Celery, {count} worker{'s' * (count > 1)}"
            taken = measure(name, count, ingest_engine="celery", **shared)
            if count == 1:
                overhead = taken.wall_ms - plain.wall_ms, sum(taken[1:]) - sum(plain[1:])
                told = "overhead of the queue a page: {:.1f} ms, {:.1f} ms of them processor time"
                print(told.format(*overhead), file=sys.stderr)
    return 0 if all(export == exports[0] for export in exports) else 1


class Bench:
    """The servers, and the sites whose pages are ingested again and again."""

    def __init__(self, sites: Sites, postgres: PostgresServer, broker: RabbitMQServer) -> None:
        self._sites, self._postgres, self._broker = sites, postgres, broker

    def measure(self, workers: int, settings: dict[str, str]) -> tuple[Taken, list[dict[str, Any]]]:
        """Return what a page took with these settings, and the collection."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = stack.enter_context(closing(_store(folder, settings)))
            processes = [self._start(stack, folder, settings) for _ in range(workers)]
            urls: list[str] = self._sites.given["urls"]
            items = [IngestionItem(url, url_key(url), "") for url in urls]
            ticket = store.ledger.enqueue(IngestionRequest(SCOPE, items))
            before = self._after(store, ticket.ticket_id, int(FIRST * len(urls)), processes)
            after = self._after(store, ticket.ticket_id, len(urls), processes)
            pages = after[0] - before[0]
            spent = (1000 * (b - a) / pages for a, b in zip(before[1:], after[1:], strict=True))
            return Taken(*spent), list(store.collections.export(SCOPE))

    def _start(
        self, stack: ExitStack, folder: Path, settings: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        given = settings | {
            "home": str(folder),
            "fetch_allowed": ",".join(self._sites.given["allowed"]),
            "fetch_delay_s": "0",
        }
        ours = {f"COLLECTION_SEARCH_{name.upper()}": value for name, value in given.items()}
        others = {k: v for k, v in os.environ.items() if not k.startswith("COLLECTION_SEARCH_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "collection_search", "worker"],
            env=others | ours,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        return process

    def _after(
        self,
        store: Storage,
        ticket: str,
        wanted: int,
        workers: Sequence[subprocess.Popen[bytes]],
    ) -> tuple[float, ...]:
        """Wait for so many pages; return their number, the time, and the times of processors."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = store.ledger.status(SCOPE.tenant_id, ticket)
            done = 0 if status is None else status.stored
            if done >= wanted:
                used = sum(_cpu_s(one.pid) for one in workers)
                servers = _cpu_s(self._postgres.pid), _cpu_s(self._broker.pid)
                return (done, time.monotonic(), used, *servers)
            if time.monotonic() > deadline or any(one.poll() is not None for one in workers):
                raise RuntimeError(f"{done} of {wanted} pages: a worker has ended or hangs")
            time.sleep(LOOK_S)


def _store(folder: Path, settings: dict[str, str]) -> Storage:
    """Return what the workers write to."""
    if url := settings.get("database_url"):
        return PostgresStore(url)
    return SQLiteStore(folder / "collections.db")


def _cpu_s(root: int) -> float:
    """Return the processor time of a process and of those that it and they have started."""
    parents, used = dict[int, int](), dict[int, float]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended; its parent has its time
        pid = int(stat.parent.name)
        parents[pid], used[pid] = int(fields[1]), sum(map(int, fields[11:15])) / _TICKS
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(used[pid] for pid in found if pid in used)


if __name__ == "__main__":
    raise SystemExit(main())
