"""The looks at the backlog, with doubles of ledger and metrics."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from support.ports import closed_port
from support.waiting import PATIENCE_S, wait_until_async

from collection_search import SearchContext, Settings
from collection_search.contracts.ingestion import Priority
from collection_search.errors import StoreError
from collection_search.ports import SearchMetrics
from collection_search.ports.backlog import CountsDead
from collection_search.runtime.metering import NULL_METRICS, NullMetrics
from collection_search.server import backlog_watch
from collection_search.server.backlog_watch import watch_backlog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

LOGGER = backlog_watch.__name__


class Shown(NullMetrics):
    """Metrics that keep what they are told."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.messages: list[Any] = []

    def record_rows(
        self, due: Mapping[str, int] | None, dead: Mapping[str, int] | None = None
    ) -> None:
        self.rows.append((due, dead))

    def record_messages(self, ready: Mapping[str, int] | None) -> None:
        self.messages.append(ready)


class HostMetrics:
    """Metrics of a host from before the backlog: they have the methods of `SearchMetrics` alone."""

    def record_search(self, backend: str, **figures: Any) -> None: ...

    def record_spending(self, kind: Any, name: str, **figures: Any) -> None: ...

    def watch_breaker(self, backend: str, breaker: Any) -> None: ...


class OlderLedger:
    """Counts due rows; fails, or blocks, when it is told to. It is also its store."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.looks = self.at_once = self.most_at_once = 0
        self.ledger = self

    def due(self, *, limit: int) -> dict[Priority, int]:
        self.looks += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        assert self.gate.wait(PATIENCE_S)
        self.at_once -= 1
        if self.error is not None:
            raise self.error
        return {Priority.INTERACTIVE: min(3, limit), Priority.REFRESH: 0}


class CountingLedger(OlderLedger):
    """Counts dead rows too."""

    def dead(self, *, limit: int) -> dict[Priority, int]:
        return {Priority.INTERACTIVE: 0, Priority.REFRESH: min(2, limit)}


DUE, DEAD = {"interactive": 3, "refresh": 0}, {"interactive": 0, "refresh": 2}


def context_of(folder: Path, ledger: Any, metrics: Any, **more: Any) -> SearchContext:
    settings = Settings(home=folder, **more)
    given: dict[str, Any] = {"store": ledger, "search_metrics": metrics}
    return SearchContext.model_construct(settings=settings, **given)


@asynccontextmanager
async def watching(context: SearchContext, **more: float) -> AsyncIterator[asyncio.Task[None]]:
    """Look often; a look that blocks is given up late, unless the test says otherwise."""
    times = {"look_s": 0.01, "slow_s": PATIENCE_S, **more}
    task = asyncio.create_task(watch_backlog(context, **times))
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_the_rows_are_shown_again_and_again(tmp_path: Path) -> None:
    """By priority; without a broker there are no messages."""
    ledger, shown = CountingLedger(), Shown()
    assert isinstance(ledger, CountsDead)
    async with watching(context_of(tmp_path, ledger, shown)):
        await wait_until_async(lambda: len(shown.rows) >= 3)
    assert shown.rows[:3] == [(DUE, DEAD)] * 3
    assert shown.messages == []


async def test_a_ledger_of_a_host_need_not_count_dead_rows(tmp_path: Path) -> None:
    """What it does not count is not known."""
    shown = Shown()
    async with watching(context_of(tmp_path, OlderLedger(), shown)):
        await wait_until_async(lambda: shown.rows)
    assert shown.rows[0] == (DUE, None)


@pytest.mark.parametrize("metrics", [NULL_METRICS, HostMetrics()])
async def test_where_nobody_shows_it_nothing_is_read(tmp_path: Path, metrics: Any) -> None:
    """Metrics that are off cost nothing, and those of a host may lack the methods."""
    assert isinstance(metrics, SearchMetrics)
    ledger = CountingLedger()
    await asyncio.wait_for(watch_backlog(context_of(tmp_path, ledger, metrics)), PATIENCE_S)
    assert ledger.looks == 0


async def test_a_failure_is_shown_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And once more after a look that succeeded."""
    ledger, shown = CountingLedger(), Shown()
    ledger.error = StoreError("The database is down.", retryable=True)
    async with watching(context_of(tmp_path, ledger, shown)):
        await wait_until_async(lambda: len(shown.rows) >= 3)
        ledger.error = None
        await wait_until_async(lambda: shown.rows[-1] == (DUE, DEAD))
        ledger.error = ValueError("not foreseen")
        await wait_until_async(lambda: shown.rows[-1] == (None, None))
    assert shown.rows[:3] == [(None, None)] * 3
    messages = [one.getMessage() for one in caplog.records if one.name == LOGGER]
    assert messages == [
        "the look at the ledger failed: The database is down.",
        "the look at the ledger failed",
    ]


async def test_a_look_that_hangs_has_failed_until_it_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """There is never a second one beside it; the event loop goes on."""
    ledger, shown = CountingLedger(), Shown()
    ledger.gate.clear()
    async with watching(context_of(tmp_path, ledger, shown), slow_s=0.01):
        await wait_until_async(lambda: shown.rows)
        assert shown.rows == [(None, None)]
        await asyncio.sleep(0.1)
        assert (ledger.looks, shown.rows) == (1, [(None, None)])
        ledger.gate.set()
        await wait_until_async(lambda: (DUE, DEAD) in shown.rows)
    assert ledger.most_at_once == 1
    assert "The look at the ledger has no answer yet." in caplog.messages


async def test_the_end_does_not_wait_for_a_look_that_hangs(tmp_path: Path) -> None:
    """A server stops, whatever its database does."""
    ledger, shown = CountingLedger(), Shown()
    ledger.gate.clear()
    try:
        async with watching(context_of(tmp_path, ledger, shown)) as task:
            await wait_until_async(lambda: ledger.looks)
        assert task.cancelled()
        assert not ledger.gate.is_set()
    finally:
        ledger.gate.set()


async def test_a_broker_that_does_not_run_hides_no_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The message has no password."""
    pytest.importorskip("celery")
    shown = Shown()
    with closed_port() as port:
        address = f"amqp://me:broker-secret@127.0.0.1:{port}//"
        given = {"ingest_engine": "celery", "broker_url": address}
        async with watching(context_of(tmp_path, CountingLedger(), shown, **given)):
            await wait_until_async(lambda: shown.messages and shown.rows)
    assert (shown.rows[0], shown.messages[0]) == ((DUE, DEAD), None)
    [message] = [one.getMessage() for one in caplog.records if one.name == LOGGER]
    assert "the look at the broker failed" in message
    assert "broker-secret" not in message


async def test_an_address_that_is_missing_hides_no_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the variable."""
    pytest.importorskip("celery")
    shown = Shown()
    async with watching(context_of(tmp_path, CountingLedger(), shown, ingest_engine="celery")):
        await wait_until_async(lambda: len(shown.rows) >= 2)
    assert (shown.rows[:2], shown.messages) == ([(DUE, DEAD)] * 2, [None])
    assert "COLLECTION_SEARCH_BROKER_URL" in caplog.text
