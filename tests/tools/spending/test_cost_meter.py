"""The meter of what the calls within a context cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from collection_search import SearchContext, Settings
from collection_search.errors import MissingExtraError
from collection_search.tools.spending.account import Account
from collection_search.tools.spending.cost_meter import CostMeter, with_meter

if TYPE_CHECKING:
    from pathlib import Path


class Counted:
    """Metrics that record what they are told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def record_search(self, backend: str, **figures: Any) -> None:
        self.told.append((backend, figures))

    def record_spending(self, kind: str, name: str, **figures: Any) -> None:
        self.told.append((kind, name, figures["cost_usd"]))

    def watch_breaker(self, backend: str, breaker: Any) -> None:
        self.told.append((backend, breaker))


@pytest.fixture
def context(tmp_path: Path) -> SearchContext:
    return SearchContext(settings=Settings(home=tmp_path))


async def spend(context: SearchContext, *costs: float | None) -> None:
    account = Account(context, context.ids())
    for cost in costs:
        account.record_cost("embedding", "openai:text-embedding-3-small", cost)
    await account.close()


async def test_it_adds_up_and_passes_on(context: SearchContext) -> None:
    """The operator's metrics count the same as without it."""
    counted = Counted()
    metered, meter = await with_meter(context.model_copy(update={"search_metrics": counted}))
    assert meter.cost_usd == 0
    await spend(metered, 0.1, 0.2)
    assert meter.cost_usd == 0.3
    assert counted.told == [
        ("embedding", "text-embedding-3-small", 0.1),
        ("embedding", "text-embedding-3-small", 0.2),
    ]


async def test_an_unknown_part_leaves_the_sum_unknown(context: SearchContext) -> None:
    """It is not taken for nothing."""
    metered, meter = await with_meter(context)
    await spend(metered, 0.1, None)
    assert meter.cost_usd is None


async def test_tokens_are_added_up(context: SearchContext) -> None:
    """An embedder writes none; what a model does not report is not known."""
    metered, meter = await with_meter(context)
    account = Account(metered, metered.ids())
    account.record_cost("embedding", "openai:text-embedding-3-small", 0.1, input_tokens=7)
    account.record_cost("chat", "gpt-4o-mini", 0.1, input_tokens=5, output_tokens=2)
    await account.close()
    assert (meter.input_tokens, meter.output_tokens) == (12, 2)
    await spend(metered, 0.1)
    assert (meter.input_tokens, meter.output_tokens) == (None, 2)


async def test_a_replay_costs_nothing(context: SearchContext) -> None:
    """Whatever the recorded calls cost."""

    class Replay(SearchContext):
        def fetches(self) -> bool:
            return False

    metered, meter = await with_meter(Replay(settings=context.settings))
    await spend(metered, 0.1)
    assert meter.cost_usd == 0


async def test_metrics_that_cannot_be_had_do_not_end_the_work(context: SearchContext) -> None:
    """Costs are added up nevertheless."""

    class Without(SearchContext):
        async def metrics(self) -> Any:
            if self.search_metrics is None:
                raise MissingExtraError("install the extra metrics")
            return await super().metrics()

    metered, meter = await with_meter(Without(settings=context.settings))
    await spend(metered, 0.1)
    assert meter.cost_usd == 0.1


def test_searches_and_breakers_are_passed_on() -> None:
    """They are no costs of models."""
    counted = Counted()
    meter = CostMeter(counted)
    meter.record_search("tavily", status="ok")
    breaker: Any = object()
    meter.watch_breaker("tavily", breaker)
    assert counted.told == [("tavily", {"status": "ok"}), ("tavily", breaker)]
    assert meter.cost_usd == 0
