"""What runs spent is written in order, together, and never in their way."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until_async

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.ports.usage import SpendEntry
from collection_search.tools.spending.spend_writer import (
    SpendBatch,
    SpendWriter,
    cached_answers,
    spend_writer,
)

if TYPE_CHECKING:
    from pathlib import Path


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


def batch(store: SQLiteUsage, run_id: str) -> SpendBatch:
    entries = [SpendEntry("local", run_id, 0, "chat", "m", cost_usd=0.1)]
    return SpendBatch(store, entries, spend_days=36_000, answer_cache_s=0)


async def test_what_comes_during_a_write_is_written_together(tmp_path: Path) -> None:
    """A crowd of runs takes two transactions, in the order in which they came."""
    store, its = Slow(tmp_path / "usage.db"), SpendWriter()
    its.add(batch(store, "0"))
    first = asyncio.ensure_future(asyncio.to_thread(its.flush))
    await asyncio.to_thread(store.started.wait, 60)
    for number in range(1, 20):
        its.add(batch(store, str(number)))
    store.go.set()
    await asyncio.to_thread(its.flush)
    await first
    assert store.batches == [["0"], [str(number) for number in range(1, 20)]]
    assert len(store.totals("local", by="run")) == 20


async def test_waiting_is_for_what_came_before(tmp_path: Path) -> None:
    """Not for what others go on bringing."""
    store, its = Slow(tmp_path / "usage.db"), SpendWriter()
    store.go.set()
    its.add(batch(store, "mine"))
    waiting = asyncio.ensure_future(asyncio.to_thread(its.flush))
    while not waiting.done():
        its.add(batch(store, "others"))
        await asyncio.sleep(0)
    assert store.run_total("local", "mine").requests == 1
    await asyncio.to_thread(its.flush)


@pytest.mark.slow
async def test_a_batch_is_written_soon_if_nobody_waits(tmp_path: Path) -> None:
    """A run that goes on for long need not end well for its books."""
    store, its = Slow(tmp_path / "usage.db"), SpendWriter()
    store.go.set()
    for run_id in ("a", "b"):
        its.add(batch(store, run_id))
    assert await asyncio.to_thread(store.started.wait, 60)
    await asyncio.to_thread(its.flush)
    assert store.batches == [["a", "b"]]


async def test_a_store_that_fails_spoils_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tenants with books of their own share the writer."""

    class Full(SQLiteUsage):
        def add(self, entries: Any) -> None:
            raise OSError("no space left")

    good, its = SQLiteUsage(tmp_path / "usage.db"), SpendWriter()
    its.add(batch(Full(tmp_path / "full.db"), "a"))
    its.add(batch(good, "b"))
    await asyncio.to_thread(its.flush)
    assert good.run_total("local", "b").requests == 1
    assert "no space left" in caplog.text


async def test_what_is_being_written_outlives_its_loop(tmp_path: Path) -> None:
    """The loop does not wait for it, the process does."""
    store = Slow(tmp_path / "usage.db")

    async def leaves() -> None:
        its = SpendWriter()
        its.add(batch(store, "a"))
        its.write_soon()
        await asyncio.to_thread(store.started.wait, 60)

    await asyncio.to_thread(lambda: asyncio.run(leaves()))
    assert store.batches == []
    store.go.set()
    await wait_until_async(lambda: store.run_total("local", "a").requests)


def test_a_batch_that_nobody_asks_for_outlives_its_loop(tmp_path: Path) -> None:
    """Its run was left after the first stage."""
    store, its = SQLiteUsage(tmp_path / "usage.db"), SpendWriter()

    async def leaves() -> None:
        its.add(batch(store, "a"))

    asyncio.run(leaves())
    its.flush()
    assert store.run_total("local", "a").requests == 1


@pytest.mark.slow
def test_a_batch_that_nobody_asks_for_outlives_its_process(tmp_path: Path) -> None:
    """A program that leaves its run ends after it is written down."""
    script = f"""
import asyncio
from pathlib import Path
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.tools.spending.spend_writer import SpendBatch, spend_writer
from collection_search.ports.usage import SpendEntry
store = SQLiteUsage(Path({str(tmp_path / "usage.db")!r}))
entries = [SpendEntry("local", "a", 0, "chat", "m")]
async def leaves():
    spend_writer().add(SpendBatch(store, entries, spend_days=36_000, answer_cache_s=0))
asyncio.run(leaves())
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    assert SQLiteUsage(tmp_path / "usage.db").run_total("local", "a").requests == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # its threads are our own
def test_a_forked_child_has_a_writer_of_its_own(tmp_path: Path) -> None:
    """Whose thread is there."""
    store, before = SQLiteUsage(tmp_path / "usage.db"), spend_writer()
    before.add(batch(store, "parent"))
    child = os.fork()
    if child == 0:
        if spend_writer() is before:
            os._exit(8)
        spend_writer().add(batch(store, "child"))
        spend_writer().flush()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    before.flush()
    assert [total.group for total in store.totals("local", by="run")] == ["child", "parent"]


@pytest.mark.parametrize("broken", ["lacks", "get_many"])
async def test_looking_up_gives_up_on_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    """What cannot be read is not known."""

    def fail(*arguments: Any, **options: Any) -> Any:
        raise OSError("unreadable")

    store = SQLiteUsage(tmp_path / "usage.db")
    store.put("local", "plan", "a", b"1")
    find = partial(cached_answers, store, "local", "plan", ["a"], max_age_s=60, read=dict)
    assert await find() == {"a": b"1"}
    setattr(store, broken, fail)
    assert await find() == (None if broken == "get_many" else {"a": b"1"})
    assert "unreadable" in caplog.text
