"""Events of a run on their way into the store: their order, their writes and their errors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from collection_search.errors import StoreError
from collection_search.server.runs.event_writer import write_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search.contracts.server_run import RunEvent


class SlowStore:
    """A store whose writes take until they are released."""

    def __init__(self) -> None:
        self.writes: list[list[int]] = []
        self.released = asyncio.Event()
        self.failure: Exception | None = None

    async def store(self, events: Sequence[RunEvent]) -> None:
        await self.released.wait()
        if self.failure is not None:
            raise self.failure
        self.writes.append([event["completed"] for event in events])


def event(number: int) -> RunEvent:
    return {"type": "search_progress", "completed": number, "total": 9}


async def test_events_are_stored_in_their_order() -> None:
    store = SlowStore()
    store.released.set()
    async with write_events(store.store) as writer:
        for number in range(9):
            writer.add(event(number))
            if number % 3 == 0:
                await asyncio.sleep(0.01)
    assert [number for write in store.writes for number in write] == list(range(9))


async def test_events_that_come_during_a_write_are_stored_together() -> None:
    store = SlowStore()
    async with write_events(store.store) as writer:
        writer.add(event(0))
        await asyncio.sleep(0)  # the first write begins
        for number in range(1, 6):
            writer.add(event(number))
        store.released.set()
    assert store.writes == [[0], [1, 2, 3, 4, 5]]


async def test_a_failed_write_interrupts_the_run() -> None:
    store = SlowStore()
    store.failure = StoreError("The disk is full.")
    store.released.set()

    async def run() -> None:
        async with write_events(store.store) as writer:
            writer.add(event(0))
            await asyncio.sleep(30)
            pytest.fail("the run went on")

    with pytest.raises(StoreError, match="disk is full"):
        await run()
    assert store.writes == []


async def test_the_last_write_may_fail() -> None:
    store = SlowStore()
    store.failure = StoreError("The disk is full.")

    async def run() -> None:
        async with write_events(store.store) as writer:
            writer.add(event(0))
            store.released.set()

    with pytest.raises(StoreError, match="disk is full"):
        await run()


async def test_events_of_a_run_that_fails_are_stored_before_its_error_is_raised() -> None:
    store = SlowStore()
    cause = OSError("cause")

    async def run() -> None:
        async with write_events(store.store) as writer:
            writer.add(event(0))
            await asyncio.sleep(0)
            writer.add(event(1))
            asyncio.get_running_loop().call_later(0.01, store.released.set)
            raise ValueError("failed") from cause

    with pytest.raises(ValueError, match="failed") as caught:
        await run()
    assert caught.value.__cause__ is cause
    assert store.writes == [[0], [1]]


@pytest.mark.parametrize("failure", [None, StoreError("The run has ended.")])
async def test_events_of_a_cancelled_run_are_stored(failure: Exception | None) -> None:
    """Whether the run has still a place for them or not, it ends as a cancelled one."""
    store = SlowStore()
    store.failure = failure

    async def run() -> None:
        async with write_events(store.store) as writer:
            writer.add(event(0))
            await asyncio.sleep(30)

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    task.cancel()
    asyncio.get_running_loop().call_later(0.01, store.released.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert store.writes == ([] if failure else [[0]])


async def test_a_writer_without_events_ends_at_once() -> None:
    async with write_events(SlowStore().store):
        pass
