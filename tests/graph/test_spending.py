"""What a run writes into the books: all that it paid for, to the last digit, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from support.paid_world import QUERIES, PaidWorld, facts
from support.scripted_world import good_pages

from collection_search import CollectionSearchGraph, SearchContext
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.cassette import Cassette
from collection_search.errors import ModelError, StoreError
from collection_search.testing import ScriptedAdapter, ScriptedEmbedder, ScriptedQueryModel
from collection_search.tools.spending.spend_writer import spend_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from collection_search.contracts.collection import Embedded


class Counting(SQLiteUsage):
    """Counts how often it is called."""

    calls: list[str]

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.calls = []

    def add(self, entries: Any) -> None:
        self.calls.append("add")
        super().add(entries)

    def put_of_run(self, *arguments: Any, **options: Any) -> None:
        self.calls.append("put_of_run")
        super().put_of_run(*arguments, **options)

    def get_many(self, *arguments: Any, **options: Any) -> Any:
        self.calls.append("get_many")
        return super().get_many(*arguments, **options)


class Unindexed(Counting):
    """Has to be looked into."""

    def lacks(self, *arguments: Any, **options: Any) -> bool:
        return False


class Broken(SQLiteUsage):
    """Takes and gives nothing."""

    def _fail(self, *arguments: Any, **options: Any) -> Any:
        raise StoreError("usage.db cannot grow: the disk is full.")

    add = get_many = put_many = put_of_run = lacks = _fail


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PaidWorld]:
    with PaidWorld(tmp_path) as world:
        yield world


def booked(world: PaidWorld) -> list[tuple[str, str, int, str | None]]:
    spend_writer().flush()
    with closing(sqlite3.connect(world.home / "usage.db")) as connection:
        return connection.execute(
            "SELECT kind, name, requests, cost_usd FROM spend ORDER BY id"
        ).fetchall()


def test_a_run_costs_the_sum_of_its_entries(world: PaidWorld) -> None:
    """Plan, searches and embeddings, each with what telemetry says that it cost."""
    result = world.ask(tenant_id="acme", run_id="run-1")
    rows = booked(world)
    assert [row[:3] for row in rows] == [
        ("chat", "gpt-4o-mini", 1),
        ("search", "tavily", len(QUERIES)),
        ("embedding", "openai:text-embedding-3-small", 1),
        ("embedding", "openai:text-embedding-3-small", 1),  # the anchors, at first use
    ]
    amounts = [Decimal(row[3] or "") for row in rows]
    amounts[2:] = [sum(amounts[2:])]
    nodes = [facts(result, node)["cost_usd"] for node in ("plan", "search", "rank")]
    assert amounts == [Decimal(repr(cost)) for cost in nodes]
    total = SQLiteUsage(world.home / "usage.db").run_total("acme", "run-1")
    assert total.cost_usd == sum(amounts) == Decimal(repr(result["telemetry"]["cost_usd"]))


@pytest.mark.slow
def test_what_was_not_paid_again_is_booked_as_spared(world: PaidWorld) -> None:
    """It costs nothing, and tells how often an answer was used again."""
    world.ask()
    world.ask(run_id="again")
    spend_writer().flush()
    totals = SQLiteUsage(world.home / "usage.db").totals("local", by="name")
    spared = {total.kind: (total.requests, total.cached_requests) for total in totals}
    assert (spared["chat"], spared["embedding"]) == ((1, 1), (2, 1))  # the anchors, at first use


@pytest.mark.slow
def test_a_run_reads_and_writes_at_one_go(world: PaidWorld) -> None:
    """One look each for plan, searches and texts, and one write a node, usually one."""
    usage = Unindexed(world.home / "usage.db")
    world.ask(usage_store=usage)
    spend_writer().flush()
    rest = [call for call in usage.calls if call != "get_many"]
    assert 1 <= rest.count("add") <= 3
    assert rest.count("put_of_run") == 3
    assert usage.calls.count("get_many") == 3


def test_a_free_run_writes_nothing(context: SearchContext) -> None:
    """Offline and local runs have no books."""
    adapter = ScriptedAdapter(good_pages(), provider_name="offline")
    _, result = CollectionSearchGraph(context.model_copy(update={"provider": adapter})).run(
        {"question": "How?", "collection_scope": "c", "purpose": "p"}
    )
    assert result["outcome"] == "search_completed"
    spend_writer().flush()
    assert SQLiteUsage(context.using().home / "usage.db").totals(context.tenant()) == []


def test_an_unknown_price_is_booked_as_such(context: SearchContext) -> None:
    """The bill is higher than the sum, which says so."""
    _, result = CollectionSearchGraph(context).run(
        {"question": "How?", "collection_scope": "c", "purpose": "p"}
    )
    assert result["telemetry"]["cost_complete"] is False
    spend_writer().flush()
    usage = SQLiteUsage(context.using().home / "usage.db")
    [total] = usage.totals(context.tenant(), by="name")
    assert (total.group, total.requests, total.unpriced) == ("scripted", 3, 1)


def test_a_model_that_fails_may_have_cost_something(context: SearchContext) -> None:
    """Nobody knows how much: the entry says so."""
    model = ScriptedQueryModel(ModelError("cut off"), model_name="gpt-4o-mini")
    adapter = ScriptedAdapter(good_pages(), provider_name="offline")
    update = {"provider": adapter, "model": model}
    CollectionSearchGraph(context.model_copy(update=update)).run(
        {"question": "How?", "collection_scope": "c", "purpose": "p"}
    )
    spend_writer().flush()
    usage = SQLiteUsage(context.using().home / "usage.db")
    [total] = usage.totals(context.tenant(), by="name")
    assert (total.kind, total.group, total.unpriced) == ("chat", "gpt-4o-mini", 1)


@pytest.mark.slow
def test_models_that_cannot_be_reached_cost_nothing(world: PaidWorld) -> None:
    """Nothing was worked on: the run's cost is known, and only the searches are in the books."""
    result = world.ask(settings={"openai_base_url": "http://127.0.0.1:9/v1"})
    assert result["flags"] == ["strategy_fallback", "embedding_degraded"]
    assert result["telemetry"]["cost_complete"]
    assert [row[0] for row in booked(world)] == ["search"]


