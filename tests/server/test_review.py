"""The review graph on a real `langgraph dev` server: over HTTP with the SDK, and by the command."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError
from support.langgraph_server import langgraph_dev
from support.loopback_site import LoopbackSite, article, essay

from collection_search.adapters.langgraph_server import ServerReviews
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.errors import InputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from langgraph_sdk.client import LangGraphClient

pytestmark = pytest.mark.server

GRAPH = "collection_review"
QUESTION = "How do I cancel an asyncio task after a timeout?"
DONE = {"coverage_verified", "coverage_incomplete"}
SOON_H = 0.0015
"""The deadline of the server whose gates are overdue, in hours."""


class World(NamedTuple):
    """A server, its data folder, and a page that can be added."""

    url: str
    home: Path
    added: str

    def stored(self, collection: str) -> dict[str, dict[str, Any]]:
        """Return the provenance of each stored document, once nothing is left to ingest."""
        store, scope = SQLiteStore(self.home / "collections.db"), TenantScope("local", collection)
        try:
            ends = time.monotonic() + 60
            while time.monotonic() < ends:
                infos = store.collections.collections("local")
                if not [one for one in infos if one.collection == collection and one.waiting]:
                    break
                time.sleep(0.1)
            return {
                row["url"]: row["provenance"]
                for row in store.collections.export(scope)
                if "url" in row
            }
        finally:
            store.close()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `collection-search review` against the server, with a data folder of its own."""
        return subprocess.run(
            [sys.executable, "-m", "collection_search", "review", "--server", self.url, *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ | {"COLLECTION_SEARCH_HOME": str(self.home.parent / "caller")},
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("review-server")
    with LoopbackSite() as site:
        added = site.put("/by-hand", article("By hand", essay("cancelling an asyncio task")))
        variables = {
            "COLLECTION_SEARCH_PROVIDER": "offline",
            "COLLECTION_SEARCH_FETCH_ALLOWED": ",".join(site.allowed),
        }
        with langgraph_dev(folder, **variables) as server:
            yield World(server.url, folder / "home", added)


class Paused(NamedTuple):
    """A run at its gate."""

    client: LangGraphClient
    thread_id: str
    interrupt_id: str
    request: dict[str, Any]

    async def answer(self, decision: dict[str, Any], **options: Any) -> Any:
        """Resume over HTTP, as a program without this package does."""
        return await self.client.runs.wait(
            self.thread_id,
            GRAPH,
            command={"resume": {self.interrupt_id: decision}},
            raise_error=False,
            **options,
        )


@asynccontextmanager
async def paused_run(world: World, collection: str) -> AsyncIterator[Paused]:
    async with get_client(url=world.url, api_key=None) as client:
        thread = await client.threads.create()
        given = {"question": QUESTION, "collection_scope": collection}
        output = await client.runs.wait(thread["thread_id"], GRAPH, input=given)
        assert output["outcome"] == "review_pending", output
        (interrupt,) = output["__interrupt__"]
        assert interrupt["value"]["type"] == GRAPH
        assert interrupt["value"]["response_schema"]["properties"]["status"]
        yield Paused(client, thread["thread_id"], interrupt["id"], interrupt["value"])


async def request_of(world: World, collection: str) -> dict[str, Any]:
    """Pause a run and return what is asked."""
    async with paused_run(world, collection) as paused:
        return paused.request


async def test_over_http(world: World) -> None:
    """Pause; a wrong decision is refused and the gate stays open; a right one ingests its pages."""
    async with paused_run(world, "http") as paused:
        urls = [one["url"] for one in paused.request["candidates"]]
        for wrong in (
            {"status": "approvd"},
            {"status": "partial", "approved_urls": ["https://no-candidate.example/"]},
            {"status": "partial", "added_urls": ["file:///etc/passwd"]},
        ):
            refused = await paused.answer(wrong)
            assert refused["__error__"]["error"] == "InputError", refused
        assert world.stored("http") == {}
        (gate,) = [one for one in await open_gates(world) if one == paused.request["gate_id"]]
        assert gate  # listed although the thread counts as failed now
        chosen = {"approved_urls": urls[1:3], "added_urls": [world.added], "approver": "ann"}
        output = await paused.answer({"status": "partial", **chosen})
        assert output["outcome"] in DONE, output
        assert output["review"]["approver"] == "ann"
        known = world.stored("http")
        assert known.keys() == {*urls[1:3], world.added}
        assert {one["approved_by"] for one in known.values()} == {"ann"}
        assert known[world.added]["added_by_hand"] is True


async def open_gates(world: World) -> list[str]:
    return [gate.gate_id for gate in await ServerReviews(world.url).agates()]


async def test_two_answers_at_once(world: World) -> None:
    """With `reject` the second gets 409; else it waits, is dropped, and gets the first's output."""
    async with paused_run(world, "race") as paused:
        urls = [one["url"] for one in paused.request["candidates"]]
        answers = [
            {"status": "partial", "approved_urls": [url], "approver": name}
            for url, name in ((urls[0], "ann"), (urls[1], "bob"))
        ]
        first, second = await asyncio.gather(*(paused.answer(one) for one in answers))
        assert first["review"] == second["review"]
        assert len(first["review"]["approved_urls"]) == 1
        assert world.stored("race").keys() == set(first["review"]["approved_urls"])

    async with paused_run(world, "conflict") as paused:
        both = await asyncio.gather(
            *(stream(paused, one) for one in answers), return_exceptions=True
        )
        (lost,) = [one for one in both if isinstance(one, BaseException)]
        assert isinstance(lost, ConflictError)
        assert lost.status_code == 409


async def stream(paused: Paused, decision: dict[str, Any]) -> None:
    parts = paused.client.runs.stream(
        paused.thread_id,
        GRAPH,
        command={"resume": {paused.interrupt_id: decision}},
        multitask_strategy="reject",
    )
    async for _ in parts:
        pass


async def test_the_second_caller_of_the_adapter_is_told(world: World) -> None:
    """Of two answers at once one decides; the other raises and its pages are not ingested."""
    async with paused_run(world, "told") as paused:
        gate_id, url = paused.request["gate_id"], paused.request["candidates"][0]["url"]
        both = await asyncio.gather(
            ServerReviews(world.url).adecide(
                gate_id, {"status": "partial", "approved_urls": [url]}
            ),
            ServerReviews(world.url).adecide(gate_id, {"status": "rejected"}),
            return_exceptions=True,
        )
        assert [isinstance(one, InputError) for one in both].count(True) == 1, both
        (won,) = [one for one in both if not isinstance(one, BaseException)]
        assert world.stored("told").keys() == set(won["review"]["approved_urls"])


async def test_an_answer_between_look_and_resume_is_noticed(world: World) -> None:
    """A server ignores an answer to an interrupt that is no more; the adapter does not."""
    async with paused_run(world, "between") as paused:

        class Overtaken(ServerReviews):
            async def _find(self, *given: Any) -> Any:
                found = await super()._find(*given)
                await paused.answer({"status": "rejected", "approver": "ann"})
                return found

        with pytest.raises(
            InputError, match=r"was first: rejected by ann at .* Yours was not used"
        ):
            await Overtaken(world.url).adecide(paused.request["gate_id"], {"status": "approved"})
        assert world.stored("between") == {}


def test_by_the_command(world: World) -> None:
    """List, show, a wrong decision, part with one added page, and a late answer."""
    request = asyncio.run(request_of(world, "command"))
    gate, url = request["gate_id"], request["candidates"][0]["url"]
    listed = world.command()
    assert gate in listed.stdout
    assert "on a LangGraph server" in listed.stdout
    assert url in world.command(gate).stdout
    wrong = world.command(gate, "--approve", "1", "--add", "ftp://a.example/")
    assert wrong.returncode == 2
    assert gate in world.command().stdout
    options = ("--approve", "1", "--add", world.added, "--approver", "ann")
    ended = world.command(gate, *options)
    assert ended.returncode in {0, 3}, ended.stderr
    assert "✅ Review" in ended.stderr
    assert "Decision: partial by ann: 1 candidate approved, 1 added by hand" in ended.stdout
    known = world.stored("command")
    assert known.keys() == {url, world.added}
    assert {one["approved_by"] for one in known.values()} == {"ann"}
    late = world.command(gate, "--reject")
    assert late.returncode == 2
    assert f"has no open review '{gate}'" in late.stderr
    assert "No review is past its deadline" in world.command("--sweep").stderr


def test_the_sweep_of_a_server(tmp_path: Path) -> None:
    """A run whose deadline has passed is resumed, and its own policy decides."""
    variables = {
        "COLLECTION_SEARCH_PROVIDER": "offline",
        "COLLECTION_SEARCH_GATE_DEADLINE_H": str(SOON_H),
        "COLLECTION_SEARCH_GATE_POLICY": "reject",
    }
    with langgraph_dev(tmp_path, **variables) as server:
        world = World(server.url, tmp_path / "home", "")
        request = asyncio.run(request_of(world, "overdue"))
        time.sleep(SOON_H * 3600 + 1)  # the deadline is given to the second
        swept = world.command("--sweep")
        assert f"{request['gate_id']}  overdue  Decision: rejected by the deadline" in (
            swept.stdout
        ), swept.stderr
        assert asyncio.run(open_gates(world)) == []
