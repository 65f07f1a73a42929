"""The engine whose workers a message queue wakes, with a queue in memory."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until

from collection_search import Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.ingestion import IngestionItem, IngestionRequest, Priority
from collection_search.errors import ConfigError, IngestError, StoreError
from collection_search.testing import RecordingSink
from collection_search.tools.ingestion.ownership import for_message, holds, this_host
from collection_search.tools.ingestion.queued_engine import MAX_MESSAGES, QueuedEngine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.ingestion import Claim, Ticket
    from collection_search.ports import PageReader

SCOPE = TenantScope("local", "tea")


class MemoryQueue:
    """Counts of messages; `error` is raised by every call."""

    def __init__(self) -> None:
        self.counts: Counter[Priority] = Counter()
        self.error: IngestError | None = None

    def depth(self, priority: Priority) -> int:
        if self.error is not None:
            raise self.error
        return self.counts[priority]

    def send(self, priority: Priority, count: int) -> None:
        self.counts[priority] += count


class LosingStore:
    """A store whose connection breaks once, after a claim was committed; also its ledger."""

    def __init__(self, store: SQLiteStore) -> None:
        self._store = store
        self._breaks = True
        self.ledger = self

    def claim(self, *arguments: Any, **more: Any) -> Claim | None:
        claim = self._store.ledger.claim(*arguments, **more)
        if self._breaks:
            self._breaks = False
            raise StoreError("The connection was lost.", retryable=True)
        return claim

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name, None) or getattr(self._store.ledger, name)


class World:
    def __init__(self, folder: Path) -> None:
        self.store = SQLiteStore(folder / "collections.db")
        self.queue = MemoryQueue()
        self.engine = QueuedEngine(self.store, Settings(home=folder), self.queue)

    def accept(
        self, count: int, priority: Priority = Priority.INTERACTIVE, name: str = "page"
    ) -> Ticket:
        """Let pages wait whose texts are staged."""
        return accept(self.store, count, priority, name)

    def states(self, ticket: Ticket) -> list[str]:
        return states(self.store, ticket)


def accept(
    store: SQLiteStore,
    count: int,
    priority: Priority = Priority.INTERACTIVE,
    name: str = "page",
) -> Ticket:
    """Let pages wait whose texts are staged."""
    refs = store.staging.put("local", [f"The text of {name} {n}." for n in range(count)])
    items = [
        IngestionItem(f"https://a.example/{name}/{n}", f"a.example/{name}/{n}", "Tea", ref)
        for n, ref in enumerate(refs)
    ]
    return store.ledger.enqueue(
        IngestionRequest(SCOPE, items, priority=priority, trace_id="trace-7")
    )


def states(store: SQLiteStore, ticket: Ticket) -> list[str]:
    status = store.ledger.status("local", ticket.ticket_id)
    assert status is not None
    return [row.state for row in status.rows]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.engine.stop(timeout_s=0)
    world.store.close()


def test_a_message_is_sent_for_each_row(world: World) -> None:
    """To the queue of its priority, and none twice."""
    world.accept(3)
    world.accept(2, Priority.REFRESH, "other")
    world.engine.start()
    world.engine.start()
    assert world.queue.counts == {Priority.INTERACTIVE: 3, Priority.REFRESH: 2}


def test_few_messages_wait(world: World) -> None:
    """The ledger has the rest."""
    world.accept(MAX_MESSAGES + 10)
    world.engine.start()
    assert world.queue.counts[Priority.INTERACTIVE] == MAX_MESSAGES


def test_lost_messages_are_sent_by_the_sweep(world: World) -> None:
    """It compares what is due with what waits."""
    world.accept(3)
    world.engine.start()
    world.queue.counts.clear()
    assert world.engine.sweep() == 3


def test_a_broker_that_is_away_loses_no_page(world: World) -> None:
    """The start is no failure: the pages are safe in the ledger, and a sweep sends them."""
    ticket = world.accept(2)
    world.queue.error = IngestError("The message broker cannot be used.")
    world.engine.start()
    assert world.states(ticket) == ["waiting", "waiting"]
    with pytest.raises(IngestError):
        world.engine.sweep()


def test_a_message_lets_rows_be_stored(world: World) -> None:
    """One message goes on while there are rows, so that few messages are needed."""
    ticket = world.accept(3)
    assert world.engine.work("m1", Priority.INTERACTIVE) == 3
    assert world.states(ticket) == ["stored"] * 3
    assert world.engine.work("m2", Priority.INTERACTIVE) == 0


def test_an_interactive_message_leaves_refreshes(world: World) -> None:
    """A message for refreshes takes both, interactive pages first."""
    later = world.accept(1, Priority.REFRESH, "later")
    assert world.engine.work("m1", Priority.INTERACTIVE) == 0
    sooner = world.accept(1)
    assert world.engine.work("m2", Priority.REFRESH) == 2
    assert world.states(later) == world.states(sooner) == ["stored"]


def test_a_message_that_comes_again_takes_its_row_over(world: World) -> None:
    """At once, and the former worker's result is refused."""
    ticket = world.accept(1)
    former = world.store.ledger.claim(for_message("m1"), lease_s=600)
    assert former is not None
    assert world.engine.work("m2", Priority.REFRESH, is_redelivered=True) == 0
    assert world.engine.work("m1", Priority.REFRESH, is_redelivered=True) == 1
    assert world.states(ticket) == ["stored"]
    assert not world.store.ledger.renew(former, lease_s=600)


