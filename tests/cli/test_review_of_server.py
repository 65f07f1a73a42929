"""`collection-search review` and the runs of a server: it decides, and the server goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import INPUT, good_pages
from support.served_runs import served
from support.waiting import wait_until_async

from collection_search import SearchContext
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from support.command_line import Invoke
    from support.served_runs import Served

LATE_H = "0.0000001"
LEFT = "The decision is stored. The run belongs to 'collection-search serve'"

pytestmark = pytest.mark.slow


async def reach(server: Served, run_id: str, status: str) -> dict[str, Any]:
    """Wait until the run has this status, and return it."""

    def has_reached() -> bool:
        run = server.runs.store.get("local", run_id)
        return run is not None and run.status == status

    await wait_until_async(has_reached)
    return await server.show(run_id)


async def pause() -> dict[str, Any]:
    """Return a run that waits at its gate, of a server that has stopped since."""
    async with served(SearchContext(provider=ScriptedAdapter(good_pages()))) as server:
        started = await server.start("collection_review", **INPUT)
        return await reach(server, started["run_id"], "waiting")


async def restart(run_id: str) -> dict[str, Any]:
    """Start a server, and return the run once it is done."""
    async with served(SearchContext(provider=ScriptedAdapter(good_pages()))) as server:
        return await reach(server, run_id, "done")


def test_the_command_leaves_the_run_to_the_server(command: Invoke) -> None:
    """It says so, and the next start of the server ends the run."""
    run = asyncio.run(pause())
    ended = command("review", run["gate_id"], "--reject", "--approver", "ann")
    assert ended.code == 0, ended.err
    assert "Decision: rejected by ann" in ended.out
    assert LEFT in " ".join(ended.out.split())
    assert "else at its next start" in " ".join(ended.out.split())
    late = command("review", run["gate_id"], "--approve", "all")
    assert late.code == 2
    assert "decided already: rejected by ann" in late.err
    end = asyncio.run(restart(run["run_id"]))
    assert (end["outcome"], end["output"]["review"]["approver"]) == ("review_rejected", "ann")


def test_programs_are_told_as_well(command: Invoke) -> None:
    """The decision is one JSON object that says who goes on with the run."""
    run = asyncio.run(pause())
    ended = command("review", run["gate_id"], "--approve", "1", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["left_to_server"] is True
    assert ended.json["review"]["status"] == "partial"
    assert ended.json["thread_id"] == run["run_id"]


@pytest.mark.parametrize("by", ["review", "json", "worker"])
def test_a_sweep_leaves_the_run_to_the_server(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """The policy decides, and the server carries that out."""
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_DEADLINE_H", LATE_H)
    monkeypatch.setenv("COLLECTION_SEARCH_GATE_POLICY", "reject")
    run = asyncio.run(pause())
    if by == "json":
        (row,) = command("review", "--sweep", "--json").json["swept"]
        assert (row["gate_id"], row["left_to_server"]) == (run["gate_id"], True)
    elif by == "review":
        ended = command("review", "--sweep")
        assert f"{run['gate_id']}  " in ended.out
        assert LEFT in " ".join(ended.out.split())
    else:
        assert f"{run['gate_id']}: Decision: rejected" in command("worker", "--once").err
    assert "No review is past its deadline" in command("review", "--sweep").err
    end = asyncio.run(restart(run["run_id"]))
    assert end["output"]["review"]["decided_by"] == "deadline"
