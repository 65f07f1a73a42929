"""Tenants and users of a real `langgraph dev` server whose callers need a token."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest
from support.langgraph_server import langgraph_dev

from collection_search.server.langgraph_auth import OWNER
from collection_search.settings.access_tokens import AccessTokens, Role

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.server

SOME_ID = "00000000-0000-4000-8000-000000000000"
OPEN = {("GET", "/ok"), ("GET", "/app/api/health")}
QUESTION = {"question": "How do I cancel an asyncio task?", "collection_scope": "py"}
STRANGERS = ("bob", "eve", "vic")
"""A user of the same tenant, an admin of another one, and a viewer of the same."""


class World(NamedTuple):
    """The server, and a client for each user."""

    url: str
    home: Path
    tokens: dict[str, str]
    log: Path

    def ask(self, user: str | None, method: str, path: str, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {})
        if user is not None:
            headers = headers | {"authorization": f"Bearer {self.tokens[user]}"}
        return httpx.request(
            method, self.url + path, headers=headers, timeout=60, trust_env=False, **options
        )

    def post(self, user: str, path: str, **body: Any) -> httpx.Response:
        return self.ask(user, "POST", path, json=body)

    def paused(self) -> str:
        """Return a thread of ann's whose run waits at its gate."""
        thread_id: str = self.post("ann", "/threads").json()["thread_id"]
        path = f"/threads/{thread_id}/runs/wait"
        output = self.post("ann", path, assistant_id="collection_review", input=QUESTION).json()
        assert output["outcome"] == "review_pending", output
        return thread_id

    def state(self, thread_id: str) -> Any:
        return self.ask("ann", "GET", f"/threads/{thread_id}/state").json()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tenants-server")
    home, held = folder / "home", AccessTokens(folder / "home")
    tokens = {
        "ann": held.add("acme", "ann", Role.reviewer),
        "bob": held.add("acme", "bob", Role.reviewer),
        "vic": held.add("acme", "vic", Role.viewer),
        "eve": held.add("evil", "eve", Role.admin),
    }
    variables = {
        "COLLECTION_SEARCH_SERVER_AUTH": "true",
        "COLLECTION_SEARCH_PROVIDER": "offline",
        "COLLECTION_SEARCH_MAX_COST_USD": "1",
    }
    with langgraph_dev(folder, **variables) as server:
        yield World(server.url, home, tokens, server.log)


def routes(world: World) -> list[tuple[str, str]]:
    """Return each route that the server describes, and those that it does not."""
    paths = world.ask("ann", "GET", "/openapi.json").json()["paths"]
    described = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    more = [("GET", path) for path in ("/info", "/metrics", "/docs", "/openapi.json", "/ui/some")]
    assert len(described) > 40
    return [(method, re.sub(r"\{[^}]*\}", SOME_ID, path)) for method, path in described + more]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer cs_" + "x" * 43},
        {"x-auth-scheme": "langsmith"},
        {"x-auth-scheme": "langsmith", "x-api-key": "some", "x-user-id": "some"},
    ],
    ids=["none", "wrong", "studio", "studio with a key"],
)
def test_every_route_is_closed_without_a_token(world: World, headers: dict[str, str]) -> None:
    """Those of the LangGraph server too: threads, runs, store, MCP, A2A, its description."""
    for method, path in routes(world):
        body = {} if method == "GET" else {"json": {}}
        answer = world.ask(None, method, path, headers=headers, **body)
        expected = 200 if (method, path) in OPEN else 401
        assert answer.status_code == expected, (method, path, answer.text)


def test_a_user_s_thread_is_closed_to_everybody_else(world: World) -> None:
    """State, history, runs and the gate: nothing is read, changed or decided."""
    thread_id = world.paused()
    at = f"/threads/{thread_id}"
    (run,) = world.ask("ann", "GET", f"{at}/runs").json()
    checkpoint = world.state(thread_id)["checkpoint"]["checkpoint_id"]
    before = world.state(thread_id)
    approved = {"resume": {"status": "approved"}}
    review = {"assistant_id": "collection_review"}
    attempts: list[tuple[str, str, Any]] = [
        ("GET", at, None),
        ("GET", f"{at}/state", None),
        ("GET", f"{at}/state/{checkpoint}", None),
        ("GET", f"{at}/runs", None),
        ("GET", f"{at}/runs/{run['run_id']}", None),
        ("POST", f"{at}/history", {}),
        ("POST", f"{at}/state", {"values": {"question": "changed"}}),
        ("POST", f"{at}/state/checkpoint", {"checkpoint": {"checkpoint_id": checkpoint}}),
        ("POST", f"{at}/copy", {}),
        ("PATCH", at, {"metadata": {OWNER: "acme/bob"}}),
        ("POST", f"{at}/runs", {**review, "command": approved}),
        ("POST", f"{at}/runs/wait", {**review, "command": approved}),
        ("POST", f"{at}/runs/{run['run_id']}/cancel", {}),
        ("POST", "/threads", {"thread_id": thread_id, "if_exists": "do_nothing"}),
        ("POST", "/threads/prune", {"thread_ids": [thread_id]}),
        ("DELETE", f"{at}/runs/{run['run_id']}", None),
        ("DELETE", at, None),
    ]
    for user in STRANGERS:
        for method, path, body in attempts:
            answer = world.ask(user, method, path, **({} if body is None else {"json": body}))
            assert answer.status_code in {403, 404, 409}, (user, method, path, answer.text)
        for status in ({}, {"status": "interrupted"}, {"metadata": {OWNER: "acme/ann"}}):
            assert world.post(user, "/threads/search", **status).json() == []
    assert world.state(thread_id) == before


