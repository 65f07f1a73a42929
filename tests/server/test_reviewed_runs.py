"""Review runs over the API: they wait at a gate, are decided, and outlive the server."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.review_world import ADDED, DAY_S, ReviewWorld
from support.scripted_world import INPUT
from support.served_runs import API, Served, served
from support.waiting import wait_until_async

from collection_search.contracts.server_run import ServerRun
from collection_search.errors import InputError, StoreError
from collection_search.settings.provider_access import ProviderAccess
from collection_search.testing.provider_server import ProviderServer
from collection_search.testing.stores.gates_listing import decision_by
from collection_search.tools.ingestion.ownership import this_process

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search import SearchContext
    from collection_search.contracts.review import Gate


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReviewWorld:
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path))
    return ReviewWorld(tmp_path)


async def waiting_run(server: Served) -> dict[str, Any]:
    """Start a run and return it at its gate."""
    run_id = (await server.start("collection_review", **INPUT))["run_id"]
    await reach(server, run_id, "waiting")
    return await server.show(run_id)


async def reach(server: Served, run_id: str, status: str) -> None:
    """Wait until the run has this status."""

    def has_reached() -> bool:
        run = server.runs.store.get("local", run_id)
        return run is not None and run.status == status

    await wait_until_async(has_reached)


@pytest.mark.parametrize("by", ["run", "gate"])
async def test_approved_pages_are_ingested(world: ReviewWorld, by: str) -> None:
    """The run goes on in the background, and its events follow those from before the gate."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        assert (run["outcome"], run["gate_id"][:5]) == ("review_pending", "gate-")
        chosen = run["output"]["results"][1]["url"]
        decision = {"status": "partial", "approved_urls": [chosen], "added_urls": [ADDED]}
        if by == "run":
            path, body = f"runs/{run['run_id']}/resume", {"decision": decision}
        else:
            path, body = f"gates/{run['gate_id']}/decision", decision
        answer = await server.client.post(f"{API}/{path}", json=body)
        assert (answer.status_code, answer.json()["run_id"]) == (202, run["run_id"])
        *events, end = await server.events(run["run_id"])
        assert end.data["status"] == "done"
        assert end.data["output"]["review"]["approver"] == "local"
        assert sorted(world.ingested()) == sorted([chosen, ADDED])
        assert [one.number for one in events] == list(range(1, len(events) + 1))
        told = [one.data["status"] for one in events if one.kind == "run_status"]
        assert told == ["waiting", "running", "done"]
        again = await server.client.post(
            f"{API}/runs/{run['run_id']}/resume", json={"decision": {}}
        )
        assert again.status_code == 409
        assert world.store.gates.unfinished() == []


async def test_a_wrong_decision_changes_nothing(world: ReviewWorld) -> None:
    """The gate stays open, and the field is named."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        wrong = {"decision": {"status": "partial", "approved_urls": ["https://x.example/"]}}
        answer = await server.client.post(f"{API}/runs/{run['run_id']}/resume", json=wrong)
        assert answer.status_code == 422
        assert answer.json()["error"]["fields"][0]["field"] == "approved_urls.0"
        assert (await server.show(run["run_id"]))["status"] == "waiting"


async def test_a_choice_that_was_removed_is_told_and_the_gate_stays_open(
    world: ReviewWorld,
) -> None:
    """Nothing is decided for a run that cannot go on; a deadline's decision fails it."""
    with ProviderServer("searxng") as searxng:
        access = {"searxng": ProviderAccess(base_url=searxng.base_url)}
        async with served(changed(world.context, providers=access)) as server:
            choices = {"provider": "searxng"}
            started = await server.start("collection_review", choices, **INPUT)
            await reach(server, started["run_id"], "waiting")
    async with served(world.context) as server:
        path = f"{API}/runs/{started['run_id']}"
        answer = await server.client.post(
            f"{path}/resume", json={"decision": {"status": "approved"}}
        )
        assert answer.status_code == 400
        assert "searxng" in answer.json()["error"]["message"]
        assert (await server.show(started["run_id"]))["status"] == "waiting"
        assert len(world.store.gates.gates("local", state="open")) == 1
        world.clock.advance(2 * DAY_S)
        await server.runs.sweep_gates()
        end = await server.end_of(started["run_id"])
        assert (end["status"], end["error"]["type"]) == ("failed", "ConfigError")
        assert world.ingested() == []


def changed(context: SearchContext, **values: Any) -> SearchContext:
    """Return the context with other settings."""
    settings = context.using().model_copy(update=values)
    return context.model_copy(update={"settings": settings})


async def test_a_cancelled_review_asks_nobody(world: ReviewWorld) -> None:
    """Its gate is rejected, and no sweep resumes it."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        answer = await server.client.post(f"{API}/runs/{run['run_id']}/cancel")
        assert answer.json()["status"] == "cancelled"
        shown = await server.show(run["run_id"])
        assert (shown["outcome"], shown["output"]["outcome"]) == ("review_rejected",) * 2
        assert "Nothing was approved, so nothing was ingested." in shown["output"]["summary"]
        assert shown["output"]["results"] == run["output"]["results"]
        world.clock.advance(2 * DAY_S)
        await server.runs.sweep_gates()
        assert (await server.show(run["run_id"]))["status"] == "cancelled"
        assert world.ingested() == []
        assert world.store.gates.gates("local", state="open") == []


async def test_the_deadline_decides(world: ReviewWorld) -> None:
    """The sweeper resumes the run, and its events go into the same run."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        world.clock.advance(2 * DAY_S)
        await server.runs.sweep_gates()
        end = await server.end_of(run["run_id"])
        assert end["output"]["review"]["decided_by"] == "deadline"
        assert world.ingested()


