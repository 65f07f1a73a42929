"""An embedder whose calls an account pays for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from collection_search import CostLimitReached, SearchContext, Settings
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.errors import ModelError
from collection_search.ranking.calibration import PART, scale_of, start_scale
from collection_search.testing import ScriptedEmbedder
from collection_search.tools.spending import account as account_module
from collection_search.tools.spending.account import Account
from collection_search.tools.spending.paid_embedder import PaidEmbedder
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.ports.usage import SpendTotal

NAME = "openai:text-embedding-3-small"


class Small(ScriptedEmbedder):
    """Takes few texts at once, and is paid for every try."""

    async def embed(self, texts: Any) -> Any:
        if len(texts) > PART:
            self.calls.append(list(texts))
            raise ModelError("too many inputs")
        return await super().embed(texts)


class Asked(ScriptedEmbedder):
    """Answers once it is let."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.let = asyncio.Event()

    async def embed(self, texts: Any) -> Any:
        await self.let.wait()
        return await super().embed(texts)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def account(settings: Settings, run_id: str = "run-1", **changes: Any) -> Account:
    context = SearchContext(settings=settings.model_copy(update=changes), run_id=run_id)
    return Account(context, context.ids())


def total(settings: Settings, run_id: str = "run-1") -> SpendTotal:
    spend_writer().flush()
    return SQLiteUsage(settings.home / "usage.db").run_total("local", run_id)


async def test_a_failed_request_and_the_parts_after_it_are_recorded(settings: Settings) -> None:
    """What the failed one costs is not known; the parts have their tokens."""
    ours, embedder = account(settings), Small(fingerprint=NAME)
    paid = PaidEmbedder(embedder, ours)
    await scale_of(paid, folder=settings.home)
    await ours.close()
    found = await asyncio.to_thread(total, settings)
    tokens = sum(len(text.split()) for part in embedder.calls[1:] for text in part)
    assert (found.requests, found.input_tokens, found.unpriced) == (5, tokens, 1)
    assert (paid.input_tokens, paid.cost_usd) == (None, None)


async def test_a_ceiling_between_the_parts_ends_the_measurement(settings: Settings) -> None:
    """What was paid until then stays recorded, and no failure is remembered."""
    embedder = Small(fingerprint=NAME)
    whole = await scale_of(ScriptedEmbedder(fingerprint="other"), folder=settings.home)
    ours = account(settings, max_cost_usd=0.00012)
    with pytest.raises(CostLimitReached):
        await scale_of(PaidEmbedder(embedder, ours), folder=settings.home)
    assert ours.budget.is_reached
    assert await scale_of(ScriptedEmbedder(fingerprint=NAME), folder=settings.home) == whole


async def test_the_ceiling_of_another_run_is_not_this_one_s(settings: Settings) -> None:
    """The measurement that both share ends with it; then this run pays."""
    poor = account(settings, "poor", max_cost_usd=0)
    rich, model = account(settings, "rich"), ScriptedEmbedder(fingerprint=NAME)
    refused = start_scale(PaidEmbedder(model, poor), folder=settings.home)
    shared = start_scale(PaidEmbedder(model, rich), folder=settings.home)
    with pytest.raises(CostLimitReached):
        await refused
    await shared
    await rich.close()
    assert len(model.calls) == 1
    assert (await asyncio.to_thread(total, settings, "rich")).requests == 1


async def test_what_is_recorded_after_the_end_is_written(settings: Settings) -> None:
    """A measurement may outlive the run that started it."""
    ours, embedder = account(settings), Asked(fingerprint=NAME)
    scale = start_scale(PaidEmbedder(embedder, ours), folder=settings.home)
    await ours.close()
    embedder.let.set()
    await scale
    await asyncio.gather(*account_module._closing)
    assert (await asyncio.to_thread(total, settings)).requests == 1
