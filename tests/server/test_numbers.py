"""Numbers in requests: what no store could take is refused, and an empty header is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.api_client import put_page
from support.scripted_world import INPUT, good_pages
from support.served_runs import API, Served, served

from collection_search import SearchContext
from collection_search.testing import RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx

    from collection_search import Settings

TOO_LARGE = ["9007199254740992", str(1 << 63), str(10**20), "9" * 5000]


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[Served]:
    adapter = ScriptedAdapter(good_pages())
    context = SearchContext(provider=adapter, settings=settings, trigger=RecordingTrigger())
    async with served(context) as server:
        yield server


@pytest.mark.parametrize("path", ["/gates", "/collections/docs/documents"])
@pytest.mark.parametrize("number", [*TOO_LARGE, "-1"])
async def test_an_offset_that_no_list_has_is_refused(
    api: httpx.AsyncClient, path: str, number: str
) -> None:
    put_page("https://example.com/tea", "tea")
    answer = await api.get(path, params={"offset": number})
    assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (422, "offset")
    assert (await api.get(path, params={"offset": (1 << 53) - 1})).status_code == 200


@pytest.mark.parametrize("number", TOO_LARGE)
async def test_an_event_that_no_run_has_is_refused(server: Served, number: str) -> None:
    """As a parameter and as a header."""
    run = await server.start(**INPUT)
    path = f"{API}/runs/{run['run_id']}/events"
    for options in ({"params": {"after": number}}, {"headers": {"Last-Event-ID": number}}):
        assert (await server.client.get(path, **options)).status_code == 422


async def test_an_empty_header_is_the_beginning(server: Served) -> None:
    """A client that got events without numbers sends it."""
    run = await server.start(**INPUT)
    whole = await server.events(run["run_id"])
    assert await server.events(run["run_id"], headers={"Last-Event-ID": ""}) == whole
