"""Reviews over the API: listed, shown and decided, and never another tenant's."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.api_client import ONE, TWO, as_caller, open_api, process_store
from support.scripted_world import INPUT, good_pages
from support.waiting import wait_until_async

from collection_search import SearchContext, Settings
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.review import Gate
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.process_defaults import process_settings
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

MANY = 200
OFFLINE = {
    "question": "How do I cancel an asyncio task after a timeout?",
    "collection_scope": "py",
    "purpose": "collection_search",
}


def _candidate(n: int) -> dict[str, Any]:
    return {
        "url": f"https://example.com/{n}",
        "title": f"Page {n}",
        "snippet": "text " * 100,
        "source": "example.com",
        "is_pdf": False,
        "in_collection": False,
        "embedding_rank_score": 70.0,
        "embedding_similarity": 0.7,
        "heuristic_score": 60.0,
        "explanation": {"addends": []},
    }


def _open_gate(name: str = "g1", tenant: str = ONE, **fields: Any) -> Gate:
    known: dict[str, Any] = {
        "question": "Which tea?",
        "round": 1,
        "host": "process",
        "thread_id": "thread",
        "run_id": "run",
        "trace_id": "trace",
        "candidates": [_candidate(n) for n in range(20)],
        "threshold": 60.0,
        "deadline": time.time() + 3600,
        "policy": "reject",
    }
    return process_store().gates.open(Gate(name, tenant, "docs", **(known | fields)))


async def _waiting_run(tenant: str = ONE) -> str:
    """Return the gate of a run that waits for a person."""
    context = SearchContext(
        tenant_id=tenant, provider=ScriptedAdapter(good_pages()), settings=process_settings()
    )
    result = await CollectionReviewGraph(context).arun(INPUT)
    assert result["request"] is not None
    return result["request"]["gate_id"]


async def test_many_reviews_are_read_a_page_at_a_time(api: httpx.AsyncClient) -> None:
    """The oldest first, each with the number of its candidates, and without these."""
    for n in range(MANY):
        _open_gate(f"g{n}")
    page = (await api.get("/gates", params={"offset": 150, "limit": 25})).json()
    assert page["total"] == MANY
    assert [one["gate_id"] for one in page["gates"]] == [f"g{n}" for n in range(150, 175)]
    assert {one["candidate_count"] for one in page["gates"]} == {20}
    assert "candidates" not in page["gates"][0]
    assert (await api.get("/gates", params={"collection": "none"})).json()["total"] == 0


async def test_a_review_has_its_candidates(api: httpx.AsyncClient) -> None:
    _open_gate()
    gate = (await api.get("/gates/g1")).json()
    assert (gate["state"], gate["decision"], gate["policy"]) == ("open", None, "reject")
    assert len(gate["candidates"]) == 20
    assert gate["candidates"][3]["url"] == "https://example.com/3"
    assert gate["deadline"].endswith("Z")


async def test_a_rejected_run_ends(api: httpx.AsyncClient) -> None:
    """Decided by the caller, whatever name the body gives."""
    gate_id = await _waiting_run()
    answer = await api.post(
        f"/gates/{gate_id}/decision",
        json={"status": "rejected", "comment": "No tea.", "approver": "somebody else"},
        **as_caller(ONE, "reviewer"),
    )
    assert answer.status_code == 202
    decided = answer.json()
    assert decided["review"]["approver"] == f"reviewer of {ONE}"
    assert decided["review"]["comment"] == "No tea."
    shown = (await api.get(f"/gates/{gate_id}")).json()
    assert shown["decision"]["status"] == "rejected"
    assert (await api.get("/gates")).json()["total"] == 0


async def begin_review(api: Any, base: SearchContext) -> tuple[str, Any]:
    """Start a run of the server, let it come to its review, and return its id and the runs."""
    asked = {"graph": "collection_review", "input": INPUT}
    run_id = (await api.post("/runs", json=asked)).json()["run_id"]
    store = make_adapter(base.using(), "runs", "sqlite")
    await wait_until_async(lambda: store.get(ONE, run_id).status == "waiting")
    return run_id, store


async def test_a_run_of_the_server_goes_on(tmp_path: Path) -> None:
    """The answer is the run; its end is in the list of runs."""
    base = SearchContext(provider=ScriptedAdapter(good_pages()), settings=Settings(home=tmp_path))
    async with open_api(base) as api:
        run_id, store = await begin_review(api, base)
        (listed,) = (await api.get("/gates")).json()["gates"]
        gate_id = listed["gate_id"]
        assert (await api.get(f"/runs/{run_id}")).json()["gate_id"] == gate_id
        answer = await api.post(f"/gates/{gate_id}/decision", json={"status": "rejected"})
        assert answer.status_code == 202
        assert answer.json()["run_id"] == run_id
        await wait_until_async(lambda: store.get(ONE, run_id).status == "done")
        ended = (await api.get(f"/runs/{run_id}")).json()
    assert ended["output"]["review"]["approver"] == f"admin of {ONE}"


async def test_a_second_decision_changes_nothing(api: httpx.AsyncClient) -> None:
    """It is told who was first."""
    gate_id = await _waiting_run()
    await api.post(f"/gates/{gate_id}/decision", json={"status": "rejected"})
    again = await api.post(
        f"/gates/{gate_id}/decision",
        json={"status": "approved"},
        **as_caller(ONE, "reviewer"),
    )
    assert again.status_code == 409
    assert f"rejected by admin of {ONE}" in again.json()["error"]["message"]


async def test_the_same_decision_again_is_answered_as_the_first(api: httpx.AsyncClient) -> None:
    """A client that got no answer sends it again; somebody else, or another comment, is refused."""
    gate_id, gates = await _waiting_run(), process_store().gates
    sent = {"status": "rejected", "comment": "No tea."}
    first = await api.post(f"/gates/{gate_id}/decision", json=sent)
    await wait_until_async(lambda: gates.get(ONE, gate_id).state == "closed")
    again = await api.post(f"/gates/{gate_id}/decision", json=sent)
    assert [first.status_code, again.status_code] == [202] * 2
    assert again.json()["review"] == first.json()["review"]
    assert (again.json()["status"], again.json()["next_gate_id"]) == ("done", None)
    other, reviewer = {**sent, "comment": "No coffee."}, as_caller(ONE, "reviewer")
    assert (await api.post(f"/gates/{gate_id}/decision", json=other)).status_code == 409
    answer = await api.post(f"/gates/{gate_id}/decision", json=sent, **reviewer)
    assert answer.status_code == 409


async def test_the_same_decision_twice_at_once_is_one(tmp_path: Path) -> None:
    """For a run of the server both are answered with the run, and so is a later one."""
    base = SearchContext(provider=ScriptedAdapter(good_pages()), settings=Settings(home=tmp_path))
    async with open_api(base) as api:
        run_id, store = await begin_review(api, base)
        path = f"/gates/{store.get(ONE, run_id).gate_id}/decision"
        sent = {"status": "rejected"}
        answers = await asyncio.gather(*(api.post(path, json=sent) for _ in range(4)))
        await wait_until_async(lambda: store.get(ONE, run_id).status == "done")
        late = await api.post(path, json=sent)
        refused = await api.post(path, json={"status": "approved"})
    assert [answer.status_code for answer in (*answers, late)] == [202] * 5
    assert {answer.json()["run_id"] for answer in (*answers, late)} == {run_id}
    assert refused.status_code == 409


async def test_the_same_decision_of_another_programs_run_twice_at_once(
    api: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    """All are accepted: one of them is the first, the others say the same, and none has failed."""
    path = f"/gates/{await _waiting_run()}/decision"
    answers = await asyncio.gather(*(api.post(path, json={"status": "rejected"}) for _ in range(3)))
    assert [answer.status_code for answer in answers] == [202] * 3
    assert "failed" not in caplog.text


@pytest.mark.parametrize(
    "decision",
    [
        {"status": "pending"},
        {"status": "partial"},
        {"status": "partial", "approved_urls": ["https://elsewhere.example/"]},
        {"status": "rejected", "approved_urls": ["https://example.com/1"]},
        {"status": "approved", "added_urls": ["no address"]},
        {},
    ],
)
async def test_a_wrong_decision_is_refused(
    api: httpx.AsyncClient, decision: dict[str, Any]
) -> None:
    """And the review stays open."""
    _open_gate()
    answer = await api.post("/gates/g1/decision", json=decision)
    assert answer.status_code == 422
    assert (await api.get("/gates/g1")).json()["state"] == "open"


@pytest.mark.parametrize("host", ["server", "process"])
async def test_a_run_that_is_elsewhere_is_decided_there(api: httpx.AsyncClient, host: str) -> None:
    """On a LangGraph server, or in the checkpoints of another program: the message says so."""
    _open_gate(host=host)
    answer = await api.post("/gates/g1/decision", json={"status": "approved"})
    assert answer.status_code == 409
    assert "LangGraph server" in answer.json()["error"]["message"]
    assert (await api.get("/gates/g1")).json()["state"] == "open"


async def test_a_review_of_another_program_can_be_rejected(api: httpx.AsyncClient) -> None:
    """It leaves the list: its run may be gone, and obeys the rejection if it is not."""
    _open_gate(host="process")
    answer = await api.post("/gates/g1/decision", json={"status": "rejected"})
    assert (answer.status_code, answer.json()["outcome"]) == (202, "review_rejected")
    assert (await api.get("/gates")).json()["total"] == 0
    assert (await api.get("/gates/g1")).json()["state"] == "closed"


async def test_another_tenant_s_review_does_not_exist(api: httpx.AsyncClient) -> None:
    _open_gate("theirs", TWO)
    assert (await api.get("/gates")).json() == {"total": 0, "gates": []}
    for name in ("theirs", "nobody-s"):
        assert (await api.get(f"/gates/{name}")).status_code == 404
        refused = await api.post(f"/gates/{name}/decision", json={"status": "rejected"})
        assert refused.status_code == 404
    gate = process_store().gates.get(TWO, "theirs")
    assert gate is not None
    assert gate.state == "open"


async def test_viewers_read_and_do_not_decide(api: httpx.AsyncClient) -> None:
    _open_gate()
    caller = as_caller(ONE, "viewer")
    assert (await api.get("/gates/g1", **caller)).status_code == 200
    refused = await api.post("/gates/g1/decision", json={"status": "rejected"}, **caller)
    assert refused.status_code == 403


@pytest.mark.usefixtures("offline_index")
@pytest.mark.slow
async def test_approved_pages_are_ingested(api: httpx.AsyncClient) -> None:
    """Some of them; the collection then has these."""
    context = SearchContext(tenant_id=ONE, provider="offline", settings=process_settings())
    result = await CollectionReviewGraph(context).arun(OFFLINE)
    request = result["request"]
    assert request is not None
    chosen = [one["url"] for one in request["candidates"][:2]]
    decision = {"status": "partial", "approved_urls": chosen}
    answer = await api.post(f"/gates/{request['gate_id']}/decision", json=decision)
    assert answer.status_code == 202
    assert sorted(answer.json()["review"]["approved_urls"]) == sorted(chosen)
    store, scope = process_store().collections, TenantScope(ONE, "py")
    await wait_until_async(lambda: len(store.hashes(scope)) == len(chosen))
    documents = (await api.get("/collections/py/documents")).json()["documents"]
    assert sorted(one["url"] for one in documents) == sorted(chosen)
