"""Runs whose decision, cancellation, end or process comes at a bad moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.review_world import DAY_S, ReviewWorld
from support.run_servers import HeldAdapter, Servers, begin, sweep
from support.scripted_world import INPUT, good_pages
from support.served_runs import API, served
from support.waiting import wait_until_async

from collection_search import SearchContext
from collection_search.server.runs.executions import RETRIES
from collection_search.server.runs.manager import RunManager
from collection_search.testing import ScriptedAdapter
from collection_search.tools.ingestion.ownership import this_process

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search import Settings


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReviewWorld:
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
    return ReviewWorld(tmp_path)


async def test_a_decision_before_the_run_has_come_to_wait_is_carried_out(
    world: ReviewWorld,
) -> None:
    """Many runs are decided the moment their gate can be seen; each goes on at once."""
    async with served(world.context) as server:
        runs = [await server.start("collection_review", **INPUT) for _ in range(15)]
        decided: set[str] = set()
        while len(decided) < len(runs):
            seen = (await server.client.get(f"{API}/gates")).json()["gates"]
            for gate in seen:
                answer = await server.client.post(
                    f"{API}/gates/{gate['gate_id']}/decision", json={"status": "approved"}
                )
                assert answer.status_code == 202, answer.text
                decided.add(gate["gate_id"])
            await asyncio.sleep(0)
        ends = await asyncio.gather(*(server.end_of(run["run_id"]) for run in runs))
        assert {end["status"] for end in ends} == {"done"}
        assert {end["output"]["review"]["status"] for end in ends} == {"approved"}


async def test_a_cancelled_run_leaves_no_gate(world: ReviewWorld) -> None:
    """Although it is cancelled after its gate is open, and before it is stored as waiting."""
    async with served(world.context) as server:
        run = await server.start("collection_review", **INPUT)
        await wait_until_async(lambda: world.store.gates.gates("local", state="open"))
        await server.client.post(f"{API}/runs/{run['run_id']}/cancel")
        assert (await server.show(run["run_id"]))["status"] == "cancelled"
        await wait_until_async(lambda: not server.runs.store.unfinished())
        assert world.store.gates.gates("local", state="open") == []
        world.clock.advance(2 * DAY_S)
        assert world.store.gates.unfinished() == []


async def test_an_answer_that_comes_too_late_is_a_conflict(world: ReviewWorld) -> None:
    """By the run as by its gate."""
    async with served(world.context) as server:
        run = await server.start("collection_review", **INPUT)
        await wait_until_async(
            lambda: server.runs.store.get("local", run["run_id"]).status == "waiting"  # type: ignore[union-attr]
        )
        gate_id = (await server.show(run["run_id"]))["gate_id"]
        world.clock.advance(2 * DAY_S)
        decision = {"status": "approved"}
        path = f"{API}/runs/{run['run_id']}/resume"
        by_run = await server.client.post(path, json={"decision": decision})
        by_gate = await server.client.post(f"{API}/gates/{gate_id}/decision", json=decision)
        assert (by_run.status_code, by_gate.status_code) == (409, 409)
        assert "deadline" in by_run.json()["error"]["message"]


async def test_an_end_that_could_not_be_stored_is_stored_by_the_next_sweep(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """The run does not stay at work for ever, and its searches are not repeated."""
    adapter = ScriptedAdapter(good_pages())
    servers = Servers(settings, adapter)
    manager = servers.start()
    servers.store.failures = 1
    run_id = await begin(manager)
    await wait_until_async(lambda: "could not be kept: The disk is full." in caplog.text)
    searches = len(adapter.requests)
    await manager.tasks.recover()
    await servers.reach(run_id, "done")
    assert len(adapter.requests) == searches
    await servers.are_clean()
    await manager.close()


@pytest.mark.parametrize(("failures", "status"), [(1, "done"), (1000, "failed")])
async def test_a_run_goes_on_after_a_short_outage_of_the_store(
    settings: Settings, failures: int, status: str
) -> None:
    """From its last checkpoint; after some outages it fails instead of starting for ever."""
    servers = Servers(settings, ScriptedAdapter(good_pages()))
    manager = servers.start()
    run_id = await begin(manager)
    servers.checkpoints.failures = failures
    await sweep(manager, times=RETRIES)
    await servers.reach(run_id, status)
    await servers.are_clean()
    assert not manager.tasks._executions
    await manager.close()


async def test_a_queued_run_goes_on_in_the_next_server(settings: Settings) -> None:
    """It has had no turn, so nothing but its input is kept."""
    adapter = HeldAdapter()
    few = settings.model_copy(update={"server_runs_per_tenant": 1})
    servers = Servers(few, adapter)
    before = servers.start()
    runs = [await begin(before) for _ in range(3)]
    await adapter.called.wait()
    await before.close()
    adapter.released.set()
    after = servers.start()
    await after.tasks.recover()
    for run_id in runs:
        await servers.reach(run_id, "done")
    await servers.are_clean()
    await after.close()


async def test_the_lease_of_a_server_elsewhere_tells_whether_it_is_alive(
    settings: Settings,
) -> None:
    """Whether a process of another host has ended cannot be seen here."""
    servers = Servers(settings, adapter := HeldAdapter())
    before = servers.start()
    run_id = await begin(before)
    await adapter.called.wait()
    await before.close()
    adapter.released.set()
    left = servers.store.get("local", run_id)
    assert left is not None
    elsewhere = "another-host:1:abc/def"
    servers.store.take_over(left, elsewhere)
    servers.store.renew(elsewhere, lease_s=3600)
    after = servers.start()
    await after.tasks.recover()
    found = servers.store.get("local", run_id)
    assert found is not None
    assert (found.status, found.owner) == ("running", elsewhere)
    servers.store.renew(elsewhere, lease_s=0)
    await after.tasks.recover()
    await servers.reach(run_id, "done")
    await servers.are_clean()
    await after.close()


async def test_a_server_that_was_paused_gives_up_what_it_lost(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Another server took the run over meanwhile: nothing more of it is done or written here."""
    servers = Servers(settings, adapter := HeldAdapter())
    paused = servers.start()
    run_id = await begin(paused)
    await adapter.called.wait()
    # all events so far are stored: else the write of one is what learns of the loss
    await wait_until_async(
        lambda: any("k_parallel" in one.data for one in servers.store.events("local", run_id))
    )
    run = servers.store.get("local", run_id)
    assert run is not None
    elsewhere = "another-host:1:abc/def"
    servers.store.renew(elsewhere, lease_s=3600)
    assert servers.store.take_over(run, elsewhere)
    before = servers.store.events("local", run_id)
    await paused.tasks.recover()
    assert "was taken over by another server" in caplog.text
    assert adapter.given_up
    found = servers.store.get("local", run_id)
    assert found is not None
    assert (found.status, found.owner) == ("running", elsewhere)
    assert servers.store.events("local", run_id) == before
    servers.store.renew(elsewhere, lease_s=0)
    adapter.released.set()
    await paused.tasks.recover()
    await servers.reach(run_id, "done")
    await servers.are_clean()
    await paused.close()


