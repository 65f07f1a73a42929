"""What one search costs and takes however it ends: answered, failed, late or cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import (
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from collection_search.resilience import ProviderGuard, Quota
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import FakeClock, ScriptedAdapter, example_context, rows
from collection_search.tools.search.billing import cost_of
from collection_search.tools.spending.budget import RunBudget
from collection_search.tools.web_search import WebSearchWorker

CALL: dict[str, Any] = {"query": "asyncio", "context": example_context()}
METHODS = ("run", "arun")


def worker(adapter: Any, **options: Any) -> WebSearchWorker:
    clock = FakeClock()
    usual = {"sleep": clock.sleep, "asleep": clock.asleep, "timer": clock.monotonic}
    return WebSearchWorker(adapter, spans=NULL_SINK, **{**usual, **options})


def searched(its: WebSearchWorker, method: str) -> Any:
    return its.run(**CALL) if method == "run" else asyncio.run(its.arun(**CALL))


def answer(**more: Any) -> SearchAdapterResponse:
    return SearchAdapterResponse(results=rows(1), status_code=200, **more)


# --- money

NONSENSE = (-1000.0, float("nan"), float("inf"), 1e308, 10**400, "7", True)


@pytest.mark.parametrize("said", NONSENSE, ids=lambda said: str(said)[:9])
def test_a_price_that_cannot_be_is_not_believed(said: Any) -> None:
    """The list price counts then, and for units and requests the usual one."""
    assert cost_of("exa", answer(cost_usd=said)) == cost_of("exa", answer())
    assert cost_of("exa", answer(credits=said)) == cost_of("exa", answer())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("said", NONSENSE, ids=lambda said: str(said)[:9])
def test_the_ceiling_holds_whatever_a_provider_says(said: Any, method: str) -> None:
    """A cost below nothing buys no further search."""
    budget = RunBudget(0.01)
    adapter = ScriptedAdapter(answer(cost_usd=said), provider_name="tavily")
    its = worker(adapter, budget=budget)
    outcomes = [searched(its, method).outcome for _ in range(3)]
    assert [each.decision for each in outcomes] == ["ok", "error", "error"]
    assert budget.spent_usd == 0.008


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("failure", "attempts", "billed"),
    [
        (SearchProviderTimeout("slow"), 2, 2),
        (SearchProviderBadResponse("HTML"), 1, 1),
        (SearchProviderInvalidQuery("long"), 1, 0),
        (SearchProviderUnavailable("down", retryable=False), 1, 0),
        (RuntimeError("a bug"), 1, 1),
    ],
)
def test_what_may_be_billed_counts_as_billed(
    failure: Exception, attempts: int, billed: int, method: str
) -> None:
    """In the ceiling, in the ledger and in the outcome: as for the quota."""
    budget, booked = RunBudget(1.0), []
    adapter = ScriptedAdapter(failure, provider_name="tavily")
    its = worker(adapter, budget=budget, on_billed=lambda *entry: booked.append(entry))
    meta = searched(its, method).outcome.meta
    assert (meta["attempts"], meta["billed_request_count"]) == (attempts, billed)
    assert booked == [("tavily", 1, 0.008)] * billed
    assert budget.spent_usd == pytest.approx(0.008 * billed)
    assert meta["cost_usd"] == (pytest.approx(0.008 * billed) if billed else None)


def test_ten_timeouts_reach_a_ceiling_of_one_search() -> None:
    """However long a provider works without an answer, no more is spent than was allowed."""
    adapter = ScriptedAdapter(SearchProviderTimeout("slow"), provider_name="tavily")
    its = worker(adapter, budget=RunBudget(0.008), max_attempts=1)
    kinds = Counter(its.run(**CALL).outcome.meta["error"]["kind"] for _ in range(10))
    assert kinds == {"SearchProviderTimeout": 1, "CostLimitReached": 9}
    assert len(adapter.requests) == 1


def test_an_answer_after_a_timeout_costs_both() -> None:
    adapter = ScriptedAdapter(SearchProviderTimeout("slow"), answer(), provider_name="tavily")
    meta = worker(adapter).run(**CALL).outcome.meta
    assert (meta["billed_request_count"], meta["cost_usd"]) == (2, 0.016)


def test_an_unknown_price_stays_unknown() -> None:
    """Nothing is guessed; that there was a request is booked."""
    booked: list[Any] = []
    adapter = ScriptedAdapter(SearchProviderTimeout("slow"), answer(), provider_name="nobody")
    meta = worker(adapter, on_billed=lambda *entry: booked.append(entry)).run(**CALL).outcome.meta
    assert booked == [("nobody", 1, None)] * 2
    assert (meta["billed_request_count"], meta["cost_usd"]) == (2, None)


class Held(ScriptedAdapter):
    """Never answers; says when it was asked."""

    def __init__(self) -> None:
        super().__init__(provider_name="tavily")
        self.is_asked = asyncio.Event()

    async def asearch(self, query: str, **_: Any) -> Any:
        self.is_asked.set()
        await asyncio.Event().wait()


async def test_a_cancelled_call_is_paid_for_once_it_was_sent() -> None:
    budget, booked, adapter = RunBudget(1.0), [], Held()
    its = worker(adapter, budget=budget, on_billed=lambda *entry: booked.append(entry))
    call = asyncio.ensure_future(its.arun(**CALL))
    await adapter.is_asked.wait()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    assert booked == [("tavily", 1, 0.008)]
    assert budget.spent_usd == 0.008


# --- the quota of a call that is not made


class Counted:
    """A quota store in memory, whose reservations may be held up."""

    def __init__(self) -> None:
        self.count = 0
        self.is_reserving, self.may_reserve = threading.Event(), threading.Event()
        self.may_reserve.set()
        self.given_back = threading.Event()

    def reserve(self, *_: Any, limit: int, count: int = 1, **__: Any) -> bool:
        self.is_reserving.set()
        assert self.may_reserve.wait(60)
        if self.count + count > limit:
            return False
        self.count += count
        return True

    def settle(self, *_: Any, used: int, reserved: int = 1, **__: Any) -> int:
        self.count += used - reserved
        self.given_back.set()
        return self.count

    def used(self, *_: Any, **__: Any) -> int:
        return self.count


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 60)


@pytest.mark.parametrize("when", ["while it waits for its slot", "while it is counted"])
async def test_a_call_that_is_cancelled_before_it_is_sent_is_not_counted(when: str) -> None:
    """Its place in the quota is given back, though the caller does not wait for the file."""
    store, is_waiting = Counted(), asyncio.Event()
    guard = ProviderGuard("tavily", rate_per_s=0.001, quota=Quota(store, "k", 10))
    adapter = ScriptedAdapter(answer(), provider_name="tavily")

    async def asleep(seconds: float) -> None:
        is_waiting.set()
        await asyncio.Event().wait()

    its = worker(adapter, guard=guard, asleep=asleep, deadline_s=86_400)
    assert (await its.arun(**CALL)).results
    assert store.count == 1
    store.given_back.clear()
    if when == "while it is counted":
        store.is_reserving.clear()
        store.may_reserve.clear()
    call = asyncio.ensure_future(its.arun(**CALL))
    if when == "while it is counted":
        await until(store.is_reserving)
    else:
        await is_waiting.wait()
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    store.may_reserve.set()
    await until(store.given_back)
    assert (store.count, len(adapter.requests)) == (1, 1)


# --- further requests of a call


class Paged(ScriptedAdapter):
    """Waits for its turn before its second and third page, like a built-in one."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(provider_name="tavily")
        self.clock = clock
        self.pages: list[float] = []
        self.refusals: list[SearchProviderError] = []

    def price(self, max_results: int, options: Any) -> tuple[int, float]:
        return 3, 3.0

    async def asearch(self, query: str, *, max_results: int, turn: Any = None, **_: Any) -> Any:
        for page in range(3):
            try:
                if page and turn:
                    await turn()
            except SearchProviderError as error:
                self.refusals.append(error)
                break
            self.pages.append(self.clock.monotonic())
        return answer(request_count=len(self.pages))


