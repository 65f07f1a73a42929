"""Runs of which the store could not keep something: what is repeated, and how often."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.review_world import ReviewWorld
from support.run_servers import Servers, begin, kill, rest, sweep
from support.scripted_world import INPUT, good_pages
from support.waiting import wait_until_async

from collection_search.adapters.stores.sql.gates import SQLGates
from collection_search.errors import StoreError
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.server.runs.executions import RETRIES
from collection_search.testing import RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search import Settings
    from collection_search.contracts.ingestion import IngestionRequest, Ticket
    from collection_search.contracts.review import Gate
    from collection_search.server.runs.manager import RunManager

ELSEWHERE = "another-host:1:abc/def"
ALWAYS = 10**6


class HeldTrigger(RecordingTrigger):
    """An ingestion that begins once it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.called, self.released = asyncio.Event(), asyncio.Event()
        self.calls = 0

    async def trigger(self, request: IngestionRequest) -> Ticket:
        self.calls += 1
        self.called.set()
        await self.released.wait()
        return await super().trigger(request)


class FailingGates(SQLGates):
    """Gates of a database that is down for the next readings of one gate, or damaged."""

    failures = 0
    refuses_closing = False

    def close(self, tenant_id: str, gate_id: str) -> bool:
        if self.refuses_closing:
            raise StoreError("The database is damaged.")
        return super().close(tenant_id, gate_id)

    def get(self, tenant_id: str, gate_id: str) -> Gate | None:
        gate = super().get(tenant_id, gate_id)
        if gate is not None and self.failures:
            self.failures -= 1
            raise StoreError("The database is down.", retryable=True)
        return gate


class WaitingReview(Servers):
    """A review whose run waits at its gate, although its server could not read the gate then."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(folder))
        self.world = world = ReviewWorld(folder)
        super().__init__(world.context.using(), world.adapter)
        self.trigger = HeldTrigger()
        self.context = world.context.model_copy(update={"trigger": self.trigger})
        self.gates = FailingGates(world.store._database, clock=world.clock.time)
        self.gates.failures = 1
        world.store.gates = self.gates
        self.manager = self.start()

    async def begin(self) -> Gate:
        """Start the run and return its gate."""
        run = await self.manager.start("local", "ann", "collection_review", INPUT)
        await rest(self.manager)
        waiting = self.find(run.run_id)
        assert (waiting.status, self.gates.failures) == ("waiting", 0)
        assert run.run_id in self.manager.tasks._executions
        gate = self.gates.get("local", str(waiting.gate_id))
        assert gate is not None
        return gate

    async def approve(self, gate: Gate) -> None:
        await self.manager.decide(gate, {"status": "approved"}, user="ann")

    async def end(self, gate: Gate) -> None:
        """Let the ingestion begin, and expect the run's only end."""
        self.trigger.released.set()
        await self.reach(str(gate.thread_id), "done")
        await self.are_clean()
        await rest(self.manager)
        assert self.trigger.calls == 1
        assert self.gates.unfinished() == []
        assert not self.manager.tasks._executions
        await self.manager.close()


async def fail_once(servers: Servers, manager: RunManager) -> str:
    """Start a run whose first execution cannot be kept, and return its id."""
    run_id = await begin(manager)
    servers.checkpoints.failures = 1
    await rest(manager)
    return run_id


@pytest.fixture
def adapter() -> ScriptedAdapter:
    return ScriptedAdapter(good_pages())


@pytest.fixture
def servers(settings: Settings, adapter: ScriptedAdapter) -> Servers:
    return Servers(settings, adapter)


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WaitingReview:
    return WaitingReview(tmp_path, monkeypatch)


@pytest.mark.parametrize(("failures", "status"), [(0, "done"), (ALWAYS, "failed")])
async def test_a_run_that_has_ended_is_only_cleaned_up_again(
    servers: Servers, adapter: ScriptedAdapter, failures: int, status: str
) -> None:
    """At each sweep until that succeeds; nothing is searched again."""
    manager = servers.start()
    servers.checkpoints.failing_deletions = 4
    run_id = await begin(manager)
    servers.checkpoints.failures = failures
    await sweep(manager, times=RETRIES)
    await servers.reach(run_id, status)
    searches = len(adapter.requests)
    events = servers.store.events("local", run_id)
    servers.checkpoints.failing_deletions += 2
    await sweep(manager, times=2)
    assert servers.checkpoints.storage
    await sweep(manager, times=4)
    await servers.are_clean()
    assert len(adapter.requests) == searches
    assert servers.store.events("local", run_id) == events
    assert not manager.tasks._executions
    await manager.close()


