"""The ceiling of a run: one for all of its accounts, here and in the books of other processes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from collection_search import CostLimitReached, SearchContext, Settings
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.cassette import Cassette
from collection_search.errors import StoreError
from collection_search.ports.usage import SpendEntry
from collection_search.tools.spending import run_spendings as module
from collection_search.tools.spending.run_spendings import (
    RunSpendings,
    open_account,
    share_ceiling,
)

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.contracts.state import RunIds


class Books(SQLiteUsage):
    """Counts how often a run's sum is read."""

    reads = 0

    def run_total(self, tenant_id: str, run_id: str) -> Any:
        self.reads += 1
        return super().run_total(tenant_id, run_id)


class Broken(SQLiteUsage):
    def run_total(self, tenant_id: str, run_id: str) -> Any:
        raise StoreError("usage.db cannot be read.")


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return Books(tmp_path / "books.db")


@pytest.fixture
def context(tmp_path: Path, books: Books) -> SearchContext:
    settings = Settings(home=tmp_path)
    return SearchContext(settings=settings, usage_store=books, max_cost_usd=0.05)


def ids(run_id: str = "run-1") -> RunIds:
    return {"run_id": run_id, "trace_id": run_id, "invocation_id": "i"}


def spent(books: SQLiteUsage, usd: float, run_id: str = "run-1") -> None:
    books.add([SpendEntry("local", run_id, time.time(), "search", "tavily", cost_usd=usd)])


async def test_accounts_of_a_run_have_one_ceiling(context: SearchContext) -> None:
    """Those of another run or tenant have their own."""
    first, second = await open_account(context, ids()), await open_account(context, ids())
    first.budget.reserve(0.03)
    with pytest.raises(CostLimitReached, match=r"after \$0\.03"):
        second.budget.reserve(0.03)
    assert (first.budget.is_reached, second.budget.is_reached) == (False, True)
    (await open_account(context, ids("run-2"))).budget.reserve(0.05)
    other = context.model_copy(update={"tenant_id": "acme"})
    (await open_account(other, ids())).budget.reserve(0.05)


async def test_what_another_process_spent_is_read_once(
    context: SearchContext, books: Books
) -> None:
    """And not at all for a new run, or without a ceiling."""
    spent(books, 0.04)
    for _ in range(2):
        account = await open_account(context, ids())
        with pytest.raises(CostLimitReached, match=r"after \$0\.04"):
            account.budget.reserve(0.02)
    assert books.reads == 1
    await open_account(context, ids("run-2"), is_new=True)
    await open_account(context.model_copy(update={"max_cost_usd": None}), ids("run-3"))
    assert books.reads == 1


async def test_what_other_processes_spend_meanwhile_counts_too(
    context: SearchContext, books: Books
) -> None:
    """Where they may: each time, and beside what this process has in the books, open or written."""
    open_one = await open_account(context, ids(), is_new=True)
    open_one.budget.reserve(0.001)
    for _ in range(2):
        account = await open_account(context, ids(), is_shared=True)
        account.budget.reserve(0.01)
        account.budget.settle(0.01, 0.005)
        account.record_cost("embedding", "m", 0.005)
        await account.close()
        spent(books, 0.01)
    last = await open_account(context, ids(), is_shared=True)
    assert last.budget.spent_usd == 0.031
    with pytest.raises(CostLimitReached, match=r"after \$0\.031"):
        last.budget.reserve(0.02)
    books.forget_tenant("local")
    assert (await open_account(context, ids(), is_shared=True)).budget.spent_usd == 0.031


async def test_a_run_that_was_forgotten_is_read_with_what_is_not_written_yet(
    context: SearchContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process keeps the runs that were used last."""
    monkeypatch.setattr(module, "_spendings", RunSpendings(max_runs=1))
    account = await open_account(context, ids(), is_new=True)
    account.budget.reserve(0.03)
    account.budget.settle(0.03, 0.03)
    account.record_cost("chat", "gpt-4o-mini", 0.03)
    await account.close(is_last=False)
    del account
    await open_account(context, ids("run-2"), is_new=True)
    assert (await open_account(context, ids())).budget.spent_usd == 0.03


async def test_an_open_account_is_not_forgotten(
    context: SearchContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reservations are in no books."""
    monkeypatch.setattr(module, "_spendings", RunSpendings(max_runs=1))
    account = await open_account(context, ids(), is_new=True)
    account.budget.reserve(0.03)
    await open_account(context, ids("run-2"), is_new=True)
    assert (await open_account(context, ids())).budget.spent_usd == 0.03


async def test_books_that_cannot_be_read_are_told_once(
    tmp_path: Path, context: SearchContext, caplog: pytest.LogCaptureFixture
) -> None:
    """The process counts on its own from then on."""
    broken = context.model_copy(update={"usage_store": Broken(tmp_path / "broken.db")})
    (await open_account(broken, ids())).budget.reserve(0.03)
    assert (await open_account(broken, ids())).budget.spent_usd == 0.03
    (told,) = [record.message for record in caplog.records]
    assert told.startswith("What the run has spent before cannot be read: it counts from 0.")


PARTS = ("search", "model", "embedder", "ensemble", "reranker")
EmptyReplay: Any = type(
    "EmptyReplay", (Cassette,), {"replays": True, **dict.fromkeys(PARTS, lambda *_: None)}
)


async def test_a_replay_neither_reads_nor_burdens_the_books(
    tmp_path: Path, context: SearchContext, books: Books
) -> None:
    """Nobody is paid for it; within it the ceiling is that of the recorded run."""
    spent(books, 0.04)
    replay = context.model_copy(update={"cassette": EmptyReplay(tmp_path / "tape.jsonl")})
    (await open_account(replay, ids())).budget.reserve(0.05)
    with pytest.raises(CostLimitReached):
        (await open_account(replay, ids())).budget.reserve(0.01)
    assert books.reads == 0
    assert (await open_account(context, ids())).budget.spent_usd == 0.04


async def test_a_part_of_a_refresh_shares_its_ceiling(context: SearchContext) -> None:
    """Each part is a run of its own in the books."""
    await share_ceiling(context, "part", with_run="whole")
    (await open_account(context, ids("part"))).budget.reserve(0.05)
    with pytest.raises(CostLimitReached):
        (await open_account(context, ids("whole"))).budget.reserve(0.01)
