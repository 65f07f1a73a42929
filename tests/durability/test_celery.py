"""Ingestion by Celery workers over a real RabbitMQ and a real PostgreSQL: nothing is lost."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from support.celery_under_kills import LEASE_S, KillPlan, ingested_under_kills
from support.loopback_site import LoopbackSite, article, essay
from support.postgres_server import NEEDS_POSTGRES, REQUIRED, PostgresServer, postgres_server
from support.rabbitmq_server import RabbitMQServer, is_installed, rabbitmq_server
from support.scrapes import ascrape
from support.waiting import wait_until

from collection_search.context import SearchContext
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, Priority
from collection_search.server.backlog_watch import watch_backlog
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


def test_a_worker_that_stops_gives_its_page_back(opened: Any, site: LoopbackSite) -> None:
    """What SIGTERM cuts off waits for no lease, of our command and of a plain Celery worker."""
    site.slow.update((0, 1))  # the first requests have no answer
    urls, app = put_pages(site, 2, "held"), "collection_search.adapters.queues.celery_app"
    one_page = {"ingest_workers": 1, "fetch_at_once": 1}
    with opened(ingest_lease_s=LONG_LEASE_S, fetch_timeout_s=90, **one_page) as world:
        ours = world.start_worker()
        ticket = ingest(urls, collection="held", context=world.context)
        wait_until(lambda: len(world.working()) == 1)
        options = ["--without-mingle", "--without-gossip", "--loglevel", "WARNING"]
        plain = world.start_process([sys.executable, "-m", "celery", "-A", app, "worker", *options])
        wait_until(lambda: len(world.working()) == 2)
        for worker in (ours, plain):
            worker.send_signal(signal.SIGTERM)
        assert [worker.wait(60) for worker in (ours, plain)] == [143, 0], world.logs()
        assert world.working() == []
        world.start_worker()
        assert_stored(world, ticket, 2)


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
        assert claim_end - LONG_LEASE_S - killed_at <= LONG_LEASE_S / 10
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


def test_a_message_over_the_limit_is_a_dead_letter(opened: Any, site: LoopbackSite) -> None:
    """It is seen in a queue of its own, and its page is ingested all the same."""
    with opened() as world:
        ticket = ingest(put_pages(site, 1, "dead"), collection="dead", context=world.context)
        wait_until(lambda: world.queue().message_count)
        wait_until(lambda: not world.deliver_in_vain())
        wait_until(lambda: world.queue("dead").message_count)
        world.start_worker()
        assert_stored(world, ticket, 1)


def test_a_page_that_kills_its_workers_can_be_retried(opened: Any, site: LoopbackSite) -> None:
    """It is given up after its attempts, listed, and ingested when somebody wants it."""
    url = put_pages(site, 1, "deadly")[0]
    more = {"ingest_max_attempts": 2, "ingest_lease_s": LONG_LEASE_S, "fetch_timeout_s": 90}
    with opened(**more) as world:
        ticket = ingest([url], collection="deadly", context=world.context)
        for _ in range(2):
            site.slow, site._slow_paths = {0}, set()
            worker = world.start_worker()
            wait_until(world.working)
            world.kill(worker)
        world.start_worker()
        wait_until(lambda: "/deadly-0" in world.command("ingest", "failed"))
        world.command("ingest", "retry-failed", "--collection", "deadly")
        assert_stored(world, ticket, 1)


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


def test_workers_keep_the_delay_of_a_site_together(opened: Any, site: LoopbackSite) -> None:
    """Two of them ask it no oftener than one would."""
    urls = [site.put(f"/kept-{n}", article(f"Tea {n}", essay(f"kept {n}"))) for n in range(8)]
    with opened(fetch_delay_s=1.0) as world:
        workers = [world.start_worker(), world.start_worker()]
        ticket = ingest(urls, collection="polite", context=world.context)
        assert_stored(world, ticket, len(urls))
        assert len(workers) == 2
    at = site.arrivals
    assert len(at) >= len(urls)
    assert at[-1] - at[0] >= len(at) - 2  # one second of slack for the way of the first request


def test_kills_of_everything_end_as_an_undisturbed_run(tmp_path: Path) -> None:
    """Workers, broker and database die, pages fail; the export is that of one process.

    `benchmarks/celery_durability.py` runs the same in its full size.
    """
    plan = KillPlan(pages=200, kills=4)
    run = ingested_under_kills(tmp_path, _Served.postgres, _Served.broker, plan)
    assert len(run.calm_export) == plan.pages
    assert run.export == run.calm_export
    # No lease ran out meanwhile: all of these rows were passed on for another reason.
    assert run.reclaimed_s
    assert run.seconds < LEASE_S


async def test_a_server_shows_what_waits(opened: Any, site: LoopbackSite) -> None:
    """A killed broker has no figures, and those of the ledger stay; its messages come back."""
    from collection_search.adapters.metrics.prometheus import PrometheusMetrics

    metrics = PrometheusMetrics("shown_")

    async def shows(name: str, fits: Callable[[dict[str, float]], bool]) -> None:
        while True:
            series = (await ascrape(metrics.app())).series(f"shown_ingest_{name}")
            if fits({label[0][1]: value for label, value in series.items()}):
                return
            await asyncio.sleep(0.1)

    with opened(metrics=True) as world:
        ingest(put_pages(site, 5), collection="shown", context=world.context)
        context = SearchContext(settings=world.settings, store=world.store, search_metrics=metrics)
        watching = asyncio.create_task(watch_backlog(context, look_s=0.1))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                # Those of other tests may wait, too.
                await shows("messages", lambda found: found.get("interactive", 0) >= 5)
                world.broker.kill()
                await shows("backlog_up", lambda found: found == {"broker": 0, "ledger": 1})
                await shows("messages", lambda found: found == {})
                await shows("rows_due", lambda found: found["interactive"] >= 5)
                await asyncio.to_thread(world.broker.start)
                await shows("messages", lambda found: found.get("interactive", 0) >= 5)
                await shows("backlog_up", lambda found: found == {"broker": 1, "ledger": 1})
        finally:
            watching.cancel()
