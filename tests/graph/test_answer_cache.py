"""Plans and embeddings that were paid for are not paid for again, and the run says so."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from blockbuster import blockbuster_ctx
from support.paid_world import PaidWorld, facts

from collection_search import CollectionSearchGraph
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.errors import StoreError
from collection_search.testing import FakeClock, ScriptedEmbedder, ScriptedQueryModel
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.collection import Embedded

PLAN = ["asyncio cancel", "asyncio timeout", "asyncio wait_for"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path, provider="searxng") as world:
        yield world


@pytest.mark.slow
def test_a_repeated_question_costs_nothing_and_says_so(world: PaidWorld) -> None:
    """Neither model is asked; queries and scores are the same."""
    first = world.ask()
    assert facts(first, "plan")["cached"] is False
    assert facts(first, "rank")["cached_count"] == 0
    world.forget()
    second = world.ask()
    assert world.models.requests == []
    assert second["telemetry"]["cost_usd"] == 0.0
    plan, rank = facts(second, "plan"), facts(second, "rank")
    assert (plan["cached"], plan["cached_count"], plan["cost_usd"]) == (True, 1, 0.0)
    assert (plan["input_tokens"], plan["output_tokens"]) == (0, 0)
    assert (rank["cached"], rank["cached_count"]) == (True, rank["input_count"] + 1)
    assert (rank["input_tokens"], rank["cost_usd"]) == (0, 0.0)
    assert second["strategy"] == first["strategy"]
    assert second["results"] == first["results"]


@pytest.mark.slow
def test_another_question_embeds_all_its_texts(world: PaidWorld) -> None:
    """In one request; the searches for the same pages are known."""
    first = world.ask("How does asyncio work?")
    world.forget()
    second = world.ask("What is a timeout?")
    assert world.plans == 1
    rank = facts(second, "rank")
    assert [len(texts) for texts in world.embedded] == [rank["input_count"] + 1]
    assert (rank["cached"], rank["cached_count"]) == (False, 0)
    assert 0 < rank["cost_usd"] < facts(first, "rank")["cost_usd"]  # of the first use as well


@pytest.mark.slow
def test_a_question_is_a_few_small_rows(world: PaidWorld) -> None:
    """One for each search, one for the plan, one for the embedding request."""
    world.ask()
    SQLiteUsage(world.home / "usage.db").flush()
    with closing(sqlite3.connect(world.home / "usage.db")) as connection:
        query = "SELECT kind, count(*), sum(length(payload)) FROM answers GROUP BY 1"
        rows = {kind: (count, size) for kind, count, size in connection.execute(query)}
    assert rows["similarity"][0] == 1
    assert rows["plan"][0] == 1
    assert set(rows) <= {"plan", "search", "similarity"}
    assert rows["similarity"][1] < 1500


@pytest.mark.slow
def test_an_answer_is_used_until_it_is_too_old(world: PaidWorld) -> None:
    """By the clock of the store."""
    clock = FakeClock()
    usage = SQLiteUsage(world.home / "usage.db", clock=clock.time)
    for wait, asked in ((0, 1), (3599, 0), (2, 1)):
        clock.advance(wait)
        world.forget()
        world.ask(usage_store=usage)
        assert (world.plans, len(world.embedded)) == (asked, asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"tenant_id": "another"},
        {"model": "openai:gpt-4.1-mini", "embeddings": "openai:text-embedding-3-large"},
    ],
)
def test_answers_are_of_one_tenant_and_model(world: PaidWorld, change: dict[str, Any]) -> None:
    """Nobody gets what another one paid for, or what another model said."""
    world.ask()
    world.forget()
    world.ask(**change)
    assert (world.plans, len(world.embedded)) == (1, 1)


@pytest.mark.slow
def test_another_endpoint_plans_anew(world: PaidWorld, tmp_path: Path) -> None:
    """The same name elsewhere may be another model."""
    world.ask()
    with PaidWorld(tmp_path, provider="searxng") as other:
        other.ask()
        assert other.plans == 1


@pytest.mark.slow
@pytest.mark.parametrize("part", ["question", "purpose"])
def test_a_plan_is_for_one_question_and_purpose(world: PaidWorld, part: str) -> None:
    """Whatever stands in the prompt is part of what is remembered."""
    given = {"question": "How?", "purpose": "docs", "collection_scope": "c"}
    for other in ({}, {part: "Something else"}):
        world.forget()
        CollectionSearchGraph(world.context()).run(given | other)
        assert world.plans == 1


@pytest.mark.slow
def test_switched_off_nothing_is_looked_up_or_kept(world: PaidWorld) -> None:
    """The books are kept all the same."""

    class NoAnswers(SQLiteUsage):
        def _fail(self, *arguments: Any, **options: Any) -> Any:
            raise AssertionError("the answers were touched")

        get = get_many = lacks = put = put_many = prune = _fail

    usage = NoAnswers(world.home / "usage.db")
    for _ in range(2):
        world.forget()
        world.ask(settings={"answer_cache_s": 0}, usage_store=usage)
        assert (world.plans, len(world.embedded)) == (1, 1)
    spend_writer().flush()
    [chat, _] = usage.totals("local", by="name")
    assert (chat.requests, chat.cached_requests) == (2, 0)


@pytest.mark.slow
def test_a_live_model_is_always_asked(world: PaidWorld) -> None:
    """An object has no name that says what it is."""
    model = ScriptedQueryModel(PLAN)
    for _ in range(2):
        world.ask(model=model)
    assert len(model.calls) == 2


def test_what_this_machine_computes_is_not_remembered(world: PaidWorld) -> None:
    """It costs nothing to compute it again."""
    embedder = ScriptedEmbedder(fingerprint="local:scripted")
    sizes = []
    for _ in range(2):
        before = len(embedder.calls)
        world.ask(embeddings=embedder, ranking_profile="literal")
        sizes.append([len(call) for call in embedder.calls[before:]])
    assert sizes[0] == sizes[1]


def test_answers_that_cannot_be_read_are_asked_for_again(world: PaidWorld) -> None:
    """A damaged file costs money, not the run."""
    world.ask()
    SQLiteUsage(world.home / "usage.db").flush()
    with closing(sqlite3.connect(world.home / "usage.db")) as connection, connection:
        connection.execute("UPDATE answers SET payload = '{}'")
    world.forget()
    result = world.ask()
    assert (world.plans, len(world.embedded)) == (1, 1)
    assert result["flags"] == []


@pytest.mark.slow
def test_a_store_that_fails_costs_money_not_the_run(world: PaidWorld) -> None:
    """The models are asked as if nothing was known."""

    class Unreadable(SQLiteUsage):
        def get_many(self, *arguments: Any, **options: Any) -> Any:
            raise StoreError("usage.db is damaged.")

    usage = Unreadable(world.home / "usage.db")
    for _ in range(2):
        world.forget()
        assert world.ask(usage_store=usage)["outcome"] == "search_completed"
        assert (world.plans, len(world.embedded)) == (1, 1)


def test_a_broken_vector_is_not_remembered(world: PaidWorld) -> None:
    """The page has a second chance, with all the others."""

    class Half(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            embedded = await super().embed(texts)
            embedded.vectors[-1] = np.nan
            return embedded

    embedder = Half(fingerprint="half:64")
    for _ in range(2):
        result = world.ask(embeddings=embedder, ranking_profile="literal")
        assert result["flags"] == ["embedding_degraded"]
    [first, second] = embedder.calls
    assert len(first) > 2
    assert second == first


@pytest.mark.slow
async def test_it_never_blocks_the_loop(world: PaidWorld) -> None:
    """Neither the first run nor the one that knows everything."""
    given = {"question": "How does asyncio work?", "purpose": "docs", "collection_scope": "c"}
    graph = CollectionSearchGraph(world.context())
    with blockbuster_ctx():
        await graph.arun(given)
        _, result = await graph.arun(given)
    assert facts(result, "rank")["cached"] is True