async def test_an_outage_of_runs_and_checkpoints_repeats_a_run_three_times(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """However long it lasts; its end is stored as soon as the store can keep it."""
    manager = servers.start()
    run_id = await begin(manager)
    servers.checkpoints.failures = servers.store.failures = ALWAYS
    await rest(manager)
    searches = len(adapter.requests)
    await sweep(manager, times=RETRIES + 4)
    assert len(adapter.requests) == searches * (1 + RETRIES)
    assert servers.find(run_id).status == "running"
    servers.checkpoints.failures = servers.store.failures = 0
    await sweep(manager)
    ended = servers.find(run_id)
    assert (ended.status, ended.error and ended.error["type"]) == ("failed", "StoreError")
    assert len(adapter.requests) == searches * (1 + RETRIES)
    await servers.are_clean()
    await manager.close()


async def test_a_result_is_kept_until_it_can_be_stored(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """However often that fails, and although the run could not be executed any more."""
    manager = servers.start()
    servers.store.failures = RETRIES
    run_id = await begin(manager)
    await rest(manager)
    await servers.checkpoints.adelete_thread(run_id)
    searches = len(adapter.requests)
    await sweep(manager, times=RETRIES)
    ended = servers.find(run_id)
    assert (ended.status, ended.outcome) == ("done", "search_completed")
    assert len(adapter.requests) == searches
    await servers.are_clean()
    await manager.close()


async def test_a_result_that_the_store_refuses_for_good_ends_the_run(
    servers: Servers, adapter: ScriptedAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    """With that error, and not before some sweeps have tried to store it."""
    manager = servers.start()
    servers.store.refuses_output = True
    run_id = await begin(manager)
    await sweep(manager, times=RETRIES - 1)
    assert servers.find(run_id).status == "running"
    searches = len(adapter.requests)
    await sweep(manager)
    ended = servers.find(run_id)
    assert ended.status == "failed"
    assert ended.error == {"type": "TypeError", "message": "The output is no JSON."}
    assert len(adapter.requests) == searches
    assert f"The result of the run {run_id} cannot be stored" in caplog.text
    await servers.are_clean()
    await manager.close()


async def test_a_run_that_another_server_took_over_in_an_outage_is_not_executed_here(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """What this server knows of it is dropped."""
    manager = servers.start()
    run_id = await fail_once(servers, manager)
    searches = len(adapter.requests)
    servers.store.renew(ELSEWHERE, lease_s=3600)
    assert servers.store.take_over(servers.find(run_id), ELSEWHERE)
    await sweep(manager, times=2)
    assert len(adapter.requests) == searches
    assert not manager.tasks._executions
    found = servers.find(run_id)
    assert (found.status, found.owner) == ("running", ELSEWHERE)
    servers.store.renew(ELSEWHERE, lease_s=0)
    await sweep(manager)
    assert servers.find(run_id).status == "done"
    await servers.are_clean()
    await manager.close()


async def test_a_run_that_was_deleted_in_an_outage_leaves_no_checkpoint(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """And it is not executed again."""
    manager = servers.start()
    await fail_once(servers, manager)
    searches = len(adapter.requests)
    servers.store.delete("local")
    servers.checkpoints.failing_deletions = 1
    await sweep(manager)
    assert manager.tasks._executions
    await sweep(manager)
    assert not manager.tasks._executions
    assert len(adapter.requests) == searches
    await servers.are_clean()
    await manager.close()


async def test_a_sweep_leaves_a_review_alone_that_a_decision_resumed(
    review: WaitingReview,
) -> None:
    """The task that ingests the approved pages is not cancelled, and the gate is closed."""
    gate = await review.begin()
    await review.approve(gate)
    await review.trigger.called.wait()
    await review.manager.tasks.recover()
    await review.end(gate)


async def test_a_sweep_leaves_a_run_alone_that_is_just_being_resumed(
    review: WaitingReview,
) -> None:
    """It is stored as running by this server, and its task is not yet begun."""
    gate = await review.begin()
    review.store.holds = "change"
    deciding = asyncio.create_task(review.approve(gate))
    await wait_until_async(review.store.held.is_set)
    assert review.find(str(gate.thread_id)).status == "running"
    await review.manager.tasks.recover()
    assert not review.manager.tasks._tasks
    review.store.released.set()
    await deciding
    await review.end(gate)


async def test_a_review_that_was_decided_before_it_came_to_wait_goes_on_at_the_next_sweep(
    review: WaitingReview,
) -> None:
    """Although its server could not read the decision at first."""
    gate = await review.begin()
    facade = CollectionReviewGraph(review.context, checkpointer=review.checkpoints)
    await facade.asettle(gate.gate_id, {"status": "approved"}, approver="ann")
    await review.manager.tasks.recover()
    await review.end(gate)


async def test_a_review_that_cannot_be_closed_keeps_no_run_from_its_end(
    review: WaitingReview, caplog: pytest.LogCaptureFixture
) -> None:
    """After some sweeps have tried; what was ingested is told, and the review is closed later.

    Nor is the result lost when the store of the runs then refuses it once.
    """
    gate = await review.begin()
    review.trigger.released.set()
    review.gates.refuses_closing = True
    await review.approve(gate)
    await sweep(review.manager, times=RETRIES - 1)
    review.store.refuses_output = True
    await sweep(review.manager)
    review.store.refuses_output = False
    await sweep(review.manager)
    assert review.find(str(gate.thread_id)).status == "done"
    assert f"The review of the run {gate.thread_id} cannot be closed" in caplog.text
    review.gates.refuses_closing = False
    await review.manager.tasks.recover()
    await review.end(gate)


async def test_a_review_that_was_decided_before_a_server_died_is_closed(
    review: WaitingReview,
) -> None:
    """Its run was not yet stored as one that waits, so it does not name the review."""
    review.gates.failures = 0
    review.store.failures = ALWAYS
    run = await review.manager.start("local", "ann", "collection_review", INPUT)
    await rest(review.manager)
    (gate,) = review.gates.gates("local", state="open")
    facade = CollectionReviewGraph(review.context, checkpointer=review.checkpoints)
    await facade.asettle(gate.gate_id, {"status": "approved"}, approver="ann")
    kill(review.manager)
    review.store.failures = 0
    review.trigger.released.set()
    review.manager = review.start()
    await sweep(review.manager, times=2)
    assert review.find(run.run_id).status == "done"
    await review.end(gate)


async def test_a_cancellation_ends_what_is_known_of_a_run(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """No sweep executes it; one cleans up, where that failed."""
    manager = servers.start()
    run_id = await begin(manager)
    servers.checkpoints.failures = servers.checkpoints.failing_deletions = 1
    await rest(manager)
    searches = len(adapter.requests)
    with pytest.raises(StoreError):
        await manager.tasks.cancel(servers.find(run_id), "ann")
    await sweep(manager)
    assert servers.find(run_id).status == "cancelled"
    assert len(adapter.requests) == searches
    assert not manager.tasks._executions
    await servers.are_clean()
    await manager.close()


async def test_a_cancelled_review_is_cleaned_up_at_the_next_sweep(review: WaitingReview) -> None:
    """Where its checkpoints could not be deleted at once, although a run that waits is nobody's."""
    gate = await review.begin()
    review.checkpoints.failing_deletions = 1
    run_id = str(gate.thread_id)
    with pytest.raises(StoreError):
        await review.manager.tasks.cancel(review.find(run_id), "ann")
    assert review.checkpoints.storage
    await sweep(review.manager)
    await review.are_clean()
    assert review.gates.unfinished() == []
    await review.manager.close()


async def test_a_server_that_stops_begins_nothing_more(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """Although a sweep is at work; the next server goes on."""
    manager = servers.start()
    run_id = await fail_once(servers, manager)
    searches = len(adapter.requests)
    servers.store.holds = "get"
    sweeping = asyncio.create_task(manager.tasks.recover())
    await wait_until_async(servers.store.held.is_set)
    await manager.close()
    servers.store.released.set()
    await sweeping
    assert not manager.tasks._tasks
    assert len(adapter.requests) == searches
    after = servers.start()
    await sweep(after)
    assert servers.find(run_id).status == "done"
    await servers.are_clean()
    await after.close()


async def test_a_run_whose_tasks_are_cancelled_by_something_else_ends(servers: Servers) -> None:
    """It is not left without anybody who executes it, nor executed for ever."""
    manager = servers.start()
    servers.checkpoints.error = asyncio.CancelledError()
    run_id = await begin(manager)
    servers.checkpoints.failing_readings = ALWAYS
    await sweep(manager, times=RETRIES)
    assert servers.find(run_id).status == "running"
    await sweep(manager)
    ended = servers.find(run_id)
    assert (ended.status, ended.error and ended.error["type"]) == ("failed", "Interrupted")
    await servers.are_clean()
    assert servers.checkpoints.failing_readings == ALWAYS - 1 - RETRIES
    await manager.close()


async def test_a_run_whose_input_could_not_be_kept_is_interrupted(servers: Servers) -> None:
    """The next sweep tells that; nobody else executes it."""
    manager = servers.start()
    servers.checkpoints.failures = 1
    with pytest.raises(StoreError):
        await begin(manager)
    (run,) = servers.store.unfinished()
    await sweep(manager)
    assert servers.find(run.run_id).status == "interrupted"
    await servers.are_clean()
    await manager.close()


async def test_a_run_that_fails_to_be_looked_after_does_not_hold_up_the_others(
    servers: Servers, adapter: ScriptedAdapter
) -> None:
    """The checkpoints of the oldest cannot be deleted; the next one goes on all the same."""
    manager = servers.start()
    servers.checkpoints.failing_deletions = 1
    await begin(manager)
    await rest(manager)
    run_id = await fail_once(servers, manager)
    servers.checkpoints.failing_deletions = 1
    await sweep(manager)
    assert servers.find(run_id).status == "done"
    await sweep(manager)
    await servers.are_clean()
    await manager.close()
