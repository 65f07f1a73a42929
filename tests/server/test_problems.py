"""Errors as answers: in our form on our paths, in the host's form on all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from support.api_client import ONE, TWO

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.postgres.store_errors import server_of
from collection_search.errors import StoreError
from collection_search.server.access import Caller, Role
from collection_search.server.problems import answer_problems

if TYPE_CHECKING:
    import httpx


@pytest.mark.parametrize(
    ("path", "key"), [("/app/api/nothing", "error"), ("/threads/nothing", "detail")]
)
def test_a_path_that_nobody_has(path: str, key: str) -> None:
    """The app of a LangGraph server has further paths, and their clients read its own form."""
    app = FastAPI()
    answer_problems(app)
    answer = TestClient(app).get(path)
    assert answer.status_code == 404
    assert list(answer.json()) == [key]


@pytest.mark.parametrize(
    "kind",
    ["application/x-www-form-urlencoded", "text/plain", "text/json", "application/jsonx", ""],
)
async def test_a_body_that_is_not_called_json(api: httpx.AsyncClient, kind: str) -> None:
    """The header is what is wrong, not the input."""
    headers = {"content-type": kind}
    body = b'{"question": "why?"}'
    answer = await api.post("/collections/docs/coverage", content=body, headers=headers)
    assert answer.status_code == 415
    assert "Content-Type: application/json" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/a+json",
    ],
)
async def test_a_body_that_is_called_json(api: httpx.AsyncClient, kind: str) -> None:
    """Types have no case; what is wrong is the input then."""
    answer = await api.post(
        "/collections/docs/coverage", content=b'{"question": 3}', headers={"content-type": kind}
    )
    assert answer.status_code == 422
    assert answer.json()["error"]["fields"][0]["field"] == "question"


async def test_a_body_that_is_no_json(api: httpx.AsyncClient) -> None:
    """It is told as a whole, with the place of the mistake, and names no field."""
    headers = {"content-type": "application/json"}
    answer = await api.post("/runs", content=b'{"input": ', headers=headers)
    said = "The body is not valid JSON: Expecting value, at character 10."
    assert answer.status_code == 400
    assert answer.json() == {"error": {"type": "BadRequest", "message": said}}


@pytest.mark.parametrize(("tenant", "is_told"), [(ONE, True), (TWO, False)])
@pytest.mark.usefixtures("operated_by_one")
async def test_only_the_operator_reads_where_the_store_is(
    tenant: str, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    """That the database cannot be used is told to everybody."""
    url = "postgresql://me:hidden@127.0.0.1:5433/collections"
    monkeypatch.setenv("COLLECTION_SEARCH_DATABASE_URL", url)
    settings = Settings()
    error = StoreError(f"The database {server_of(url)} in {settings.home} is down.")
    app = FastAPI()
    answer_problems(app)
    app.state.context = SearchContext(settings=settings)

    @app.get("/app/api/fails")
    async def fail(request: Request) -> None:
        request.state.caller = Caller(tenant, "ann", Role.admin)
        raise error

    answer = TestClient(app).get("/app/api/fails")
    said = answer.json()["error"]["message"]
    assert answer.status_code == 503
    assert (said == str(error)) is is_told
    if not is_told:
        assert said == "The database of this server in (data folder) is down."


def test_wrong_settings_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nobody can be known as the operator then."""
    monkeypatch.setenv("COLLECTION_SEARCH_MAX_COST_USD", "abc")
    app = FastAPI()
    answer_problems(app)
    app.state.context = SearchContext()

    @app.get("/app/api/fails")
    async def fail() -> None:
        app.state.context.using()

    answer = TestClient(app).get("/app/api/fails")
    assert answer.status_code == 400
    assert "COLLECTION_SEARCH_MAX_COST_USD: give a number" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("/collections/docs/ask", '"x"', "body", "give a map of names and values"),
        ("/collections/docs/ask", '{"question": "a", "kk": 3}', "kk", "there is no such field"),
        ("/collections/docs/coverage", '{"questions": "a"}', "questions", "there is no such field"),
        ("/gates/gate-1/decision", '{"status": "approved", "approved_url": []}', "approved_url",
         "there is no such field"),
    ],
)  # fmt: skip
async def test_what_is_no_part_of_a_request_is_named(
    api: httpx.AsyncClient, path: str, body: str, field: str, message: str
) -> None:
    """A name with a typing error would be a choice that is not made."""
    answer = await api.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert {"field": field, "message": message} in answer.json()["error"]["fields"]