def test_an_owner_cannot_give_a_thread_away(world: World) -> None:
    """What a caller writes as the owner is replaced."""
    thread = world.post("ann", "/threads", metadata={OWNER: "evil/eve", "note": "x"}).json()
    assert thread["metadata"] == {OWNER: "acme/ann", "note": "x"}
    at = f"/threads/{thread['thread_id']}"
    changed = world.ask("ann", "PATCH", at, json={"metadata": {OWNER: "evil/eve"}}).json()
    assert changed["metadata"][OWNER] == "acme/ann"


def test_a_viewer_starts_nothing(world: World) -> None:
    """Neither a run nor a thread, nor by the tools' protocols."""
    run = {"assistant_id": "collection_search", "input": QUESTION}
    for path, body in (
        ("/threads", {}),
        ("/runs", run),
        ("/runs/wait", run),
        ("/runs/stream", run),
        ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ):
        assert world.post("vic", path, **body).status_code == 403, path
    assert world.post("vic", "/assistants/search").status_code == 200


def test_assistants_and_schedules_are_the_server_s_own(world: World) -> None:
    """All users see the graphs; nobody adds what others would see, or what runs without a caller."""
    for user in ("ann", "eve"):
        found = world.post(user, "/assistants/search").json()
        assert {one["metadata"]["created_by"] for one in found} == {"system"}
        at = f"/assistants/{found[0]['assistant_id']}"
        answers = [
            world.post(user, "/assistants", graph_id="collection_search"),
            world.ask(user, "PATCH", at, json={"name": "mine"}),
            world.ask(user, "DELETE", at),
            world.post(
                user,
                "/runs/crons",
                assistant_id="collection_search",
                schedule="* * * * *",
                input={},
            ),
            world.post(user, "/runs/crons/search"),
        ]
        assert {answer.status_code for answer in answers} == {403}


def test_the_store_has_a_part_for_each_user(world: World) -> None:
    """Nobody reads, lists or writes outside it."""
    own = {"namespace": ["acme/ann/", "notes"], "key": "k", "value": {"a": 1}}
    assert world.ask("ann", "PUT", "/store/items", json=own).status_code == 204
    found = world.post("ann", "/store/items/search", namespace_prefix=["acme/ann/"]).json()
    assert [one["value"] for one in found["items"]] == [{"a": 1}]
    for user, prefixes in (("bob", [["acme/ann/"]]), ("ann", [[], ["acme"], ["acme/an"], ["*"]])):
        for prefix in prefixes:
            item = {"namespace": [*prefix, "x"], "key": "k", "value": {}}
            at = {"namespace": ".".join([*prefix, "notes"]), "key": "k"}
            answers = [
                world.ask(user, "PUT", "/store/items", json=item),
                world.ask(user, "DELETE", "/store/items", json=item),
                world.ask(user, "GET", "/store/items", params=at),
                world.post(user, "/store/items/search", namespace_prefix=prefix),
                world.post(user, "/store/namespaces", prefix=prefix),
            ]
            assert {answer.status_code for answer in answers} == {403}, (user, prefix)


@pytest.mark.parametrize(
    "forged",
    [
        {"ids": None},
        {"ids": {"run_id": "r", "trace_id": "t", "invocation_id": "i"}},
        {"ids": "other run", "telemetry": {"nodes": {}, "cost_usd": -5}, "flags": []},
        {"ids": "no seal"},
    ],
    ids=["no ids", "ids of no run", "ids of another run", "ids without their seal"],
)
def test_a_state_lifts_no_ceiling(world: World, forged: dict[str, Any]) -> None:
    """What a run has spent is counted under its ids: a run with other ids does not go on."""
    thread_id = world.paused()
    ids = world.state(thread_id)["values"]["ids"]
    if forged["ids"] == "other run":
        forged = forged | {"ids": {**ids, "run_id": SOME_ID}}
    elif forged["ids"] == "no seal":
        forged = {"ids": {**ids, "invocation_id": SOME_ID}}
    at = f"/threads/{thread_id}"
    assert world.post("ann", f"{at}/state", values=forged).status_code == 200
    path = f"{at}/runs/wait"
    answer = world.post("ann", path, assistant_id="collection_review", input=None).json()
    assert "Start a new run" in answer["__error__"]["message"], answer


