"""News of runs: everybody who waits is woken, and nothing is kept of who waits no more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from support.scripted_world import INPUT, good_pages
from support.served_runs import served

from collection_search import SearchContext
from collection_search.server.runs.changes import Changes, wait_for
from collection_search.testing import RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    from collection_search import Settings


async def test_a_change_wakes_all_who_watch_the_run() -> None:
    """Those of another run sleep on."""
    changes = Changes()
    with changes.watch("a") as first, changes.watch("a") as second, changes.watch("b") as other:
        changes.tell("a")
        assert (first.is_set(), second.is_set(), other.is_set()) == (True, True, False)
        changes.close()
        assert other.is_set()
    assert not changes._waiting


async def test_a_change_before_the_wait_is_not_missed() -> None:
    changes = Changes()
    with changes.watch("a") as changed:
        changes.tell("a")
        await asyncio.wait_for(wait_for(changed, 60), 30)


async def test_nothing_is_left_of_streams_that_ended(settings: Settings) -> None:
    """Of those that saw the run's end, and of those that came after it."""
    adapter = ScriptedAdapter(good_pages())
    context = SearchContext(provider=adapter, settings=settings, trigger=RecordingTrigger())
    async with served(context) as server:
        run = await server.start(**INPUT)
        for _ in range(2):
            await server.end_of(run["run_id"])
        assert not server.runs.changes._waiting