def test_a_claim_whose_answer_was_lost_is_found_again(tmp_path: Path) -> None:
    """Its row is worked on at once, not after its lease."""
    with closing(SQLiteStore(tmp_path / "collections.db")) as store:
        engine = QueuedEngine(LosingStore(store), Settings(home=tmp_path), MemoryQueue())
        ticket = accept(store, 1)
        assert engine.work("m1", Priority.INTERACTIVE) == 1
        assert states(store, ticket) == ["stored"]
        engine.stop(timeout_s=0)


def test_the_rows_of_a_worker_that_has_ended_come_first(world: World) -> None:
    """All of them, not one at a look: they do not wait until other hosts had their turn."""
    world.accept(3, name="left")
    ended = f"{this_host()}:{os.getpid()}:earlier/m1"
    left = [world.store.ledger.claim(ended, lease_s=600) for _ in range(3)]
    world.accept(3, name="before")
    done: list[str] = []
    world.engine.equip(on_page_done=lambda page: done.append(page.claim.url))
    assert world.engine.work("m2", Priority.INTERACTIVE) == 6
    assert done[:3] == [claim.url for claim in left if claim is not None]


def test_a_sweep_returns_what_no_claim_takes(world: World) -> None:
    """Also where the message of the worker that has ended was lost."""
    ticket = world.accept(1)
    ended = f"{this_host()}:{os.getpid()}:earlier/m1"
    assert world.store.ledger.claim(ended, lease_s=600)
    world.engine.sweep()
    assert world.states(ticket) == ["working"]
    wait_until(lambda: world.engine.sweep() == 1)
    assert world.states(ticket) == ["waiting"]


def test_a_stopped_engine_claims_nothing(world: World) -> None:
    """Its messages are done with; the rows wait for another worker."""
    ticket = world.accept(1)
    assert world.engine.stop(timeout_s=0)
    assert world.engine.work("m1", Priority.INTERACTIVE) == 0
    assert world.states(ticket) == ["waiting"]


def test_a_page_whose_reader_cannot_be_made_is_left_to_others(world: World) -> None:
    """Its row is given back: the heartbeat would keep it for as long as this worker lives."""

    async def refuse(_rules: object) -> PageReader:
        raise ConfigError("A page needs a browser, which is not installed.")

    world.engine.equip(reader=refuse)
    page = IngestionItem("https://a.example/new", "a.example/new", "", None)
    ticket = world.store.ledger.enqueue(IngestionRequest(SCOPE, [page]))
    for message in ("m1", "m2"):
        with pytest.raises(ConfigError):
            world.engine.work(message, Priority.INTERACTIVE)
        assert world.states(ticket) == ["to_fetch"]
    assert world.engine.stop(timeout_s=0)


def test_an_owner_tells_its_message() -> None:
    """No other message takes its row over."""
    assert holds("m1")(for_message("m1"))
    assert not holds("1")(for_message("m1"))


def test_the_trace_of_the_run_crosses_the_queue(world: World) -> None:
    """The row has it, so it does not depend on the message."""
    sink = RecordingSink()
    world.engine.equip(sink=sink)
    world.accept(1)
    world.engine.work("m1", Priority.INTERACTIVE)
    (trace,) = [span.trace for span in sink.spans if span.name == "ingest_document"]
    assert trace is not None
    assert trace.trace_id == "trace-7"