def test_the_approver_is_the_user_and_the_collection_the_tenant_s(world: World) -> None:
    """Whatever name and tenant a decision or a context states."""
    from collection_search.adapters.stores.sqlite import SQLiteStore

    thread_id = world.paused()
    answer = world.post(
        "ann",
        f"/threads/{thread_id}/runs/wait",
        assistant_id="collection_review",
        command={"resume": {"status": "rejected", "approver": "eve"}},
    ).json()
    assert answer["review"]["approver"] == "ann"
    refused = world.post(
        "ann", "/runs/wait", assistant_id="collection_search", input=QUESTION,
        context={"tenant_id": "evil"},
    )  # fmt: skip
    assert "no such field" in refused.text
    store = SQLiteStore(world.home / "collections.db")
    try:
        assert store.gates.get("evil", answer["review"]["gate_id"]) is None
        known = store.gates.get("acme", answer["review"]["gate_id"])
        assert known is not None
        assert known.decision["approver"] == "ann"
    finally:
        store.close()


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_a_review_is_decided_in_the_page_by_its_tenant(world: World, user: str) -> None:
    """By the user who asked, and by a colleague: as himself, whatever name he states."""
    thread_id = world.paused()
    gate_id = world.state(thread_id)["interrupts"][0]["value"]["gate_id"]
    path = f"/app/api/gates/{gate_id}"
    sent = {"status": "rejected", "approver": "eve"}
    for stranger, status in (("eve", 404), ("vic", 403), (None, 401)):
        answer = world.ask(stranger, "POST", f"{path}/decision", json=sent)
        assert answer.status_code == status, answer.text
    answer = world.post(user, f"{path}/decision", **sent)
    assert answer.status_code == 202, answer.text
    assert answer.json()["review"]["approver"] == user
    assert (state := world.state(thread_id))["values"]["review"]["approver"] == user
    assert state["values"]["outcome"] == "review_rejected"


def test_a_decision_gives_no_thread_to_the_decider(world: World) -> None:
    """The thread and its runs stay the asker's, and a colleague's further calls are refused."""
    thread_id = world.paused()
    at = f"/threads/{thread_id}"
    gate_id = world.state(thread_id)["interrupts"][0]["value"]["gate_id"]
    decision = world.post("bob", f"/app/api/gates/{gate_id}/decision", status="rejected")
    assert decision.status_code == 202, decision.text
    assert world.ask("ann", "GET", at).json()["metadata"][OWNER] == "acme/ann"
    assert len(world.ask("ann", "GET", f"{at}/runs").json()) == 2
    assert world.ask("bob", "GET", at).status_code == 404
    assert world.ask("bob", "GET", f"{at}/state").status_code == 404


def test_a_review_is_withdrawn_with_its_thread_alone(world: World) -> None:
    """A deletion that the server refuses withdraws nothing."""
    thread_id = world.paused()
    path = f"/app/api/gates/{world.state(thread_id)['interrupts'][0]['value']['gate_id']}"
    for user in STRANGERS:
        assert world.ask(user, "DELETE", f"/threads/{thread_id}").status_code in {403, 404}
        assert world.ask("ann", "GET", path).json()["state"] == "open"
    assert world.ask("ann", "DELETE", f"/threads/{thread_id}").status_code == 204
    assert world.ask("ann", "GET", path).status_code == 404


def test_the_command_answers_with_a_token(world: World) -> None:
    """`review --server` lists the reviews of its user; without a token it says what to set."""
    world.paused()

    def command(**variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "collection_search", "review", "--server", world.url],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ
            | {"COLLECTION_SEARCH_HOME": str(world.home.parent / "caller")}
            | variables,
        )

    listed = command(COLLECTION_SEARCH_SERVER_TOKEN=world.tokens["ann"])
    assert listed.returncode == 0, listed.stderr
    assert "gate-" in listed.stdout
    assert "gate-" not in command(COLLECTION_SEARCH_SERVER_TOKEN=world.tokens["bob"]).stdout
    refused = command()
    assert refused.returncode == 2
    assert "COLLECTION_SEARCH_SERVER_TOKEN" in refused.stderr


def test_a_removed_token_is_refused_at_once(world: World) -> None:
    """By the LangGraph server as well, without a restart."""
    held = AccessTokens(world.home)
    world.tokens["zoe"] = held.add("acme", "zoe", Role.reviewer)
    assert world.post("zoe", "/threads/search").status_code == 200
    held.remove(one.token_id for one in held.every() if one.user == "zoe")
    assert world.post("zoe", "/threads/search").status_code == 401


def test_the_log_has_no_token_and_no_blocking_call(world: World) -> None:
    """Whatever was asked before."""
    world.paused()
    log = world.log.read_text()
    assert "/threads" in log
    assert not [user for user, token in world.tokens.items() if token in log]
    assert "BlockingError" not in log
