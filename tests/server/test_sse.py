"""Streams of events: how one ends that fails, or whose caller is not one any more."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from support.scripted_world import INPUT
from support.served_runs import API, Event, Served, read_events
from support.server_app import app_with, client_of, issue
from support.waiting import wait_until_async

from collection_search.errors import StoreError
from collection_search.server import sse
from collection_search.server.places import Places
from collection_search.server.sse import KEEP_ALIVE, stream_events, write_event
from collection_search.settings.access_tokens import AccessTokens, Role
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from collection_search import Settings

SECRET = "sk-proj-abcdefgh12345678"


async def _always() -> bool:
    return True


async def _failing(error: Exception) -> AsyncGenerator[str, None]:
    yield write_event("status", {"count": 1})
    raise error


async def _sent(
    events: AsyncGenerator[str, None], is_allowed: Any = _always, places: Places | None = None
) -> list[Event]:
    answer = stream_events(events, is_allowed, places or Places())
    parts = [str(part) async for part in answer.body_iterator]
    return read_events("".join(parts))


async def test_a_store_that_fails_is_the_last_event() -> None:
    """In the API's form of errors, and without secrets."""
    first, last = await _sent(_failing(StoreError(f"The disk is full: api_key={SECRET}.")))
    assert first.kind == "status"
    message = "The disk is full: api_key=[secret]"
    assert last == Event(None, "error", {"error": {"type": "StoreError", "message": message}})


async def test_the_last_event_names_no_place(settings: Settings) -> None:
    """An answer that has begun ends as one that has not."""
    failing = _failing(StoreError(f"{settings.home}/collections.db is damaged."))
    *_, last = await _sent(failing, places=Places(settings))
    assert last.data["error"]["message"] == "(data folder)/collections.db is damaged."


async def test_an_unexpected_error_tells_an_id_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Under which the log has it."""
    *_, last = await _sent(_failing(KeyError(f"api_key={SECRET}")))
    error = last.data["error"]
    assert (last.kind, error["type"]) == ("error", "InternalError")
    assert error["message"].split()[-1].strip(".") in caplog.text
    assert SECRET not in caplog.text + str(last)


async def test_a_caller_is_looked_up_with_each_sign_of_life() -> None:
    """And the source of the events is closed when he is none any more."""
    answers, is_closed = iter([True, False]), False

    async def still_allowed() -> bool:
        return next(answers)

    async def quiet() -> AsyncGenerator[str, None]:
        nonlocal is_closed
        try:
            for n in itertools.count():
                yield write_event("status", {"n": n})
                yield KEEP_ALIVE
        finally:
            is_closed = True

    assert [one.data["n"] for one in await _sent(quiet(), still_allowed)] == [0, 1]
    assert is_closed


async def test_a_busy_stream_looks_its_caller_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no signs of life beside its events."""
    monkeypatch.setattr(sse, "KEEP_ALIVE_S", 0)

    async def never() -> bool:
        return False

    async def busy() -> AsyncGenerator[str, None]:
        while True:
            yield write_event("status", {})

    assert await _sent(busy(), never) == []


@pytest.mark.usefixtures("offline_index")
async def test_a_removed_token_ends_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on."""
    for module in ("sse", "runs.event_stream"):
        monkeypatch.setattr(f"collection_search.server.{module}.KEEP_ALIVE_S", 0.0)
    monkeypatch.setattr("collection_search.server.runs.event_stream.LOOK_S", 0.01)
    app = app_with(monkeypatch, SERVER_AUTH="true", PROVIDER="offline")
    token = issue("ann", Role.reviewer)
    async with app.router.lifespan_context(app), client_of(app, token) as client:
        ask = {"graph": "collection_review", "input": INPUT}
        run = (await client.post(f"{API}/runs", json=ask)).json()
        path = f"{API}/runs/{run['run_id']}"
        following = asyncio.create_task(client.get(f"{path}/events"))
        runs = Served(app, client).runs
        await wait_until_async(
            lambda: getattr(runs.store.get("acme", run["run_id"]), "status", "") == "waiting"
        )
        assert not following.done()
        tokens = AccessTokens(process_settings().home)
        tokens.remove(one.token_id for one in tokens.every())
        answer = await asyncio.wait_for(following, 60)
        assert "end" not in [one.kind for one in read_events(answer.text)]
        assert (await client.get(path)).status_code == 401