async def test_a_run_that_another_server_cancels_leaves_no_checkpoint(settings: Settings) -> None:
    """The server that executes it deletes them, as soon as it learns of the end."""
    adapter = HeldAdapter()
    servers = Servers(settings, adapter)
    executing, cancelling = servers.start(), servers.start()
    run_id = await begin(executing)
    await adapter.called.wait()
    run = await cancelling.find("local", run_id)
    assert run is not None
    assert await cancelling.tasks.cancel(run, "bob")
    adapter.released.set()
    await servers.are_clean()
    await executing.close()
    await cancelling.close()


async def test_the_next_server_cleans_up_after_a_run_that_has_ended(settings: Settings) -> None:
    """Its server was stopped after the end was stored and before the checkpoints were deleted."""
    servers = Servers(settings, adapter := HeldAdapter())
    before = servers.start()
    run_id = await begin(before)
    await adapter.called.wait()
    await before.close()
    left = servers.store.get("local", run_id)
    assert left is not None
    servers.store.take_over(left, f"{this_process()}/stopped")
    servers.store.change("local", run_id, {"status": "done"}, expected={"running"})
    assert servers.checkpoints.storage
    after = servers.start()
    await after.tasks.recover()
    await servers.are_clean()
    await after.close()


async def test_a_failing_sweep_is_not_the_last(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor do the other parts of the sweep wait for the next one."""
    for interval in ("SWEEP_S", "RENEW_S"):
        monkeypatch.setattr(f"collection_search.server.lifespan.{interval}", 0.01)
    parts = {"gates": 0, "runs": 0}

    async def failing(manager: RunManager) -> None:
        parts["gates"] += 1
        raise KeyError("a row without a column")

    async def counting(tasks: Any) -> None:
        parts["runs"] += 1

    monkeypatch.setattr(RunManager, "sweep_gates", failing)
    monkeypatch.setattr("collection_search.server.runs.run_tasks.RunTasks.recover", counting)
    context = SearchContext(provider=ScriptedAdapter(good_pages()), settings=settings)
    async with served(context):
        await wait_until_async(lambda: min(parts.values()) > 2)
    assert "a row without a column" in caplog.text
