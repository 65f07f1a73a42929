"""The account of a part of a run: what it writes down, when, and what it does when it cannot."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from collection_search import SearchContext, Settings
from collection_search.adapters.stores.sqlite.usage import SQLiteUsage
from collection_search.cassette import Cassette
from collection_search.contracts.search import ToolOutcome, WebSearchResponse
from collection_search.errors import ConfigError
from collection_search.ports.usage import SpendEntry
from collection_search.settings.price_settings import OwnPrices
from collection_search.testing import FakeClock
from collection_search.tools.spending import spend_writer as books
from collection_search.tools.spending.account import Account, answer_key

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.contracts.state import RunIds

IDS: RunIds = {"run_id": "run", "trace_id": "trace", "invocation_id": "call"}
DAY_S = 86_400


def searched(
    by: str = "tavily", *, ok: bool = True, cost: float | None = 0.008, cached: bool = False
) -> Any:
    meta: dict[str, Any] = {"cost_usd": 0.0 if cached else cost, "billed_request_count": 1}
    meta["provider"] = by
    meta |= {"cached": True} if cached else {}
    outcome = ToolOutcome(decision="ok" if ok else "error", rationale="x", meta=meta)
    return WebSearchResponse(results=[], outcome=outcome)


@pytest.fixture
def usage(tmp_path: Path) -> SQLiteUsage:
    return SQLiteUsage(tmp_path / "usage.db")


def account(tmp_path: Path, usage: SQLiteUsage, **settings: Any) -> Account:
    context = SearchContext(settings=Settings(home=tmp_path, **settings), usage_store=usage)
    return Account(context, IDS)


def with_paid(its: Account, *paid: tuple[str, int, float | None]) -> Account:
    for each in paid:
        its.record_billed(*each)
    return its


async def ended(its: Account) -> None:
    """Close the account and wait for its books."""
    await its.close()
    await asyncio.to_thread(books.spend_writer().flush)


async def test_searches_cost_what_was_paid_and_not_known(
    tmp_path: Path, usage: SQLiteUsage
) -> None:
    """One entry for all of them; what was known before is spared."""
    its = with_paid(account(tmp_path, usage), ("tavily", 1, 0.008), ("tavily", 1, 0.008))
    assert its.total_search_cost([searched(), searched(cached=True), searched(ok=False)]) == 0.016
    await ended(its)
    [total] = usage.totals("local", by="name")
    assert (float(total.cost_usd), total.requests, total.cached_requests) == (0.016, 2, 1)


async def test_each_provider_is_booked_by_its_name(tmp_path: Path, usage: SQLiteUsage) -> None:
    """A fallback that answered some of the queries stands beside the first."""
    its = with_paid(
        account(tmp_path, usage), ("tavily", 1, 0.008), ("brave", 1, 0.005), ("tavily", 1, 0.008)
    )
    assert its.total_search_cost([]) == 0.021
    await ended(its)
    booked = {total.group: float(total.cost_usd) for total in usage.totals("local", by="name")}
    assert booked == {"tavily": 0.016, "brave": 0.005}


@pytest.mark.parametrize(
    ("paid", "cost", "booked"),
    [([], 0.0, (0, 0.0, 0)), ([0.008, None], None, (2, 0.008, 1)), ([None], None, (1, 0.0, 1))],
)
async def test_the_cost_of_searches(
    tmp_path: Path,
    usage: SQLiteUsage,
    paid: list[float | None],
    cost: float | None,
    booked: tuple[int, float, int],
) -> None:
    """Not known where one is not known, in the books too; what is known is booked by itself."""
    its = with_paid(account(tmp_path, usage), *(("tavily", 1, each) for each in paid))
    assert its.total_search_cost([searched(ok=False, cost=None)]) == cost
    await ended(its)
    total = usage.run_total("local", "run")
    assert (total.requests, float(total.cost_usd), total.unpriced) == booked


async def test_what_is_paid_after_the_end_is_booked_all_the_same(
    tmp_path: Path, usage: SQLiteUsage
) -> None:
    """A cancelled run's search goes on where another run waits for it: once, and with its answer."""
    its = with_paid(account(tmp_path, usage), ("tavily", 1, 0.008))
    await ended(its)
    its.record_billed("tavily", 2, 0.016)
    its.cache_answers("search", lambda: {"late": 1})
    give_up = asyncio.get_running_loop().time() + 60
    while usage.run_total("local", "run").requests < 3:
        assert asyncio.get_running_loop().time() < give_up
        await asyncio.sleep(0.01)
        await asyncio.to_thread(books.spend_writer().flush)
    assert float(usage.run_total("local", "run").cost_usd) == 0.024
    assert usage.get("local", "search", "late", max_age_s=60) == b"1"


