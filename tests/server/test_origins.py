"""Other websites and other names: what a browser on this machine may send to a server without tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.server_app import app_with, client_of, issue

from collection_search.server.access import Role

if TYPE_CHECKING:
    from fastapi import FastAPI

STUDIO = "https://smith.langchain.com"


def with_deeds(app: FastAPI) -> FastAPI:
    @app.api_route("/app/api/deed", methods=["GET", "POST"])
    @app.api_route("/threads", methods=["GET", "POST"])
    async def act() -> str:
        return "done"

    return app


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    """Return the app without tokens."""
    return with_deeds(app_with(monkeypatch, SERVER_ALLOWED_HOSTS="search.intra,other.intra"))


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("page.localhost", 200),
        ("SEARCH.intra:8080", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.168.1.7", 403),
        ("localhost@evil.example", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
async def test_a_name_that_leads_here_is_not_enough(app: FastAPI, host: str, code: int) -> None:
    """DNS rebinding: the name of another website that suddenly means this machine."""
    async with client_of(app) as client:
        for path in ("/app/api/deed", "/threads"):
            assert (await client.get(path, headers={"host": host})).status_code == code
        health = await client.get("/app/api/health", headers={"host": host})
        assert health.status_code == 503  # it has not started


@pytest.mark.parametrize(
    ("origin", "ours", "host_s"),
    [
        ("http://localhost:8000", 200, 200),
        ("https://search.intra", 200, 200),
        (STUDIO, 403, 200),
        ("http://localhost:3000", 403, 200),
        ("https://evil.example", 403, 403),
        ("http://smith.langchain.com", 403, 403),
        (STUDIO + ".evil.example", 403, 403),
        ("null", 403, 403),
        ("http://[", 403, 403),
    ],
)
async def test_another_website_changes_and_reads_nothing(
    app: FastAPI, origin: str, ours: int, host_s: int
) -> None:
    """Studio and pages of this machine reach a LangGraph server's paths, and none of ours."""
    async with client_of(app) as client:
        for method in ("GET", "POST"):
            for path, code in (("/app/api/deed", ours), ("/threads", host_s)):
                answer = await client.request(method, path, headers={"origin": origin})
                assert answer.status_code == code, (method, path)
                assert ("done" in answer.text) == (code == 200)


@pytest.mark.parametrize(
    ("method", "site", "mode", "code"),
    [
        ("POST", "cross-site", "no-cors", 403),
        ("POST", "same-site", "no-cors", 403),
        ("POST", "cross-site", "navigate", 403),
        ("GET", "cross-site", "no-cors", 403),
        ("GET", "cross-site", "navigate", 200),
        ("POST", "same-origin", "cors", 200),
        ("POST", "none", "navigate", 200),
    ],
)
async def test_a_request_without_origin_is_judged_by_its_site(
    app: FastAPI, method: str, site: str, mode: str, code: int
) -> None:
    """A link to the page works; a form, an image and a script of another website do not."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
    async with client_of(app) as client:
        assert (await client.request(method, "/threads", headers=headers)).status_code == code


async def test_with_tokens_only_named_hosts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """No browser sends a token by itself, so a foreign origin does no harm."""
    app = with_deeds(app_with(monkeypatch, SERVER_AUTH="true"))
    async with client_of(app, issue("ann", Role.reviewer)) as client:
        headers = {"host": "search.example", "origin": "https://app.example"}
        assert (await client.post("/app/api/deed", headers=headers)).status_code == 200
    named = with_deeds(
        app_with(monkeypatch, SERVER_AUTH="true", SERVER_ALLOWED_HOSTS="search.example")
    )
    async with client_of(named, issue("bob", Role.reviewer)) as client:
        assert (await client.post("/app/api/deed", headers=headers)).status_code == 200
        assert (await client.post("/app/api/deed")).status_code == 403
