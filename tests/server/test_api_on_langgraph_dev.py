"""The API inside a real `langgraph dev` server: reviews that this server's own runs asked for."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from langgraph_sdk import get_client
from support.langgraph_server import langgraph_dev
from support.waiting import wait_until

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.review import Gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.langgraph_server import Server

pytestmark = pytest.mark.server

GRAPH = "collection_review"
QUESTION = "How do I cancel an asyncio task after a timeout?"
DONE = {"coverage_verified", "coverage_incomplete"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("api-server")
    with langgraph_dev(folder, COLLECTION_SEARCH_PROVIDER="offline") as server:
        yield server


@pytest.fixture
def api(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/app/api", timeout=120) as api:
        yield api


async def test_a_review_of_the_server_is_decided_in_its_page(
    server: Server, api: httpx.Client
) -> None:
    """The run in the thread goes on, with the caller as approver; a second answer is refused."""
    async with get_client(url=server.url, api_key=None) as client:
        thread = await client.threads.create()
        given = {"question": QUESTION, "collection_scope": "py"}
        output: Any = await client.runs.wait(thread["thread_id"], GRAPH, input=given)
        assert output["outcome"] == "review_pending", output
        (listed,) = api.get("/gates").json()["gates"]  # noqa: ASYNC212 - nothing else runs on this loop
        assert listed["host"] == "server"
        path = f"/gates/{listed['gate_id']}"
        urls = [one["url"] for one in api.get(path).json()["candidates"][:2]]  # noqa: ASYNC212 - nothing else runs on this loop
        decision = {"status": "partial", "approved_urls": urls}
        answer = api.post(f"{path}/decision", json=decision)  # noqa: ASYNC212 - nothing else runs on this loop
        assert answer.status_code == 202, answer.text
        assert answer.json()["review"]["approver"] == "local"
        refused = api.post(f"{path}/decision", json={"status": "rejected"})  # noqa: ASYNC212 - nothing else runs on this loop
        assert refused.status_code == 409
        said = refused.json()["error"]["message"]
        assert "is decided already: partial by local at" in said

        def stored() -> list[str]:
            found = api.get("/collections/py/documents").json()
            return [one["url"] for one in found.get("documents", ())]

        wait_until(lambda: len(stored()) == len(urls))
        assert sorted(stored()) == sorted(urls)
    assert "BlockingError" not in server.log.read_text()


async def test_the_same_decision_twice_at_once_is_one(server: Server) -> None:
    """Each is accepted, whichever of them the server refuses; another decision is not."""
    given = {"question": QUESTION, "collection_scope": "twice"}
    async with (
        get_client(url=server.url, api_key=None) as client,
        httpx.AsyncClient(base_url=f"{server.url}/app/api", timeout=120) as api,
    ):
        thread = await client.threads.create()
        await client.runs.wait(thread["thread_id"], GRAPH, input=given)
        (listed,) = (await api.get("/gates", params={"collection": "twice"})).json()["gates"]
        path, sent = f"/gates/{listed['gate_id']}/decision", {"status": "rejected"}
        answers = await asyncio.gather(*(api.post(path, json=sent) for _ in range(3)))
        refused = await api.post(path, json={"status": "approved"})
    assert [answer.status_code for answer in answers] == [202] * 3, [one.text for one in answers]
    assert {answer.json()["review"]["decided_at"] for answer in answers} == {
        answers[0].json()["review"]["decided_at"]
    }
    assert refused.status_code == 409
    assert "is decided already: rejected by local at" in refused.json()["error"]["message"]


async def test_a_decision_of_the_sdk_is_told_in_the_page(server: Server, api: httpx.Client) -> None:
    """By whom and how, and no address that is the server's own affair."""
    async with get_client(url=server.url, api_key=None) as client:
        thread = await client.threads.create()
        given = {"question": QUESTION, "collection_scope": "told"}
        output: Any = await client.runs.wait(thread["thread_id"], GRAPH, input=given)
        asked = output["__interrupt__"][0]
        answer = {"resume": {asked["id"]: {"status": "rejected", "approver": "ann"}}}
        await client.runs.wait(thread["thread_id"], GRAPH, command=answer)
    path = f"/gates/{asked['value']['gate_id']}/decision"
    refused = api.post(path, json={"status": "approved"})  # noqa: ASYNC212 - nothing else runs on this loop
    assert refused.status_code == 409
    said = refused.json()["error"]["message"]
    assert "is decided already: rejected by ann at" in said
    assert "http" not in said


async def test_the_review_of_a_deleted_thread_is_withdrawn(
    server: Server, api: httpx.Client
) -> None:
    """Nobody is asked any more; the reviews of other threads stay."""
    given = {"question": QUESTION, "collection_scope": "deleted"}
    async with get_client(url=server.url, api_key=None) as client:
        threads = [(await client.threads.create())["thread_id"] for _ in range(2)]
        outputs: list[Any] = [await client.runs.wait(one, GRAPH, input=given) for one in threads]
        gone, kept = (one["__interrupt__"][0]["value"]["gate_id"] for one in outputs)
        await client.threads.delete(threads[0])
        assert _listed(api, "deleted") == [kept]
        refused = api.post(f"/gates/{gone}/decision", json={"status": "approved"})  # noqa: ASYNC212 - nothing else runs on this loop
        assert refused.status_code == 404
        await client.threads.delete(threads[1])
    assert _listed(api, "deleted") == []


def test_a_review_whose_thread_is_not_found_can_be_rejected(
    server: Server, api: httpx.Client
) -> None:
    """Its thread has expired, or is on another LangGraph server: so nothing is withdrawn."""
    store = SQLiteStore(server.log.parent / "home" / "collections.db")
    try:
        store.gates.open(_gate_without_thread())
    finally:
        store.close()
    refused = api.post("/gates/gate-lost/decision", json={"status": "approved"})
    assert refused.status_code == 409
    assert "has no thread with the run of gate-lost" in refused.json()["error"]["message"]
    assert _listed(api, "lost") == ["gate-lost"]
    rejected = api.post("/gates/gate-lost/decision", json={"status": "rejected"})
    assert rejected.status_code == 202, rejected.text
    outcome = rejected.json()
    assert (outcome["status"], outcome["outcome"]) == ("done", "review_rejected")
    assert (outcome["review"]["approver"], outcome["review"]["status"]) == ("local", "rejected")
    assert _listed(api, "lost") == []


def _listed(api: httpx.Client, collection: str) -> list[str]:
    """Return the ids of a collection's open reviews."""
    gates = api.get("/gates", params={"collection": collection}).json()["gates"]
    return [one["gate_id"] for one in gates]


def _gate_without_thread() -> Gate:
    return Gate(
        "gate-lost",
        "local",
        "lost",
        question="Which tea?",
        round=1,
        host="server",
        thread_id="00000000-0000-4000-8000-000000000000",
        run_id="run",
        trace_id="trace",
        candidates=[],
        threshold=60.0,
        deadline=time.time() + 3600,
        policy="reject",
    )
