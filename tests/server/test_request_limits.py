"""Headers, bodies and rates: what the middlewares add and refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI, Request  # noqa: TC002 - routes are made of their annotations
from support.server_app import app_with, client_of, issue, routes_of

from collection_search.server.access import Caller, Role
from collection_search.server.body_limit import MAX_BYTES, MAX_BYTES_OF_HOST
from collection_search.server.headers import POLICY
from collection_search.server.request_limits import RequestLimits
from collection_search.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.types import Receive, Scope, Send


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    app = app_with(monkeypatch)

    @app.post("/app/api/length")
    @app.post("/threads")
    async def length(request: Request) -> int:
        return len(await request.body())

    return app


async def test_the_page_loads_nothing_from_elsewhere(app: FastAPI) -> None:
    """Neither scripts nor frames; no answer of the API is kept; a refusal has the headers too."""
    async with client_of(app) as client:
        health = await client.get("/app/api/health")
        refused = await client.get("/app/api/health2", headers={"host": "evil.example"})
        hosts = await client.post("/threads")
    for answer in (health, refused):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
    for answer in (health, refused, hosts):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "strict-transport-security" not in answer.headers
    assert refused.status_code == 403
    assert "content-security-policy" not in hosts.headers
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'; script-src 'self';")


async def test_behind_tls_a_browser_keeps_to_it(app: FastAPI) -> None:
    """On plain HTTP the header would do harm: a machine without a certificate is out of reach."""
    async with client_of(app, base_url="https://localhost") as client:
        answer = await client.get("/app/api/health")
    assert answer.headers["strict-transport-security"].startswith("max-age=")


async def parts(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 4096):
        yield b"x" * 4096
    yield b"x" * (size % 4096)


@pytest.mark.parametrize(
    ("path", "limit"), [("/app/api/length", MAX_BYTES), ("/threads", MAX_BYTES_OF_HOST)]
)
async def test_a_body_has_a_limit(app: FastAPI, path: str, limit: int) -> None:
    """Whether its length is told or not; the last byte that is allowed is read."""
    async with client_of(app) as client:
        assert (await client.post(path, content=b"x" * limit)).json() == limit
        assert (await client.post(path, content=parts(limit))).json() == limit
        for body in (b"x" * (limit + 1), parts(limit + 1)):
            answer = await client.post(path, content=body)
            assert answer.status_code == 413
            assert "MiB" in answer.json()["error"]["message"]
        answer = await client.post(path, content=parts(9), headers={"content-length": "-9"})
        assert answer.status_code == 413


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


class Asked:
    """Requests through the middleware, with a caller that another one has found."""

    def __init__(self, settings: Settings) -> None:
        self.clock = Clock()
        self.limits = RequestLimits(answers, settings=settings, clock=self.clock)

    async def ask(
        self,
        tenant: str,
        path: str = "/app/api/me",
        method: str = "GET",
        role: Role = Role.reviewer,
    ) -> int:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope["state"] = {"caller": Caller(tenant, "ann", role)}
            await self.limits(scope, receive, send)

        async with client_of(app) as client:
            self.answer = await client.request(method, path)
        return self.answer.status_code

    async def start(self, tenant: str = "acme", path: str = "/app/api/runs") -> int:
        return await self.ask(tenant, path, "POST")


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(
        Settings(
            home=tmp_path,
            server_auth=True,
            server_requests_per_minute=30,
            server_runs_per_minute=2,
        )
    )


async def test_a_tenant_s_requests_have_a_limit(asked: Asked) -> None:
    """Its own alone; the answer says when to ask again, and then it works."""
    assert [await asked.ask("acme") for _ in range(30)] == [200] * 30
    assert await asked.ask("acme") == 429
    assert asked.answer.headers["retry-after"] == "2"
    assert asked.answer.json()["error"]["type"] == "TooManyRequests"
    assert await asked.ask("other") == 200
    asked.clock.now += 2
    assert [await asked.ask("acme"), await asked.ask("acme")] == [200, 429]


@pytest.mark.parametrize(
    "path",
    [
        "/app/api/runs", "/app/api/collections/py/ask", "/app/api/gates/g/decision",
        "/threads/t/runs", "/threads/t/runs/stream", "/runs/wait", "/runs/batch", "/mcp", "/mcp/",
        "/a2a/some",
    ],
)  # fmt: skip
async def test_runs_have_a_limit_of_their_own(asked: Asked, path: str) -> None:
    """By whatever path they start; reading goes on."""
    assert [await asked.start(path=path) for _ in range(3)] == [200, 200, 429]
    assert asked.answer.headers["retry-after"] == "30"
    assert await asked.ask("acme") == 200
    assert await asked.start(path="/app/api/runs/some/cancel") == 200


async def test_a_forbidden_run_is_no_run_of_the_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer may ask a collection; what else he tries leaves the minute's run to others."""
    app = app_with(
        monkeypatch, SERVER_AUTH="true", SERVER_RUNS_PER_MINUTE="1", SERVER_REQUESTS_PER_MINUTE="90"
    )
    viewer, reviewer = issue("vic", Role.viewer), issue("ann", Role.reviewer)
    posts = [path for method, path in routes_of(app) if method == "POST"]
    async with client_of(app, viewer) as vic, client_of(app, reviewer) as ann:
        codes = {path: (await vic.post(path)).status_code for path in posts}
        assert {path: code for path, code in codes.items() if code != 403} == {
            "/app/api/estimate": 415,
            "/app/api/collections/some/ask": 415,
        }
        assert (await ann.post("/app/api/runs")).status_code == 429


async def test_a_viewer_does_not_use_up_the_runs(asked: Asked) -> None:
    """Questions to a collection are his; the rest is refused, and counts as a request alone."""
    for path in ("/app/api/runs", "/threads/t/runs/stream", "/a2a/some"):
        codes = [await asked.ask("acme", path, "POST", Role.viewer) for _ in range(3)]
        assert codes == [200] * 3  # the middleware passes it on, and the route refuses it
    assert [await asked.start() for _ in range(3)] == [200, 200, 429]
    question = "/app/api/collections/py/ask"
    codes = [await asked.ask("other", question, "POST", Role.viewer) for _ in range(3)]
    assert codes == [200, 200, 429]


async def test_the_operator_is_not_limited(tmp_path: Path) -> None:
    """Without tokens there are no tenants to keep apart."""
    asked = Asked(Settings(home=tmp_path, server_runs_per_minute=1))
    assert [await asked.start() for _ in range(3)] == [200] * 3
