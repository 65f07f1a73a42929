"""Ingestion by Celery workers over a real RabbitMQ and a real PostgreSQL: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from support.loopback_site import LoopbackSite, article, essay
from support.postgres_server import NEEDS_POSTGRES, REQUIRED, PostgresServer, postgres_server
from support.rabbitmq_server import RabbitMQServer, is_installed, rabbitmq_server
from support.waiting import wait_until

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, Priority
from collection_search.text.urls import url_key
from collection_search.tools.ingest import ingest
from collection_search.tools.tickets import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from support.celery_world import CeleryWorld

pytestmark = [
    *NEEDS_POSTGRES,
    pytest.mark.slow,
    pytest.mark.skipif(
        not is_installed() and not REQUIRED, reason="needs Debian's package rabbitmq-server"
    ),
]
TIMEOUT_S = 120.0
LONG_LEASE_S = 600.0
"""Nothing is taken over because of such a lease."""


class _Served:
    broker: ClassVar[RabbitMQServer]
    postgres: ClassVar[PostgresServer]


@pytest.fixture(scope="module", autouse=True)
def _served() -> Iterator[None]:
    with rabbitmq_server() as _Served.broker, postgres_server() as _Served.postgres:
        yield


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite(hosts=4) as site:
        yield site


@pytest.fixture
def opened(
    site: LoopbackSite, tmp_path: Path
) -> Callable[..., AbstractContextManager[CeleryWorld]]:
    from support.celery_world import celery_world

    return partial(celery_world, tmp_path, _Served.postgres, _Served.broker, site.allowed)


def put_pages(site: LoopbackSite, count: int, name: str = "page") -> list[str]:
    """Let the hosts have pages in turn; return their URLs."""
    return [
        site.put(f"/{name}-{n}", article(f"Tea {n}", essay(f"{name} {n}")), n % 4)
        for n in range(count)
    ]


def enqueue(world: CeleryWorld, urls: list[str], collection: str, priority: Priority) -> Any:
    """Write pages into the ledger, as another process does, without a message."""
    items = [IngestionItem(url, url_key(url), "") for url in urls]
    scope = TenantScope("local", collection)
    return world.store.ledger.enqueue(IngestionRequest(scope, items, priority=priority))


def assert_stored(world: CeleryWorld, ticket: Any, count: int) -> None:
    """Wait for the ticket, and see that each page is stored once."""
    status = wait(ticket, TIMEOUT_S, context=world.context)
    assert (status.stored, status.count) == (count, count), world.logs()
    exported = list(world.store.collections.export(TenantScope("local", ticket.collection)))
    assert len(exported) == count


def test_two_workers_ingest_and_leave_in_order(opened: Any, site: LoopbackSite) -> None:
    """Pages are stored, and SIGTERM ends with 0."""
    with opened() as world:
        workers = [world.start_worker(), world.start_worker()]
        ticket = ingest(put_pages(site, 60), collection="two", context=world.context)
        assert_stored(world, ticket, 60)
        # The ledger lets two pages of a host be fetched at once; a worker keeps its connections.
        assert max(site.most_open.values()) <= 2 * len(workers)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        assert [worker.wait(60) for worker in workers] == [0, 0], world.logs()


def test_a_plain_celery_worker_ingests(opened: Any, site: LoopbackSite) -> None:
    """The app is found by its module, without our command."""
    with opened() as world:
        app = "collection_search.adapters.queues.celery_app"
        options = ["--without-mingle", "--without-gossip", "--loglevel", "WARNING"]
        world.start_process([sys.executable, "-m", "celery", "-A", app, "worker", *options])
        ticket = ingest(put_pages(site, 8), collection="plain", context=world.context)
        assert_stored(world, ticket, 8)


def test_a_killed_workers_row_is_claimed_again(opened: Any, site: LoopbackSite) -> None:
    """Another worker has it within 5 seconds, by the clock of the ledger."""
    site.slow.add(0)  # the first request has no answer
    url = put_pages(site, 1, "slow")[0]
    with opened(ingest_lease_s=LONG_LEASE_S, fetch_timeout_s=60) as world:
        first = world.start_worker()
        ticket = ingest([url], collection="killed", context=world.context)
        wait_until(world.working)
        (row,) = world.working()
        world.start_worker()
        wait_until(lambda: world.queue().consumer_count == 2)
        killed_at = time.time()
        world.kill(first)
        wait_until(lambda: world.claimed_again(row["id"], row["fence"]) is not None)
        claim_end = world.claimed_again(row["id"], row["fence"])
        assert claim_end is not None
        assert claim_end - LONG_LEASE_S - killed_at <= 5.0
        assert_stored(world, ticket, 1)


def test_a_killed_broker_loses_nothing(opened: Any, site: LoopbackSite) -> None:
    """Workers wait for it; pages may be accepted meanwhile."""
    with opened() as world:
        world.start_worker()
        ticket = ingest(put_pages(site, 80, "before"), collection="broker", context=world.context)
        wait_until(lambda: site.requests)
        world.broker.kill()
        late = ingest(put_pages(site, 8, "during"), collection="late", context=world.context)
        world.broker.start()
        assert_stored(world, ticket, 80)
        assert_stored(world, late, 8)


def test_lost_messages_are_sent_again(opened: Any, site: LoopbackSite) -> None:
    """The sweeper of a worker finds rows that are due and have no message."""
    with opened() as world:
        wait_until(lambda: world.queue().consumer_count == 0)  # then no message comes back
        ticket = ingest(put_pages(site, 8, "lost"), collection="lost", context=world.context)
        wait_until(lambda: world.queue().message_count >= 8)
        world.broker.control("purge_queue", "collection_search.interactive")
        wait_until(lambda: world.queue().message_count == 0)
        world.start_worker()
        assert_stored(world, ticket, 8)


def test_interactive_pages_come_first(opened: Any, site: LoopbackSite) -> None:
    """However many refreshes wait, and whatever message comes first."""
    refreshes, asked = put_pages(site, 12, "refresh"), put_pages(site, 4, "asked")
    with opened(ingest_workers=1, fetch_at_once=1) as world:
        later = enqueue(world, refreshes, "bulk", Priority.REFRESH)
        first = enqueue(world, asked, "first", Priority.INTERACTIVE)
        world.start_worker()
        assert_stored(world, first, 4)
        assert_stored(world, later, 12)
    paths = [path for _, path, _ in site.requests if path != "/robots.txt"]
    assert {path.partition("-")[0] for path in paths[:4]} == {"/asked"}


def test_a_worker_of_one_queue_leaves_the_other(opened: Any, site: LoopbackSite) -> None:
    """A reserved worker stays free for those who wait."""
    refreshes, asked = put_pages(site, 4, "refresh"), put_pages(site, 4, "asked")
    with opened() as world:
        later = enqueue(world, refreshes, "left", Priority.REFRESH)
        reserved = world.start_worker("--queues", "interactive")
        ticket = ingest(asked, collection="reserved", context=world.context)
        assert_stored(world, ticket, 4)
        reserved.send_signal(signal.SIGTERM)
        assert reserved.wait(60) == 0
        assert not [path for _, path, _ in site.requests if path.startswith("/refresh")]
        world.start_worker("--queues", "bulk")
        assert_stored(world, later, 4)


def test_a_storm_ends_as_a_calm_run(opened: Any, site: LoopbackSite, tmp_path: Path) -> None:
    """Workers and the broker die, pages fail; the export is that of an undisturbed process."""
    urls, moments = put_pages(site, 200, "storm"), random.Random(1)
    expected = calm_export(site, urls, tmp_path / "calm")
    site._rate = 0.01
    with opened(ingest_max_attempts=50, fetch_timeout_s=5) as world:
        workers = [world.start_worker() for _ in range(4)]
        ticket = ingest(urls, collection="storm", context=world.context)
        for place in range(4):
            time.sleep(moments.uniform(0, 4))
            world.kill(workers[place])
            if place == 1:
                world.broker.kill()
                world.broker.start()
            world.start_worker()
        assert_stored(world, ticket, len(urls))
        assert exported(world.store) == expected


def exported(store: Any) -> list[Any]:
    """Return the canonical export of the collection."""
    return list(store.collections.export(TenantScope("local", "storm")))


def calm_export(site: LoopbackSite, urls: list[str], home: Path) -> list[Any]:
    """Return what one process stores in a file, from a site without faults."""
    settings = Settings(home=home, fetch_allowed=site.allowed, fetch_delay_s=0)
    given = {"HOME": str(home), "FETCH_ALLOWED": ",".join(site.allowed), "FETCH_DELAY_S": "0"}
    ours = {f"COLLECTION_SEARCH_{name}": value for name, value in given.items()}
    with closing(SQLiteStore.from_settings(settings)) as store:
        context = SearchContext(settings=settings, store=store)
        ingest(urls, collection="storm", context=context, work=False)
        command = [sys.executable, "-m", "collection_search", "worker", "--once"]
        subprocess.run(command, env=os.environ | ours, check=True, capture_output=True)
        stored = exported(store)
    assert len(stored) == len(urls)
    return stored
