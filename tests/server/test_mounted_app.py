"""The app mounted in another one, which has to run its lifespan."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI
from support.scripted_world import INPUT, good_pages
from support.server_app import client_of

from collection_search import SearchContext
from collection_search.server.app import create_app
from collection_search.testing import ScriptedAdapter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

API = "/cs/app/api"


@pytest.fixture
def app() -> FastAPI:
    return create_app(SearchContext(provider=ScriptedAdapter(good_pages())))


@asynccontextmanager
async def started(host: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Start the host alone, as a server does."""
    async with host.router.lifespan_context(host), client_of(host, timeout=60) as client:
        yield client


async def test_an_app_that_nobody_starts_says_so(app: FastAPI) -> None:
    """Starlette runs the lifespan of no mounted app; the health is no `ok` then."""
    host = FastAPI()
    host.mount("/cs", app)
    async with started(host) as client:
        health = await client.get(f"{API}/health")
        refused = await client.post(f"{API}/runs", json={"input": INPUT})
    for answer in (health, refused):
        assert answer.status_code == 503
        assert "async with app.router.lifespan_context(app)" in answer.json()["error"]["message"]


async def test_a_host_starts_it_in_its_own_lifespan(app: FastAPI) -> None:
    """As the documentation says; its runs are executed then."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with app.router.lifespan_context(app):
            yield

    host = FastAPI(lifespan=lifespan)
    host.mount("/cs", app)
    async with started(host) as client:
        assert (await client.get(f"{API}/health")).json()["status"] == "ok"
        run = (await client.post(f"{API}/runs", json={"input": INPUT})).json()
        events = await client.get(f"{API}/runs/{run['run_id']}/events")
        ended = (await client.get(f"{API}/runs/{run['run_id']}")).json()
    assert "event: end" in events.text
    assert ended["status"] == "done"
