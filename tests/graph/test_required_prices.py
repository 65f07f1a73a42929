"""Under a ceiling, `require_prices` refuses calls whose price is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import PaidWorld, facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNKNOWN = {"model": "openai:my-model", "embeddings": "openai:my-embedder"}
MINE: dict[str, Any] = {
    "chat": {"my-model": {"input_per_million_tokens": 1, "output_per_million_tokens": 2}},
    "embedding": {"my-embedder": {"per_million_tokens": 1}},
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path) as world:
        yield world


def test_what_has_no_price_is_not_asked(world: PaidWorld) -> None:
    """Which model it is, and how to give it a price, is told."""
    result = world.ask(settings=UNKNOWN | {"require_prices": True}, max_cost_usd=5)
    assert world.models.requests == []
    assert len(world.searches) == 3
    assert "cost_limit_reached" in result["flags"]
    assert (
        "set prices.chat.my-model, or switch require_prices off" in facts(result, "plan")["error"]
    )
    assert "set prices.embedding.my-embedder" in facts(result, "rank")["error"]


def test_without_a_ceiling_or_the_setting_it_is(world: PaidWorld) -> None:
    """The run says that the ceiling is blind for it."""
    world.ask(settings=UNKNOWN | {"require_prices": True})
    assert world.plans == 1
    world.forget()
    result = world.ask("Another?", settings=UNKNOWN, max_cost_usd=5)
    assert world.plans == 1
    assert facts(result, "plan")["cost_limit_blind"]


def test_prices_of_one_s_own_are_counted(world: PaidWorld) -> None:
    """29 tokens in and 44 out, and what was embedded."""
    settings = UNKNOWN | {"require_prices": True, "prices": MINE}
    result = world.ask(settings=settings, max_cost_usd=5)
    assert facts(result, "plan")["cost_usd"] == (29 + 2 * 44) / 10**6
    rank = facts(result, "rank")
    assert rank["cost_usd"] == rank["input_tokens"] / 10**6
    assert result["telemetry"]["cost_complete"]


def test_a_search_without_a_price_is_not_made(tmp_path: Path) -> None:
    """SerpAPI publishes none for one search."""
    with PaidWorld(tmp_path, "serpapi") as world:
        world.ask(settings={"require_prices": True, "embeddings": "lexical"}, max_cost_usd=5)
        assert world.search.requests == []
        world.ask(
            settings={
                "require_prices": True,
                "embeddings": "lexical",
                "prices": {"search": {"serpapi": {"per_thousand_requests": 15}}},
            },
            max_cost_usd=5,
        )
        assert world.search.requests