async def test_free_calls_that_were_spared_are_not_booked(
    tmp_path: Path, usage: SQLiteUsage
) -> None:
    """Nobody would have sent a bill; what has no known price may have had one."""
    free = {"input_per_million_tokens": 0, "output_per_million_tokens": 0}
    prices = OwnPrices.model_validate({"chat": {"mine": free}})
    its = account(tmp_path, usage, prices=prices)
    its.record_saved("chat", "mine")
    its.record_saved("embedding", "local:m")
    its.record_saved("search", "offline")
    await ended(its)
    assert usage.totals("local", by="name") == []
    its.record_saved("chat", "unknown")
    await ended(its)
    [total] = usage.totals("local", by="name")
    assert (total.group, total.requests, total.cached_requests) == ("unknown", 0, 1)


async def test_free_answers_are_not_booked(tmp_path: Path, usage: SQLiteUsage) -> None:
    """Used again or not: nobody saves money with them."""
    its = account(tmp_path, usage)
    its.record_billed("searxng", 1, 0.0)
    its.total_search_cost([searched("searxng", cost=0.0), searched("searxng", cached=True)])
    its.record_cost("embedding", "local:x", 0.0)
    await ended(its)
    assert usage.totals("local") == []


async def test_a_count_that_cannot_be_is_left_out(
    tmp_path: Path, usage: SQLiteUsage, caplog: pytest.LogCaptureFixture
) -> None:
    """An endpoint that reports nonsense neither fails the run nor spoils the books."""
    its = account(tmp_path, usage)
    its.record_cost("chat", "m", 0.1, input_tokens=10**30)
    its.record_cost("chat", "m", 0.2)
    await ended(its)
    [total] = usage.totals("local", by="name")
    assert float(total.cost_usd) == 0.2
    assert "cannot be written down" in caplog.text


async def test_old_entries_and_answers_are_dropped_now_and_then(tmp_path: Path) -> None:
    """By the settings, with the first write of a process."""
    clock = FakeClock()
    clock.advance(-40 * 365 * DAY_S)
    before = SQLiteUsage(tmp_path / "usage.db", clock=clock.time)
    before.put("local", "plan", "old", b"1")
    before.add([SpendEntry("local", "old", clock.time(), "chat", "m")])
    before.close()
    usage = SQLiteUsage(tmp_path / "usage.db")  # by the real clock, many years later
    its = account(tmp_path, usage, spend_days=3)
    its.record_cost("chat", "m", 0.1)
    await ended(its)
    assert usage.get("local", "plan", "old", max_age_s=1e12) is None
    assert usage.run_total("local", "old").requests == 0
    assert usage.run_total("local", "run").requests == 1


