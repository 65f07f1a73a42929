"""Worker processes over a real broker and a real database, as an operator starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from kombu import Connection

from collection_search import Settings
from collection_search.adapters.stores.postgres import PostgresStore
from collection_search.context import SearchContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .postgres_server import PostgresServer
    from .rabbitmq_server import RabbitMQServer

PREFIX = "COLLECTION_SEARCH_"


class CeleryWorld:
    """Settings that this process and its workers share, and the workers that run."""

    def __init__(
        self,
        folder: Path,
        postgres: PostgresServer,
        broker: RabbitMQServer,
        allowed: Sequence[str],
        **more: Any,
    ) -> None:
        self.broker, self.postgres = broker, postgres
        self.given: dict[str, Any] = {
            "home": str(folder),
            "database_url": postgres.url,
            "broker_url": broker.url,
            "ingest_engine": "celery",
            "fetch_allowed": list(allowed),
            "fetch_delay_s": 0,
            "extract_processes": 1,
            **more,
        }
        self.settings = Settings(**self.given)
        self.store = PostgresStore.from_settings(self.settings)
        self.context = SearchContext(settings=self.settings, store=self.store)
        self.workers: list[subprocess.Popen[str]] = []
        self._folder = folder

    def start_worker(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `collection-search worker --engine celery`, in a group of its own."""
        command = [sys.executable, "-m", "collection_search", "worker", "--engine", "celery"]
        return self.start_process([*command, *arguments])

    def start_process(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a worker by any command."""
        with (self._folder / f"worker-{len(self.workers)}.log").open("w") as log:
            process = subprocess.Popen(
                command, env=self._environment(), stderr=log, text=True, start_new_session=True
            )
        self.workers.append(process)
        return process

    def kill(self, worker: subprocess.Popen[str]) -> None:
        """End a worker and its processes at once."""
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def logs(self) -> str:
        """Return what the workers have said."""
        return "\n".join(
            f"{path.name}: {path.read_text()}" for path in sorted(self._folder.glob("worker-*.log"))
        )

    def close(self) -> None:
        """End what runs."""
        for worker in self.workers:
            self.kill(worker)
        self.store.close()

    def working(self) -> list[Any]:
        """Return id, fence and lease end of the rows that workers have claimed."""
        with self.store._database.read(None) as connection:
            query = "SELECT id, fence, due FROM ledger WHERE state = 'working' ORDER BY id"
            return list(connection.execute(query).fetchall())

    def claimed_again(self, row_id: int, fence: int) -> float | None:
        """Return the end of the lease of a later claim of the row, None without one."""
        later = (row for row in self.working() if row["id"] == row_id and row["fence"] > fence)
        return next((float(row["due"]) for row in later), None)

    def held_by(self, worker: subprocess.Popen[str]) -> dict[int, int]:
        """Return the ids and fences of the rows that a worker works on."""
        query = "SELECT id, fence FROM ledger WHERE state = 'working' AND owner LIKE ?"
        with self.store._database.read(None) as connection:
            rows = connection.execute(query, (f"%:{worker.pid}:%",)).fetchall()
        return {row["id"]: row["fence"] for row in rows}

    def passed_on(self, held: dict[int, int]) -> list[int]:
        """Return the ids of those rows that were claimed again, or that are stored."""
        query = "SELECT id, fence, state FROM ledger WHERE state IN ('working', 'stored')"
        with self.store._database.read(None) as connection:
            rows = connection.execute(query).fetchall()
        known = [row for row in rows if row["id"] in held]
        return [
            row["id"] for row in known if row["fence"] > held[row["id"]] or row["state"] == "stored"
        ]

    def count_stored(self, collection: str) -> int:
        """Return how many pages of a collection are stored."""
        query = """SELECT count(*) FROM ledger JOIN collections ON collections.id = collection_id
            WHERE state = 'stored' AND name = ?"""
        with self.store._database.read(None) as connection:
            return int(connection.execute(query, (collection,)).fetchone()[0])

    def queue(self, name: str = "interactive") -> Any:
        """Return the counts of messages and consumers of a queue."""
        with Connection(self.broker.url) as connection:
            channel: Any = connection.default_channel
            return channel.queue_declare(f"collection_search.{name}", passive=True)

    def deliver_in_vain(self) -> bool:
        """Return a message of an interactive page without an answer; False when none waits."""
        with Connection(self.broker.url) as connection:
            channel: Any = connection.default_channel
            message = channel.basic_get("collection_search.interactive")
            return message is not None  # closing the connection returns it

    def command(self, *arguments: str) -> str:
        """Return what a command prints."""
        command = [sys.executable, "-m", "collection_search", *arguments]
        ended = subprocess.run(
            command, env=self._environment(), capture_output=True, text=True, check=True
        )
        return ended.stdout

    def _environment(self) -> dict[str, str]:
        ours = {
            f"{PREFIX}{name.upper()}": ",".join(value) if isinstance(value, list) else str(value)
            for name, value in self.given.items()
        }
        others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        return {**others, **ours}


@contextmanager
def celery_world(*arguments: Any, **more: Any) -> Iterator[CeleryWorld]:
    """Open a world, and end its workers."""
    world = CeleryWorld(*arguments, **more)
    try:
        yield world
    finally:
        world.close()
