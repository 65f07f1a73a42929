"""Who reaches the routes of the app: nobody without a token, once tokens are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from support.scripted_world import INPUT, good_pages
from support.served_runs import API, served
from support.server_app import app_with, client_of, issue, routes_of

from collection_search import SearchContext, Settings
from collection_search.errors import ConfigError
from collection_search.server.access import Admin, Caller, Reviewer, Role, Viewer
from collection_search.server.app import create_app
from collection_search.server.authentication import HEALTH
from collection_search.settings.access_tokens import AccessTokens
from collection_search.settings.process_defaults import process_settings
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = "cs_" + "x" * 43
OPEN = {
    ("GET", "/app/api/health"): 503,  # it has not started
    ("HEAD", "/app/api/health"): 405,
    ("GET", "/app"): 307,
    ("GET", "/app/some"): 404,
}
"""What is open, the page's files among it, and its status."""


def seen(caller: Caller) -> dict[str, str]:
    return {"tenant": caller.tenant, "user": caller.user, "role": caller.role.name}


def with_probes(app: FastAPI) -> FastAPI:
    """Add routes, as a later developer would: one of them forgets to ask who calls."""

    @app.get("/app/api/probe")
    async def read(caller: Viewer) -> dict[str, str]:
        return seen(caller)

    @app.post("/app/api/probe")
    async def write(caller: Reviewer) -> dict[str, str]:
        return seen(caller)

    @app.delete("/app/api/probe")
    async def delete(caller: Admin) -> dict[str, str]:
        return seen(caller)

    @app.get("/app/api/forgotten")
    @app.post("/elsewhere")
    async def forgotten() -> str:
        return "secret"

    return app


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    """Return the app whose callers need a token."""
    return with_probes(app_with(monkeypatch, SERVER_AUTH="true"))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": f"Bearer {UNKNOWN}"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer ../../settings"},
        {"authorization": "Basic YWRtaW46YWRtaW4="},
        {"x-auth-scheme": "langsmith", "x-api-key": "some"},
        {"cookie": f"token={UNKNOWN}"},
    ],
    ids=["none", "unknown", "empty", "a path", "basic", "studio", "cookie"],
)
async def test_every_route_is_closed_without_a_token(
    app: FastAPI, headers: Mapping[str, str]
) -> None:
    """Also those that forgot to ask, the description of the API, and paths that do not exist."""
    issue("ann", Role.admin)
    routes = {*routes_of(app), ("GET", "/none"), ("POST", "/app"), ("PUT", "/app/api/health")}
    assert {("GET", "/app/api/openapi.json"), ("POST", "/app/api/runs")} <= routes
    async with client_of(app) as client:
        for method, path in routes - OPEN.keys():
            answer = await client.request(method, path, headers=headers)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "secret" not in answer.text
        for (method, path), status in OPEN.items():
            assert (await client.request(method, path, headers=headers)).status_code == status


async def test_a_question_of_a_browser_gets_no_answer_of_a_route(app: FastAPI) -> None:
    """The question before a request to another origin is passed on, and no route answers it."""
    asked = {"origin": "https://other.example", "access-control-request-method": "POST"}
    async with client_of(app) as client:
        for path in ("/app/api/probe", "/elsewhere"):
            assert (await client.options(path, headers=asked)).status_code == 405


@pytest.mark.parametrize("path", ["/app/api", "/app/api/", "/app/api//me", "/app//api/me"])
async def test_odd_paths_read_nothing(app: FastAPI, path: str) -> None:
    """A path is open as the router understands it, and not as it looks."""
    async with client_of(app) as client:
        assert (await client.get(path)).status_code in {401, 404}