async def test_what_was_spent_before_a_run_is_cancelled_is_booked(world: PaidWorld) -> None:
    """The plan and the search were paid for although the ranking never ended."""
    asked = asyncio.Event()

    class Silent(ScriptedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Embedded:
            asked.set()
            return await asyncio.Future()

    graph = CollectionSearchGraph(world.context(embeddings=Silent()))
    run = asyncio.create_task(
        graph.arun({"question": "How does asyncio work?", "collection_scope": "c"})
    )
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [row[0] for row in booked(world)][:2] == ["chat", "search"]


@pytest.mark.slow
def test_books_that_fail_do_not_fail_the_run(
    world: PaidWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning is all that is left of it."""
    result = world.ask(usage_store=Broken(world.home / "usage.db"))
    assert (result["outcome"], result["flags"]) == ("search_completed", [])
    spend_writer().flush()
    assert "the disk is full" in caplog.text


def test_without_a_place_for_books_a_run_goes_on(world: PaidWorld, tmp_path: Path) -> None:
    """A file stands where the data folder should be."""
    (tmp_path / "file").write_text("")
    result = world.ask(settings={"home": tmp_path / "file"}, embeddings="lexical")
    assert result["outcome"] == "search_completed"


@pytest.mark.slow
def test_a_replayed_run_is_not_booked(world: PaidWorld) -> None:
    """Nobody is paid for it; the recorded one is, and asks everything anew."""
    world.ask()
    world.forget()
    tape = world.home / "tape.jsonl"
    world.ask(cassette=Cassette.record(tape))
    assert (world.plans, len(world.embedded)) == (1, 1)
    before = booked(world)
    world.forget()
    result = world.ask(cassette=Cassette.replay(tape))
    assert (world.models.requests, world.search.requests) == ([], [])
    assert result["outcome"] == "search_completed"
    assert booked(world) == before