def paged(clock: FakeClock, guard: ProviderGuard, **options: Any) -> tuple[Paged, Any]:
    adapter = Paged(clock)
    its = worker(adapter, guard=guard, asleep=clock.asleep, timer=clock.monotonic, **options)
    return adapter, asyncio.run(its.arun(**CALL))


def test_every_page_has_a_slot_of_its_own() -> None:
    clock = FakeClock()
    adapter, response = paged(clock, ProviderGuard("tavily", rate_per_s=1, clock=clock.monotonic))
    assert adapter.pages == pytest.approx([adapter.pages[0] + 1.05 * n for n in range(3)])
    assert response.outcome.meta["request_count"] == 3


def test_a_page_for_which_there_is_no_time_is_not_asked_for() -> None:
    """What the pages before gave is not lost with it."""
    clock = FakeClock()
    guard = ProviderGuard("tavily", rate_per_s=0.1, clock=clock.monotonic)
    adapter, response = paged(clock, guard, timeout_s=5.0, deadline_s=18.0)
    assert len(adapter.pages) == 2
    assert response.outcome.decision == "ok"
    assert [error.code for error in adapter.refusals] == ["rateLimited"]


def test_a_quota_gives_as_many_pages_as_are_left() -> None:
    """And none once it is used up."""
    clock, store = FakeClock(), Counted()
    guard = ProviderGuard(
        "tavily", quota=Quota(store, "k", 5), clock=clock.monotonic, wall_clock=clock.time
    )
    first, _ = paged(clock, guard)
    second, response = paged(clock, guard)
    third, refused = paged(clock, guard)
    assert [len(each.pages) for each in (first, second, third)] == [3, 2, 0]
    assert response.outcome.decision == "ok"
    assert [error.code for error in second.refusals] == ["quotaExceeded"]
    assert refused.outcome.rationale == "provider_quota_exceeded"
    assert store.count == 5


