"""An ingestion by Celery workers whose processes, broker and database are killed at random."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from collection_search.contracts.collection import TenantScope
from collection_search.errors import StoreError
from collection_search.tools.ingest import ingest

from .celery_world import CeleryWorld, celery_world
from .crawl_under_fire import Sites, crawled
from .waiting import wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from .postgres_server import PostgresServer
    from .rabbitmq_server import RabbitMQServer

COLLECTION: Final = "tea"
LOOK_S: Final = 0.05
LEASE_S: Final = 600.0
"""Longer than a run: no row comes back because its lease ran out."""
_FIRST, _LAST = 0.05, 0.85
"""Shares of the pages between which everything is killed."""


@dataclass(frozen=True)
class KillPlan:
    """How much is ingested, and what is killed meanwhile."""

    pages: int
    kills: int
    """Of workers that have rows."""
    hosts: int = 10
    workers: int = 4
    broker_kills: int = 1
    database_kills: int = 1
    fault_rate: float = 0.01
    seed: int = 1
    patience_s: float = 120.0
    """The longest time until the next page is done."""


class KilledRun(NamedTuple):
    """What was seen, and what an undisturbed process stores from the same pages."""

    export: list[dict[str, Any]]
    calm_export: list[dict[str, Any]]
    seconds: float
    calm_seconds: float
    reclaimed_s: list[float]
    """Times from a worker's death to the next claim of each row that it had."""
    faults: dict[str, int]


def ingested_under_kills(
    folder: Path, postgres: PostgresServer, broker: RabbitMQServer, plan: KillPlan
) -> KilledRun:
    """Ingest without a fault in one process, then with the kills by Celery, and return both."""
    with Sites(plan.hosts, plan.pages, fault_rate=0.0) as calm:
        calm.given["is_lexical"] = True
        began = time.monotonic()
        calm_export = crawled(calm, folder / "calm").export
        calm_s = time.monotonic() - began
    with Sites(plan.hosts, plan.pages, fault_rate=plan.fault_rate, ports=calm.ports) as wild:
        allowed, more = wild.given["allowed"], {"fetch_timeout_s": wild.given["timeout_s"]}
        more |= {"ingest_max_attempts": 50, "ingest_lease_s": LEASE_S}
        with celery_world(folder, postgres, broker, allowed, **more) as world:
            run = _Run(world, plan)
            began = time.monotonic()
            run.ingest(wild.given["urls"])
            seconds = time.monotonic() - began
            export = list(world.store.collections.export(TenantScope("local", COLLECTION)))
        faults = wild.counts()["faults"]
    return KilledRun(export, calm_export, seconds, calm_s, run.reclaimed_s, faults)


class _Run:
    """The kills of one run; each comes when a random share of the pages is done."""

    def __init__(self, world: CeleryWorld, plan: KillPlan) -> None:
        self.reclaimed_s: list[float] = []
        self._world, self._plan = world, plan
        self._random = random.Random(plan.seed)
        self._alive: list[subprocess.Popen[str]] = []
        self._done = 0

    def ingest(self, urls: list[str]) -> None:
        """Ingest the pages, and kill meanwhile what the plan says."""
        self._alive = [self._world.start_worker() for _ in range(self._plan.workers)]
        ingest(urls, collection=COLLECTION, context=self._world.context)
        for share, kill in self._events():
            self._wait_for(share)
            kill()
        self._wait_for(1.0)

    def _events(self) -> list[tuple[float, Callable[[], None]]]:
        plan, world = self._plan, self._world
        kills: list[Callable[[], None]] = [self._kill_worker] * plan.kills
        kills += [lambda: _restart(world.broker)] * plan.broker_kills
        kills += [lambda: _restart(world.postgres)] * plan.database_kills
        self._random.shuffle(kills)
        shares = sorted(self._random.uniform(_FIRST, _LAST) for _ in kills)
        return list(zip(shares, kills, strict=True))

    def _wait_for(self, share: float) -> None:
        """Wait until so many of the pages are stored."""
        wanted = share * self._plan.pages
        while self._done < wanted:
            before = self._done
            wait_until(lambda: self._count_done() > before, self._plan.patience_s)  # noqa: B023

    def _count_done(self) -> int:
        """Return the stored pages, as last known while the database cannot be used."""
        time.sleep(LOOK_S)
        with suppress(StoreError):
            self._done = self._world.count_stored(COLLECTION)
        return self._done

    def _kill_worker(self) -> None:
        """Kill a worker, put another one in its place, and see its rows claimed again."""
        victim = self._one_at_work()
        self._world.kill(victim)
        killed_at = time.monotonic()
        held = self._world.held_by(victim)
        self._alive.remove(victim)
        self._alive.append(self._world.start_worker())
        while held:
            for row_id in self._world.passed_on(held):
                del held[row_id]
                self.reclaimed_s.append(time.monotonic() - killed_at)
            assert time.monotonic() - killed_at < self._plan.patience_s, self._world.logs()

    def _one_at_work(self) -> subprocess.Popen[str]:
        """Return a random worker; one that has rows, as long as pages are left."""
        while True:
            for worker in self._random.sample(self._alive, len(self._alive)):
                if self._world.held_by(worker) or self._done == self._plan.pages:
                    return worker
            self._count_done()


def _restart(server: PostgresServer | RabbitMQServer) -> None:
    server.kill()
    server.start()
