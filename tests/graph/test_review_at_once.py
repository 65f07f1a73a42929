"""Equal decisions at once: one resumes the run, the other is told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from support.scripted_world import INPUT, good_pages

from collection_search import CollectionReviewGraph, SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.errors import InputError
from collection_search.testing import FakeClock, RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 86_400.0


class World:
    """Facades of several processes over one data folder, with a clock of their own."""

    def __init__(self, home: Path) -> None:
        self.clock = FakeClock()
        self.trigger = RecordingTrigger()
        self.store = SQLiteStore(home / "collections.db", clock=self.clock.time)
        self._home = home

    def facade(self) -> CollectionReviewGraph:
        return CollectionReviewGraph(
            SearchContext(
                provider=ScriptedAdapter(good_pages()),
                settings=Settings(home=self._home),
                trigger=self.trigger,
                store=self.store,
            )
        )


async def test_the_same_answer_twice(tmp_path: Path) -> None:
    """A double click, in the same second: the pages are handed over once."""
    world = World(tmp_path)
    request = (await world.facade().arun(INPUT))["request"]
    assert request is not None
    both = await asyncio.gather(
        *(world.facade().adecide(request["gate_id"], {"status": "approved"}) for _ in range(2)),
        return_exceptions=True,
    )
    assert [isinstance(one, InputError) for one in both].count(True) == 1, both
    assert len(world.trigger.requests) == 1


async def test_two_sweeps_at_once(tmp_path: Path) -> None:
    """Two workers start together: the run of an overdue gate is resumed by one of them."""
    world = World(tmp_path)
    await world.facade().arun(INPUT)
    world.clock.advance(2 * DAY_S)
    both = await asyncio.gather(world.facade().asweep(), world.facade().asweep())
    assert sorted(map(len, both)) == [0, 1]
    assert len(world.trigger.requests) == 1


async def test_a_run_that_was_just_decided_is_not_taken_for_dead(tmp_path: Path) -> None:
    """However long the deadline of a decided gate is past: an hour counts from its decision."""
    world = World(tmp_path)
    request = (await world.facade().arun(INPUT))["request"]
    assert request is not None
    world.clock.advance(2 * DAY_S)
    gates = world.store.gates
    (gate,) = gates.unfinished()
    gates.decide(gate.tenant_id, gate.gate_id, _by_deadline(gate.gate_id))
    assert await world.facade().asweep() == []
    world.clock.advance(2 * 3600)
    assert len(await world.facade().asweep()) == 1


def _by_deadline(gate_id: str) -> dict[str, object]:
    return {
        "gate_id": gate_id,
        "status": "rejected",
        "approved_urls": [],
        "added_urls": [],
        "approver": None,
        "decided_by": "deadline",
        "comment": None,
        "decided_at": "2000-01-01T00:00:00Z",
        "deadline": "2000-01-01T00:00:00Z",
        "round": 1,
    }
