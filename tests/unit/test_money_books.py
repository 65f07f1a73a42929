"""The clerk who writes down what runs spent: in order, together, and never in their way."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.tools.money.books import Clerk, Page, clerk, looked_up
from collection_search.usage import SpendEntry

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Slow(SQLiteUsage):
    """Writes when it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.go = threading.Event()
        self.started = threading.Event()
        self.batches: list[list[str]] = []

    def add(self, entries: Any) -> None:
        known = list(entries)
        self.started.set()
        self.go.wait(60)
        self.batches.append([entry.run_id for entry in known])
        super().add(known)


def page(store: SQLiteUsage, run_id: str) -> Page:
    entries = [SpendEntry("local", run_id, 0, "chat", "m", cost_usd=0.1)]
    return Page(store, entries, spend_days=36_000, answer_cache_s=0)


async def test_what_comes_during_a_write_is_written_together(tmp_path: Path) -> None:
    """A crowd of runs takes two transactions, in the order in which they came."""
    store, its = Slow(tmp_path / "usage.db"), Clerk()
    its.take(page(store, "0"))
    first = asyncio.ensure_future(its.settled())
    await asyncio.to_thread(store.started.wait, 60)
    for number in range(1, 20):
        its.take(page(store, str(number)))
    store.go.set()
    await its.settled()
    await first
    assert store.batches == [["0"], [str(number) for number in range(1, 20)]]
    assert len(store.totals("local", by="run")) == 20


async def test_waiting_is_for_what_came_before(tmp_path: Path) -> None:
    """Not for what others go on bringing."""
    store, its = Slow(tmp_path / "usage.db"), Clerk()
    store.go.set()
    its.take(page(store, "mine"))
    waiting = asyncio.ensure_future(its.settled())
    while not waiting.done():
        its.take(page(store, "others"))
        await asyncio.sleep(0)
    assert store.run_total("local", "mine").requests == 1
    await its.settled()


async def test_a_page_is_written_soon_if_nobody_waits(tmp_path: Path) -> None:
    """A run that goes on for long need not end well for its books."""
    store, its = Slow(tmp_path / "usage.db"), Clerk()
    store.go.set()
    for run_id in ("a", "b"):
        its.take(page(store, run_id))
    assert await asyncio.to_thread(store.started.wait, 60)
    await its.settled()
    assert store.batches == [["a", "b"]]


async def test_a_store_that_fails_spoils_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tenants with books of their own share the clerk."""

    class Full(SQLiteUsage):
        def add(self, entries: Any) -> None:
            raise OSError("no space left")

    good, its = SQLiteUsage(tmp_path / "usage.db"), Clerk()
    its.take(page(Full(tmp_path / "full.db"), "a"))
    its.take(page(good, "b"))
    await its.settled()
    assert good.run_total("local", "b").requests == 1
    assert "no space left" in caplog.text


async def test_what_is_being_written_outlives_its_loop(tmp_path: Path) -> None:
    """The loop does not wait for it, the process does."""
    store = Slow(tmp_path / "usage.db")

    async def leaves() -> None:
        its = Clerk()
        its.take(page(store, "a"))
        waiting = asyncio.ensure_future(its.settled())
        await asyncio.to_thread(store.started.wait, 60)
        waiting.cancel()

    await asyncio.to_thread(lambda: asyncio.run(leaves()))
    assert store.batches == []
    store.go.set()
    give_up = asyncio.get_running_loop().time() + 60
    while store.run_total("local", "a").requests == 0:
        assert asyncio.get_running_loop().time() < give_up, "nobody wrote it"
        await asyncio.sleep(0.01)


async def test_a_loop_has_one_clerk() -> None:
    """And another loop another one."""
    assert clerk() is clerk()

    async def other() -> Clerk:
        return clerk()

    assert await asyncio.to_thread(lambda: asyncio.run(other())) is not clerk()


async def test_looking_up_gives_up_on_errors(caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be read is not known."""

    def fail() -> int:
        raise OSError("unreadable")

    assert await looked_up(fail) is None
    assert await looked_up(lambda: 7) == 7
    assert "unreadable" in caplog.text