def test_who_cannot_be_stopped_gets_all_or_nothing() -> None:
    """An adapter without `turn` would make all of its requests."""
    store = Counted()
    guard = ProviderGuard("tavily", quota=Quota(store, "k", 2))
    adapter = ScriptedAdapter(answer(request_count=3), provider_name="tavily")
    adapter.price = lambda *_: (3, 3.0)  # type: ignore[attr-defined]
    outcome = worker(adapter, guard=guard).run(**CALL).outcome
    assert outcome.rationale == "provider_quota_exceeded"
    assert (adapter.requests, store.count) == ([], 0)


async def test_a_further_page_waits_no_longer_than_the_search_can_spare() -> None:
    """While the rate is not known yet, too: what the first page brought is returned in time."""
    clock = FakeClock()
    guard = ProviderGuard("p", clock=clock.monotonic, wall_clock=clock.time)

    class Paged:
        provider_name = "p"

        def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
            raise NotImplementedError

        async def asearch(self, query: str, *, max_results: int, turn: Any = None) -> Any:
            for _ in range(30):  # other searches, which are not answered yet
                guard.admit()
            with suppress(SearchProviderError):
                await turn()
            return answer(notices=[f"{clock.monotonic() - began:.1f} s"])

    began = clock.monotonic()
    its = WebSearchWorker(
        Paged(),
        spans=NULL_SINK,
        guard=guard,
        timeout_s=4.0,
        deadline_s=8.0,
        asleep=clock.asleep,
        timer=clock.monotonic,
    )
    found = await its.arun(**CALL)
    assert found.outcome.decision == "ok"
    assert found.outcome.meta["notices"] == ["4.0 s"]
