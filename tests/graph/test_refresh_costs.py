"""What asking a collection's questions again costs, and with which embedder they are ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import SEARCH_USD, PaidWorld

from collection_search import refresh
from collection_search.contracts.collection import QuestionRecord, TenantScope
from collection_search.runtime.concurrency import run_blocking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCOPE = TenantScope("local", "living")
EMBEDDER = "openai:text-embedding-3-small"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    """With a collection that two questions fill, from a score on that no page reaches."""
    with PaidWorld(tmp_path) as running:
        store = run_blocking(running.context().storage()).collections
        store.bind_embedder(SCOPE, EMBEDDER)
        for text in ("How does asyncio work?", "How do tasks end?"):
            store.remember_question(
                SCOPE, QuestionRecord(question=text, purpose="docs", auto_ingest_min_score=100.0)
            )
        yield running


def refreshed(world: PaidWorld, settings: dict[str, Any] | None = None, **choices: Any) -> Any:
    return refresh("living", context=world.context(settings, **choices), timeout_s=0)


@pytest.mark.slow
def test_a_refresh_tells_what_it_cost(world: PaidWorld) -> None:
    """The sum over its questions, and who was asked."""
    report = refreshed(world)
    assert [asked.provider for asked in report.questions] == ["tavily", "tavily"]
    assert report.cost_complete
    assert report.cost_usd == pytest.approx(sum(asked.cost_usd for asked in report.questions))
    assert report.cost_usd > len(world.searches) * SEARCH_USD > 0
    assert report.model_dump()["cost_usd"] == report.cost_usd


@pytest.mark.slow
def test_the_ceiling_is_for_all_questions(world: PaidWorld) -> None:
    """The second question gets what the first has left."""
    alone = refreshed(world).questions[0].cost_usd
    world.forget()
    report = refreshed(world, max_cost_usd=alone + 0.001)
    assert report.cost_usd <= alone + 0.001
    first, second = report.questions
    assert first.outcome != "search_failed" == second.outcome
    assert "ceiling" in str(second.error)


@pytest.mark.slow
def test_pages_are_ranked_as_the_collection_was_filled(world: PaidWorld) -> None:
    """Also where the settings name no model; one that is chosen for the refresh stands."""
    refreshed(world, {"embeddings": "lexical"})
    assert len(world.embedded) == 2
    world.forget()
    refreshed(world, embeddings="lexical")
    assert world.embedded == []
