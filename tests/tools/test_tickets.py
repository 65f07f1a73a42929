"""Following a ticket: looks at an interval, and at once when this process ingests a page."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

import pytest

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, Ticket
from collection_search.errors import InputError, StoreError
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import FakeClock
from collection_search.tools.ingest import engine_for
from collection_search.tools.ingestion.engine import IngestionEngine
from collection_search.tools.tickets import follow_ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.contracts.ingestion import TicketStatus

SCOPE = TenantScope("local", "docs")
PATIENCE_S = 60.0
"""Only a test that fails waits as long."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, chunk_chars=200)


@pytest.fixture
def context(settings: Settings, store: SQLiteStore) -> Iterator[SearchContext]:
    context = SearchContext(settings=settings, store=store)
    yield context
    run_blocking(engine_for(context)).stop()


@pytest.fixture
def onlooker(context: SearchContext) -> SearchContext:
    """A caller that leaves the work to others."""
    return context.model_copy(update={"ingests": False})


def enqueue(store: SQLiteStore, *texts: str) -> Ticket:
    items = [
        IngestionItem(f"https://example.com/{n}", f"example.com/{n}", f"Page {n}", ref)
        for n, ref in enumerate(store.staging.put("local", texts))
    ]
    return store.ledger.enqueue(IngestionRequest(SCOPE, items))


async def follow(
    ticket: Ticket,
    context: SearchContext,
    clock: FakeClock,
    *,
    timeout_s: float = 600.0,
    on_progress: Callable[[TicketStatus], None] | None = None,
) -> TicketStatus:
    return await follow_ticket(
        ticket,
        timeout_s=timeout_s,
        interval_s=30.0,
        context=context,
        on_progress=on_progress,
        monotonic=clock.monotonic,
        sleep=clock.asleep,
    )


async def test_it_looks_every_30_seconds_for_10_minutes(
    store: SQLiteStore, onlooker: SearchContext
) -> None:
    """`_k_verify_coverage` of the specification: timeout 10 minutes, interval 30 seconds."""
    ticket, clock = await asyncio.to_thread(enqueue, store, "green tea"), FakeClock()
    settings = onlooker.using()
    assert (settings.coverage_timeout_s, settings.coverage_interval_s) == (600, 30)
    status = await follow(ticket, onlooker, clock)
    assert clock.slept == [30.0] * 20
    assert (status.stored, status.pending) == (0, 1)


async def test_the_last_interval_ends_with_the_time(
    store: SQLiteStore, onlooker: SearchContext
) -> None:
    """No sleep outlasts the timeout."""
    ticket, clock = await asyncio.to_thread(enqueue, store, "green tea"), FakeClock()
    await follow(ticket, onlooker, clock, timeout_s=45)
    assert clock.slept == [30.0, 15.0]


async def test_what_another_process_ingests_is_seen_at_the_next_look(
    store: SQLiteStore, onlooker: SearchContext, settings: Settings
) -> None:
    """Each new status is reported once, and no look comes before the interval is over."""
    ticket = await asyncio.to_thread(enqueue, store, "green tea")
    other = IngestionEngine(store, settings)
    seen: list[int] = []

    class Other(FakeClock):
        async def asleep(self, seconds: float) -> None:
            await super().asleep(seconds)
            if len(self.slept) == 3:
                await asyncio.to_thread(other.drain, timeout_s=PATIENCE_S)

    clock = Other()
    status = await follow(ticket, onlooker, clock, on_progress=lambda one: seen.append(one.stored))
    assert clock.slept == [30.0] * 3
    assert (status.stored, seen) == (1, [0, 1])


async def test_a_page_that_this_process_ingests_ends_the_sleep(
    store: SQLiteStore, context: SearchContext
) -> None:
    """Workers are started; the interval never ends here, so that only their events wake."""
    ticket = await asyncio.to_thread(enqueue, store, *(f"tea {n}" for n in range(12)))

    async def asleep(seconds: float) -> None:
        await (asyncio.sleep(seconds) if seconds < 300 else asyncio.Event().wait())

    async with asyncio.timeout(PATIENCE_S):
        status = await follow_ticket(
            ticket, timeout_s=600, interval_s=400, context=context, sleep=asleep
        )
    assert status.stored == 12


async def test_workers_that_cannot_work_end_the_sleep(tmp_path: Path, settings: Settings) -> None:
    """Their error is raised at once, not after the interval."""
    store = SQLiteStore(tmp_path / "broken.db")
    ticket = await asyncio.to_thread(enqueue, store, "green tea")
    holder = sqlite3.connect(tmp_path / "broken.db", isolation_level=None)
    holder.execute("DROP TABLE pauses")
    context = SearchContext(settings=settings, store=store)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(StoreError, match="no such table"):
            await follow_ticket(ticket, timeout_s=600, interval_s=600, context=context)
    holder.close()
    store.close()


async def test_a_sleep_that_fails_is_no_silence(
    store: SQLiteStore, onlooker: SearchContext
) -> None:
    """What the caller's own sleep raises, such as a cancelled wait, reaches the caller."""
    ticket = await asyncio.to_thread(enqueue, store, "green tea")

    async def broken(_: float) -> None:
        raise OSError("no clock")

    with pytest.raises(OSError, match="no clock"):
        await follow_ticket(ticket, timeout_s=600, interval_s=30, context=onlooker, sleep=broken)


async def test_an_unknown_ticket_is_refused(onlooker: SearchContext) -> None:
    """As by `wait`."""
    with pytest.raises(InputError, match="There is no ticket ticket-x"):
        await follow_ticket("ticket-x", timeout_s=600, interval_s=30, context=onlooker)


async def test_nobody_is_told_after_the_end(store: SQLiteStore, context: SearchContext) -> None:
    """A follower whose loop is closed does not disturb later work."""
    first = await asyncio.to_thread(enqueue, store, "green tea")

    def follow_in_a_loop_of_its_own() -> TicketStatus:
        return asyncio.run(follow_ticket(first, timeout_s=60, interval_s=60, context=context))

    assert (await asyncio.to_thread(follow_in_a_loop_of_its_own)).stored == 1
    second = await asyncio.to_thread(enqueue, store, "black tea")
    engine = await engine_for(context)
    assert await asyncio.to_thread(engine.drain, timeout_s=PATIENCE_S)
    assert engine.failure is None
    status = await asyncio.to_thread(store.ledger.status, "local", second.ticket_id)
    assert status is not None
    assert status.stored == 1
