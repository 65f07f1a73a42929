"""Events of a run on their way into the store: their order, their writes and their errors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from collection_search.errors import StoreError
from collection_search.server.runs.event_writer import EventWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collection_search.contracts.server_run import RunEvent


class SlowStore:
    """A store whose writes take until they are released."""

    def __init__(self) -> None:
        self.writes: list[list[int]] = []
        self.released = asyncio.Event()
        self.failure: Exception | None = None
        self.has_ended = True

    async def store(self, events: Sequence[RunEvent]) -> None:
        self.has_ended = False
        try:
            await self.released.wait()
        finally:
            self.has_ended = True
        if self.failure is not None:
            raise self.failure
        self.writes.append([event["completed"] for event in events])


def event(number: int) -> RunEvent:
    return {"type": "search_progress", "completed": number, "total": 9}


async def test_events_are_stored_in_their_order() -> None:
    store = SlowStore()
    store.released.set()
    writer = EventWriter(store.store)
    for number in range(9):
        writer.add(event(number))
        if number % 3 == 0:
            await asyncio.sleep(0.01)
    await writer.flush()
    assert [number for write in store.writes for number in write] == list(range(9))


async def test_events_that_come_during_a_write_are_stored_together() -> None:
    store = SlowStore()
    writer = EventWriter(store.store)
    writer.add(event(0))
    await asyncio.sleep(0)  # the first write begins
    for number in range(1, 6):
        writer.add(event(number))
    store.released.set()
    await writer.flush()
    assert store.writes == [[0], [1, 2, 3, 4, 5]]


@pytest.mark.parametrize("at", ["the next event", "the end"])
async def test_the_run_learns_of_a_failed_write(at: str) -> None:
    store = SlowStore()
    store.failure = StoreError("The disk is full.")
    store.released.set()
    writer = EventWriter(store.store)
    writer.add(event(0))
    await asyncio.sleep(0.01)
    with pytest.raises(StoreError, match="disk is full"):
        writer.add(event(1)) if at == "the next event" else await writer.flush()
    await writer.stop()
    assert store.writes == []


async def test_no_write_goes_on_when_the_writer_has_stopped() -> None:
    store = SlowStore()
    writer = EventWriter(store.store)
    writer.add(event(0))
    await asyncio.sleep(0)
    writer.add(event(1))
    assert not store.has_ended
    await writer.stop()
    assert store.has_ended
    store.released.set()
    await asyncio.sleep(0.01)
    assert store.writes == []


async def test_a_writer_without_events_ends_at_once() -> None:
    writer = EventWriter(SlowStore().store)
    await writer.flush()
    await writer.stop()