async def test_a_web_socket_needs_a_token_too(app: FastAPI) -> None:
    """A LangGraph server has one; it is closed before it is accepted."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "websocket", "path": "/threads/some/stream", "headers": [], "query_string": b"",
        "scheme": "ws", "subprotocols": [],
    }  # fmt: skip
    await app(scope, receive, send)
    assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 1008)]


async def test_the_caller_is_whom_the_token_stands_for(app: FastAPI) -> None:
    """Neither header, query nor body changes the tenant."""
    token = issue("ann", Role.reviewer)
    async with client_of(app, token) as client:
        answer = await client.post(
            "/app/api/probe?tenant=evil",
            headers={"x-tenant": "evil"},
            json={"tenant": "evil", "tenant_id": "evil"},
        )
    assert answer.json() == {"tenant": "acme", "user": "ann", "role": "reviewer"}


@pytest.mark.parametrize(
    ("role", "codes"),
    [(Role.viewer, [200, 403, 403]), (Role.reviewer, [200, 200, 403]), (Role.admin, [200] * 3)],
)
async def test_a_role_allows_what_it_says(app: FastAPI, role: Role, codes: list[int]) -> None:
    """A viewer reads, a reviewer also acts, an admin also deletes."""
    async with client_of(app, issue("ann", role)) as client:
        answers = [
            await client.request(method, "/app/api/probe") for method in ("GET", "POST", "DELETE")
        ]
    assert [answer.status_code for answer in answers] == codes


async def test_a_removed_token_is_refused_at_once(app: FastAPI) -> None:
    """Without a restart, and while the other tokens stay valid."""
    first, second = issue("ann", Role.admin), issue("bob", Role.admin)
    tokens = AccessTokens(process_settings().home)
    async with client_of(app, first) as ann, client_of(app, second) as bob:
        assert (await ann.get("/app/api/probe")).status_code == 200
        (found,) = [one for one in tokens.every() if one.user == "ann"]
        assert tokens.remove([found.token_id]) == 1
        assert (await ann.get("/app/api/probe")).status_code == 401
        assert (await bob.get("/app/api/probe")).status_code == 200


async def test_a_viewer_runs_no_graph_as_a_tool(app: FastAPI) -> None:
    """The paths by which a LangGraph server's graphs are tools only run them."""
    async with client_of(app, issue("vic", Role.viewer)) as client:
        for path in ("/mcp", "/mcp/", "/a2a/some"):
            assert (await client.post(path)).status_code == 403
    async with client_of(app, issue("ann", Role.reviewer)) as client:
        assert (await client.post("/mcp")).status_code == 404  # here it is no LangGraph server


async def test_without_tokens_everybody_is_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default: one person on this machine."""
    app = with_probes(app_with(monkeypatch, TENANT="mine"))
    async with client_of(app) as client:
        answer = await client.delete("/app/api/probe")
    assert answer.json() == {"tenant": "mine", "user": "local", "role": "admin"}


async def test_the_tenant_of_the_app_s_context_is_everybody_s() -> None:
    """Without tokens: its runs and collections belong to it, and its admin is the operator."""
    provider = ScriptedAdapter(good_pages())
    async with served(SearchContext(tenant_id="acme", provider=provider)) as app:
        me = (await app.client.get(f"{API}/me")).json()
        run = await app.start(**INPUT)
        await app.end_of(run["run_id"])
        found = [run.run_id for run in await app.runs.recent("acme", limit=9)]
        settings = (await app.client.get(f"{API}/settings")).json()
    assert (me["tenant"], me["operator"]) == ("acme", True)
    assert found == [run["run_id"]]
    assert settings["tenant"] == "acme"


async def test_a_tenant_of_the_context_is_refused_with_tokens() -> None:
    """Each token names one, so this one would be ignored."""
    settings = Settings(server_auth=True)
    with pytest.raises(ConfigError, match="Leave out tenant_id"):
        create_app(SearchContext(tenant_id="acme", settings=settings))
    create_app(SearchContext(settings=settings))


async def test_a_route_asks_although_the_middleware_is_missing() -> None:
    """An app that someone else put together is closed as well."""
    app = with_probes(FastAPI())
    async with client_of(app) as client:
        assert (await client.get("/app/api/probe")).status_code == 401


def test_health_is_all_that_is_open() -> None:
    """Who opens a path changes this test."""
    assert {"/app/api/health", "/ok"} == HEALTH
