"""The adapter of a LangGraph server: what it sends, and each refusal in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from support.ports import closed_port

from collection_search.adapters.langgraph_server import ServerReviews
from collection_search.errors import AlreadyDecidedError, ConfigError, IngestError, InputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

REQUEST: dict[str, Any] = {
    "type": "collection_review",
    "gate_id": "gate-1",
    "question": "Which tea?",
    "collection": "tea",
    "round": 1,
    "candidates": [],
    "threshold": 60.0,
    "deadline": "2020-01-01T00:00:00Z",
    "deadline_policy": "approve",
    "response_schema": {},
}
OTHER = {"type": "another graph's"}


class Server:
    """A server with one paused thread, which answers a resume as it is told."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.resumed: list[dict[str, Any]] = []
        self.refuses: dict[str, int] = {}
        self.failed: list[str] = []
        self.events = ""
        self.url = ""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/threads/search", self._search)
        app.router.add_post("/threads/{id}/runs/stream", self._stream)
        app.router.add_get("/threads/{id}/state", self._state)
        return app

    async def _search(self, request: web.Request) -> web.Response:
        self._note(request, "search")
        wanted = await request.json()
        interrupts = [{"id": "i0", "value": OTHER}, {"id": "i1", "value": REQUEST}]
        thread = {
            "thread_id": "t1",
            "metadata": {"assistant_id": "a1"},
            "interrupts": {"task": interrupts},
        }
        if wanted["status"] == "error":
            return web.json_response(
                [{"thread_id": one, "metadata": {}, "interrupts": {}} for one in self.failed]
            )
        is_found = wanted["status"] == "interrupted" and not wanted.get("offset")
        return web.json_response([thread] if is_found else [])

    async def _stream(self, request: web.Request) -> web.Response:
        self._note(request, "stream")
        self.resumed.append(await request.json())
        return web.Response(text=self.events, content_type="text/event-stream")

    async def _state(self, request: web.Request) -> web.Response:
        self._note(request, "state")
        return web.json_response({"values": {"flags": [], "review": None}, "tasks": []})

    def _note(self, request: web.Request, what: str) -> None:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if status := self.refuses.get(what):
            raise _refusal(status)


def _refusal(status: int) -> web.HTTPException:
    kind = type("Refusal", (web.HTTPException,), {"status_code": status})
    return kind(text='{"detail": "because"}', content_type="application/json")


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    double = Server()
    async with TestServer(double.app()) as running:
        double.url = f"http://127.0.0.1:{running.port}"
        yield double


async def test_other_interrupts_are_no_reviews(server: Server) -> None:
    """Only values of the type `collection_review` count; the gate has all that a person needs."""
    (gate,) = await ServerReviews(server.url + "/").agates()
    assert (gate.gate_id, gate.thread_id, gate.host) == ("gate-1", "t1", "server")
    assert await ServerReviews(server.url).agates(collection="other") == []


async def test_the_answer_goes_to_its_interrupt(server: Server) -> None:
    """By the interrupt's id, on the thread's assistant, and never queued behind another answer."""
    server.events = _event("custom", '{"type": "node_finished", "node": "k_hitl_gate"}')
    seen: list[Any] = []
    await ServerReviews(server.url).adecide(
        "gate-1", {"status": "rejected"}, approver="ann", on_event=seen.append
    )
    (sent,) = server.resumed
    assert sent["command"] == {"resume": {"i1": {"status": "rejected", "approver": "ann"}}}
    assert (sent["assistant_id"], sent["multitask_strategy"]) == ("a1", "reject")
    assert [event["type"] for event in seen] == ["node_finished"]


async def test_headers_are_sent(server: Server) -> None:
    """Also the one that the SDK has an argument for."""
    await ServerReviews(
        server.url, headers={"X-Api-Key": "k", "Authorization": "Bearer t"}
    ).agates()
    assert {one["x-api-key"] for one in server.headers} == {"k"}
    assert {one["authorization"] for one in server.headers} == {"Bearer t"}


