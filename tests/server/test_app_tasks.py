"""Work that outlives its request: logged when it fails, and ended with the app."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from support.api_client import put_page
from support.served_runs import API, served
from support.waiting import wait_until_async

from collection_search import SearchContext
from collection_search.errors import StoreError
from collection_search.server.app_tasks import AppTasks
from collection_search.server.refreshes import Refreshes
from collection_search.settings.process_defaults import process_settings

if TYPE_CHECKING:
    from collection_search import Settings

SECRET = "sk-proj-abcdefgh12345678"


class HangingRefresh:
    """Stands in for a refresh, and ends only when it is given up."""

    def __init__(self) -> None:
        self.begun, self.given_up = 0, 0

    async def __call__(self, *_: Any, **__: Any) -> None:
        self.begun += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise


async def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("error", [StoreError(f"api_key={SECRET}"), KeyError(f"api_key={SECRET}")])
async def test_a_failure_that_nobody_awaits_is_logged(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """Under the name of the work and without secrets; asyncio has nothing to add."""
    gc.collect()  # what others left is told now
    caplog.clear()
    tasks = AppTasks()
    task = tasks.begin(_raise(error), name="refresh of docs")
    await asyncio.wait([task])
    del task
    gc.collect()
    await asyncio.sleep(0)
    (record,) = caplog.records
    assert "refresh of docs failed" in record.getMessage()
    assert SECRET not in caplog.text
    await tasks.close()


async def test_tasks_end_with_the_app() -> None:
    """Those that run are given up; another app's go on."""
    mine, other = HangingRefresh(), HangingRefresh()
    tasks, others = AppTasks(), AppTasks()
    tasks.begin(mine(), name="mine")
    others.begin(other(), name="other")
    await asyncio.sleep(0)
    await tasks.close()
    assert (mine.given_up, other.given_up) == (1, 0)
    await others.close()


async def test_a_refresh_ends_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller has left, and the server does not wait for its end."""
    refresh = HangingRefresh()
    monkeypatch.setattr("collection_search.graphs.refresh.arefresh", refresh)
    async with served(SearchContext(settings=process_settings())) as server:
        put_page("https://example.com/tea", "tea", tenant="local")
        path = f"{API}/collections/docs/refresh"
        asking = asyncio.create_task(server.client.post(path, json={}))
        await wait_until_async(lambda: refresh.begun)
        asking.cancel()
        assert (await server.client.get(path)).json()["status"] == "running"
    assert refresh.given_up == 1


async def test_two_apps_have_refreshes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """A collection of the same name is refreshed by each."""
    refresh = HangingRefresh()
    monkeypatch.setattr("collection_search.graphs.refresh.arefresh", refresh)
    tasks = AppTasks()
    context = SearchContext(settings=settings)
    one, two = Refreshes(tasks), Refreshes(tasks)
    asking = asyncio.create_task(one.run(context, "docs", ask=False, crawl=False))
    await wait_until_async(lambda: refresh.begun)
    tenant = context.tenant()
    assert (one.state(tenant, "docs").status, two.state(tenant, "docs").status) == (
        "running",
        "none",
    )
    await tasks.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
