"""A review graph on doubles of the web, with a real store whose clock moves on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langgraph.types import Command
from support.scripted_world import INPUT, good_pages

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.graphs.collection_review import CollectionReviewGraph
from collection_search.testing import FakeClock, RecordingSink, RecordingTrigger, ScriptedAdapter

if TYPE_CHECKING:
    from pathlib import Path

    from langgraph.graph.state import CompiledStateGraph

DAY_S = 86_400.0
ADDED = "https://added.example.org/by-hand"


@dataclass
class ReviewWorld:
    """Everything that a run of the review graph touches."""

    folder: Path
    policy: str = "approve"
    clock: FakeClock = field(default_factory=FakeClock)
    sink: RecordingSink = field(default_factory=RecordingSink)
    trigger: RecordingTrigger = field(default_factory=RecordingTrigger)
    adapter: ScriptedAdapter = field(default_factory=lambda: ScriptedAdapter(good_pages()))

    def __post_init__(self) -> None:
        self.store = SQLiteStore(self.folder / "collections.db", clock=self.clock.time)
        settings = Settings(home=self.folder, gate_policy=self.policy, coverage_timeout_s=0.01)  # type: ignore[arg-type]
        self.context = SearchContext(
            provider=self.adapter,
            settings=settings,
            spans=self.sink,
            trigger=self.trigger,
            store=self.store,
        )

    def facade(self, **ports: Any) -> CollectionReviewGraph:
        return CollectionReviewGraph(self.context.model_copy(update=ports))

    def ingested(self) -> list[str]:
        """Addresses that were handed over for ingestion, in order."""
        return [item.url for request in self.trigger.requests for item in request.items]


@dataclass
class Thread:
    """One thread of a graph with a checkpointer."""

    graph: CompiledStateGraph[Any, Any, Any, Any]
    context: Any
    durability: Any = "sync"
    config: Any = field(default_factory=lambda: {"configurable": {"thread_id": "thread"}})

    async def start(self, given: Any = INPUT) -> Any:
        """Run to the gate and return what LangGraph returns."""
        return await self._run(given)

    async def answer(self, **decision: Any) -> Any:
        """Resume with a decision."""
        return await self._run(Command(resume=decision))

    async def _run(self, given: Any) -> Any:
        return await self.graph.ainvoke(
            given,
            self.config,
            context=self.context,
            durability=self.durability,
            version="v2",
        )