async def test_no_key_of_the_surroundings_is_sent(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server at any address must not get the key of another service."""
    monkeypatch.setenv("LANGSMITH_API_KEY", "secret")
    await ServerReviews(server.url).agates()
    assert not [one for one in server.headers if "secret" in one.values()]


@pytest.mark.parametrize(
    ("what", "status", "kind", "says"),
    [
        ("search", 401, ConfigError, "COLLECTION_SEARCH_SERVER_TOKEN"),
        ("search", 403, ConfigError, "does not accept this caller"),
        ("search", 404, InputError, "HTTP 404"),
        ("stream", 409, AlreadyDecidedError, "yours was not used"),
        ("stream", 422, InputError, "HTTP 422"),
        ("state", 500, InputError, "HTTP 500"),
    ],
)
async def test_refusals(
    server: Server, what: str, status: int, kind: type[Exception], says: str
) -> None:
    """Each is one sentence that says what to do, or what the server said."""
    server.refuses[what] = status
    with pytest.raises(kind, match=says):
        await ServerReviews(server.url).adecide("gate-1", {"status": "rejected"})


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500])
async def test_a_thread_without_a_state_is_no_review(server: Server, status: int) -> None:
    """A run whose input was not valid hides no other review."""
    server.failed, server.refuses["state"] = ["t0"], status
    reviews = ServerReviews(server.url)
    assert [gate.gate_id for gate in await reviews.agates()] == ["gate-1"]
    with pytest.raises(InputError, match="has no open review 'gate-2'"):
        await reviews.agate("gate-2")
    server.refuses["stream"] = 409
    assert await reviews.asweep() == []


async def test_a_caller_who_may_not_read_a_thread_is_told(server: Server) -> None:
    """A refusal of the caller is not taken for a thread without a review."""
    server.failed, server.refuses["state"] = ["t0"], 403
    with pytest.raises(ConfigError, match="does not accept this caller"):
        await ServerReviews(server.url).agates()


async def test_an_unknown_gate(server: Server) -> None:
    """Nothing is sent for it."""
    with pytest.raises(AlreadyDecidedError, match="has no open review 'gate-2'"):
        await ServerReviews(server.url).adecide("gate-2", {"status": "rejected"})
    assert server.resumed == []


@pytest.mark.parametrize(
    ("events", "kind", "says"),
    [
        (
            [("error", '{"error": "InputError", "message": "no such status"}')],
            InputError,
            "stays open: no such status",
        ),
        (
            [("error", '{"error": "ValidationError", "message": "of an older server"}')],
            InputError,
            "stays open: of an older server",
        ),
        (
            [
                ("custom", '{"type": "node_finished", "node": "k_hitl_gate"}'),
                ("error", '{"error": "ValidationError", "message": "later"}'),
            ],
            IngestError,
            "failed on the server",
        ),
        ([], AlreadyDecidedError, "Yours was not used"),
    ],
)
async def test_how_a_run_ends(
    server: Server, events: list[tuple[str, str]], kind: type[Exception], says: str
) -> None:
    """A refused decision, a run that fails after it, and an answer that the server ignored."""
    server.events = "".join(_event(*one) for one in events)
    with pytest.raises(kind, match=says):
        await ServerReviews(server.url).adecide("gate-1", {"status": "approved"})


async def test_a_sweep_goes_on_after_a_conflict(server: Server) -> None:
    """Somebody else answers the overdue review: it is left to them."""
    server.refuses["stream"] = 409
    assert await ServerReviews(server.url).asweep() == []
    assert len(server.headers) > 2


@pytest.mark.parametrize("address", ["127.0.0.1:2024", "ftp://a.example", ""])
def test_an_address_needs_its_scheme(address: str) -> None:
    with pytest.raises(ConfigError, match="is no address of a LangGraph server"):
        ServerReviews(address)


async def test_another_kind_of_server() -> None:
    """A page in place of JSON is no traceback."""
    app = web.Application()
    app.router.add_post("/threads/search", _page)
    async with TestServer(app) as running:
        with pytest.raises(ConfigError, match="does not answer as a LangGraph server"):
            await ServerReviews(f"http://127.0.0.1:{running.port}").agates()


async def _page(_: web.Request) -> web.Response:
    return web.Response(text="<html>", content_type="text/html")


async def test_nobody_listens() -> None:
    with closed_port() as port, pytest.raises(ConfigError, match="cannot be reached"):
        await ServerReviews(f"http://127.0.0.1:{port}").agates()


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