async def test_a_run_does_not_wait_for_a_store_that_hangs(
    tmp_path: Path, usage: SQLiteUsage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on, and the entries are written when the store is free again."""
    free, written = threading.Event(), threading.Event()

    class Hanging(SQLiteUsage):
        def add(self, entries: Any) -> None:
            free.wait()
            super().add(entries)
            written.set()

        def get_many(self, *arguments: Any, **options: Any) -> dict[str, bytes]:
            free.wait()
            return super().get_many(*arguments, **options)

    monkeypatch.setattr(books, "PATIENCE_S", 0.01)
    its = account(tmp_path, Hanging(tmp_path / "usage.db"))
    assert await its.read_cached_answers("plan", ["key"], str) == {}
    its.record_cost("chat", "m", 0.1)
    await its.close()
    assert usage.run_total("local", "run").requests == 0
    free.set()
    assert written.wait(60)
    assert usage.run_total("local", "run").requests == 1


async def test_answers_are_read_by_key(tmp_path: Path, usage: SQLiteUsage) -> None:
    """Those that were kept, as JSON has them, and no others."""
    its = account(tmp_path, usage)
    its.cache_answers("plan", lambda: {"a": [1], "b": {"ä": "\ud800"}})
    assert await its.read_cached_answers("plan", ["a"], list) == {}  # not before it is closed
    await ended(its)
    assert await its.read_cached_answers("plan", ["a", "c"], list) == {"a": [1]}
    assert await its.read_cached_answers("plan", ["b"], dict) == {"b": {"ä": "\ud800"}}
    assert await its.read_cached_answers("plan", [], list) == {}


async def test_answers_that_cannot_be_told_are_left_out(
    tmp_path: Path, usage: SQLiteUsage, caplog: pytest.LogCaptureFixture
) -> None:
    """The run goes on, with a warning, and the others are kept."""

    def fail() -> Any:
        raise ValueError("no such answer")

    its = account(tmp_path, usage)
    its.cache_answers("plan", fail)
    its.cache_answers("plan", lambda: {"late": fail, "fine": lambda: b"[2]"})
    await ended(its)
    assert await its.read_cached_answers("plan", ["late", "fine"], list) == {"fine": [2]}
    usage.flush()
    assert caplog.text.count("no such answer") >= 2


def test_keys_tell_their_words_apart() -> None:
    """Wherever the border between two words lies, and whatever characters they have."""
    keys = {answer_key("ab", "c"), answer_key("a", "bc"), answer_key("abc"), answer_key("\ud800")}
    assert len(keys) == 4


def test_a_recorded_run_uses_no_answer_again(tmp_path: Path) -> None:
    """The recording would lack what was not asked."""
    settings = Settings(home=tmp_path)
    tape = Cassette.record(tmp_path / "tape.jsonl")
    assert SearchContext(settings=settings).answer_cache_s() == 3600
    assert SearchContext(settings=settings, cassette=tape).answer_cache_s() == 0


@pytest.mark.parametrize(
    ("own", "given", "limit"),
    [(None, None, None), (0.5, None, 0.5), (None, 0.2, 0.2), (0.5, 0.2, 0.2), (0.5, 0.0, 0.0)],
)
def test_on_a_server_the_ceiling_can_only_be_lowered(
    monkeypatch: pytest.MonkeyPatch, own: float | None, given: float | None, limit: float | None
) -> None:
    """A remote caller spends no more than the operator allows; in Python the caller decides."""
    runtime = SimpleNamespace(
        context={"collection_search": {"max_cost_usd": given}}, server_info=object()
    )

    if own is not None:
        monkeypatch.setenv("COLLECTION_SEARCH_MAX_COST_USD", str(own))
    assert SearchContext.of(runtime).cost_limit() == limit
    expected = own if given is None else given
    assert SearchContext(max_cost_usd=given).cost_limit() == expected


def test_on_a_server_a_higher_ceiling_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python the caller decides."""
    context = {"collection_search": {"max_cost_usd": 2.0}}
    monkeypatch.setenv("COLLECTION_SEARCH_MAX_COST_USD", "0.5")
    with pytest.raises(ConfigError, match=r"above this server's ceiling of 0\.5"):
        SearchContext.of(SimpleNamespace(context=context, server_info=object()))
    assert SearchContext(max_cost_usd=2.0).cost_limit() == 2.0


@pytest.mark.parametrize("amount", [-0.01, float("inf"), float("nan")])
def test_a_ceiling_is_an_amount(amount: float) -> None:
    """Neither debts nor infinity."""
    with pytest.raises(ValueError, match="max_cost_usd"):
        SearchContext(max_cost_usd=amount)
    with pytest.raises(ConfigError, match="max_cost_usd"):
        Settings.load(max_cost_usd=amount)