@pytest.mark.slow
async def test_a_decision_of_another_program_is_carried_out_soon(world: ReviewWorld) -> None:
    """The program leaves the run to the server, whose next look at its runs goes on with it."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        decided = await world.facade().adecide(run["gate_id"], {"status": "approved"})
        assert (decided["left_to_server"], decided["request"]) == (True, None)
        assert decided["review"] is not None
        assert decided["review"]["status"] == "approved"
        assert decided["summary"].startswith("The review is decided: approved.")
        await reach(server, run["run_id"], "done")
        end = await server.end_of(run["run_id"])
        assert end["output"]["review"] == decided["review"]
        assert len(world.ingested()) == len(set(world.ingested())) > 0
        assert world.store.gates.unfinished() == []


@pytest.mark.parametrize("by", ["person", "sweep"])
async def test_a_decision_without_a_server_waits_for_its_next_start(
    world: ReviewWorld, by: str
) -> None:
    """Neither the decision nor a sweep executes the run, however long it takes."""
    async with served(world.context) as before:
        run = await waiting_run(before)
    if by == "person":
        decided = await world.facade().adecide(run["gate_id"], {"status": "approved"})
        assert decided["left_to_server"]
    else:
        world.clock.advance(2 * DAY_S)
        assert [gate.gate_id for gate in await world.facade().asweep()] == [run["gate_id"]]
    world.clock.advance(2 * DAY_S)
    assert await world.facade().asweep() == []
    assert world.ingested() == []
    async with served(world.context) as after:
        await reach(after, run["run_id"], "done")
        assert world.ingested()
        assert world.store.gates.unfinished() == []


async def test_a_decision_is_looked_at_until_its_run_goes_on(
    world: ReviewWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once after that, and never where the run is none of a server."""
    looked = list[str]()
    async with served(world.context) as server:
        run = await waiting_run(server)
        elsewhere = await world.facade().arun(INPUT)
        await world.facade().adecide(run["gate_id"], {"status": "approved"})
        world.store.gates.decide("local", elsewhere["request"]["gate_id"], decision_by())
        resume, fails = server.runs.tasks.resume, [True]

        async def noted(gate: Gate) -> bool:
            looked.append(gate.gate_id)
            if fails:
                fails.pop()
                raise StoreError("The database is down.", retryable=True)
            return await resume(gate)

        monkeypatch.setattr(server.runs.tasks, "resume", noted)
        for _ in range(2):
            await server.runs.resume_decided()
        await reach(server, run["run_id"], "done")
        world.clock.advance(DAY_S)
        await server.runs.resume_decided()
        assert looked == [run["gate_id"]] * 2


async def test_a_run_that_waits_at_another_gate_is_not_resumed(world: ReviewWorld) -> None:
    """A decision counts for its own gate alone, and only for the runs of a server."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        gate = world.store.gates.get("local", run["gate_id"])
        assert gate is not None
        assert await server.runs.tasks.resume(replace(gate, gate_id="gate-before"))
        assert not await server.runs.tasks.resume(replace(gate, thread_id="review-elsewhere"))
        assert (await server.show(run["run_id"]))["status"] == "waiting"


async def test_an_open_gate_of_a_server_is_checked_as_any_other(world: ReviewWorld) -> None:
    """A wrong decision changes nothing, and `pending` leaves the gate open."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        wrong = {"status": "partial", "approved_urls": ["https://x.example/"]}
        with pytest.raises(InputError, match="approved_urls"):
            await world.facade().adecide(run["gate_id"], wrong)
        left = await world.facade().adecide(run["gate_id"], {"status": "pending"})
        assert "left_to_server" not in left
        assert left["request"] is not None
        assert (await server.show(run["run_id"]))["status"] == "waiting"


async def test_a_new_server_goes_on(world: ReviewWorld) -> None:
    """Runs, events and open gates outlive the server."""
    async with served(world.context) as before:
        run = await waiting_run(before)
    async with served(world.context) as after:
        assert (await after.show(run["run_id"]))["status"] == "waiting"
        decision = {"decision": {"status": "rejected"}}
        await after.client.post(f"{API}/runs/{run['run_id']}/resume", json=decision)
        assert (await after.end_of(run["run_id"]))["outcome"] == "review_rejected"


def ended_process() -> str:
    """Return the owner that a process which has ended wrote."""
    code = "from collection_search.tools.ingestion.ownership import this_process as f; print(f())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_a_dead_server_s_run_is_resumed_or_marked(world: ReviewWorld) -> None:
    """What has a checkpoint goes on; else the run says that it was interrupted."""
    async with served(world.context) as server:
        run = await waiting_run(server)
        store, dead = server.runs.store, f"{ended_process()}/server"
        stored = store.get("local", run["run_id"])
        assert stored is not None
        lost = ServerRun("run-lost", "local", "collection_search", "ann", "q", "c", {}, owner=dead)
        store.add(lost)
        store.add(replace(lost, run_id="run-alive", owner=f"{this_process()}/another"))
        store.change(
            "local", run["run_id"], {"status": "running", "owner": dead}, expected={"waiting"}
        )
    async with served(world.context) as server:
        await reach(server, "run-lost", "interrupted")
        shown = await server.show("run-lost")
        assert "Start it again" in shown["error"]["message"]
        await reach(server, run["run_id"], "waiting")
        assert (await server.show(run["run_id"]))["gate_id"] == run["gate_id"]
