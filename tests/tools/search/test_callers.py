"""How adapters are called: keywords, names, threads, time limits and cancellation."""

import asyncio
import threading
import time
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

from collection_search.contracts.search import SearchAdapterResponse
from collection_search.errors import InputError
from collection_search.ports.description import describe
from collection_search.ports.search_function import Asked, SearchFunction
from collection_search.testing import FakeClock, RecordingSink, example_context, rows
from collection_search.tools.search.callers import run_to_end
from collection_search.tools.web_search import WebSearchWorker

CONTEXT = example_context()
EMPTY = SearchAdapterResponse(results=[], status_code=200)
tenant: ContextVar[str] = ContextVar("tenant", default="nobody")


class Adapter:
    """Notes what it was called with; made from a function with the signature under test."""

    def __init__(self, search: Any, **attributes: Any) -> None:
        self.search = search
        self.__dict__ |= attributes


@pytest.fixture
def spans() -> RecordingSink:
    return RecordingSink()


def worker(adapter: Any, **options: Any) -> WebSearchWorker:
    return WebSearchWorker(adapter, **options)


def test_max_results_dialect():
    """The specified keyword is passed."""
    assert SearchFunction.of(lambda query, *, max_results: max_results).call(Asked("q", 7), timeout_s=1)() == 7  # fmt: skip


def test_limit_dialect():
    """An older adapter gets `limit`."""
    assert SearchFunction.of(lambda query, limit: limit).call(Asked("q", 7), timeout_s=1)() == 7


def test_open_ended_dialect():
    """`**kwargs` gets `max_results`, and no timeout that it may pass on blindly."""
    call = SearchFunction.of(lambda query, **kwargs: kwargs).call(Asked("q", 7), timeout_s=1)
    assert call() == {"max_results": 7}


def test_bare_dialect():
    """A search without any count gets the query alone."""
    assert SearchFunction.of(lambda query: query).call(Asked("q", 7), timeout_s=1)() == "q"


def test_both_names_dialect():
    """Where both are known, the specified one is used."""
    call = SearchFunction.of(lambda query, limit=0, max_results=0: (limit, max_results))
    assert call.call(Asked("q", 7), timeout_s=1)() == (0, 7)


def test_timeout_dialect():
    """A `timeout` keyword gets the limit in seconds."""
    call = SearchFunction.of(lambda query, *, max_results, timeout: timeout)
    assert call.call(Asked("q", 7), timeout_s=1.5)() == 1.5


def test_a_function_without_a_signature_gets_the_protocols_keyword():
    """Where nothing can be read from the function, the specification is assumed."""
    dialect = SearchFunction.of(type("Opaque", (), {"__signature__": 1, "__call__": print})())
    assert (dialect.count_keyword, dialect.takes_timeout) == ("max_results", False)


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"provider_name": "google", "provider": "old"}, "google"),
        ({"provider": lambda self: "legacy"}, "legacy"),
        ({"provider": "legacy"}, "legacy"),
        ({"provider_name": " ", "provider": None}, "Some"),
        ({"provider_name": None, "provider": lambda self: 7}, "Some"),
        ({}, "Some"),
    ],
    ids=["name", "legacy method", "legacy attribute", "blank", "no text", "class"],
)
def test_provider_name(attributes, name):
    """`provider_name`, else the legacy `provider`, else the class."""
    assert describe(type("Some", (), attributes)()).info.name == name


def test_the_legacy_adapter_searches(spans):
    """An adapter with `provider()` and `limit=` works as it is, and its name is reported."""

    class LegacyAdapter:
        def provider(self) -> str:
            return "legacy"

        def search(self, query, limit):
            return SearchAdapterResponse(results=rows(limit), status_code=200)

    response = worker(LegacyAdapter(), spans=spans, max_results=3).run(query="x", context=CONTEXT)
    assert response.outcome.meta["provider"] == "legacy"
    assert response.outcome.meta["raw_result_count"] == 6


@pytest.mark.parametrize("adapter", [object(), Adapter(None), Adapter(asyncio.sleep)])
def test_what_is_no_adapter_is_refused_at_once(adapter):
    """Without a blocking `search` there is nothing to call."""
    with pytest.raises(InputError, match="search"):
        worker(adapter)


def test_finished_refuses_to_wait():
    """A coroutine that suspends cannot be driven by the blocking face."""
    with pytest.raises(RuntimeError, match="tried to wait"):
        run_to_end(asyncio.sleep(0))


def test_an_adapter_with_a_timeout_runs_in_the_callers_thread(spans):
    """The blocking face starts no thread for an adapter that keeps its own time."""
    threads = []

    def search(query, *, max_results, timeout):
        threads.append(threading.current_thread())
        return EMPTY

    worker(Adapter(search), spans=spans).run(query="x", context=CONTEXT)
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("method", ["run", "arun"])
def test_an_adapter_without_a_timeout_is_run_under_the_deadline(spans, method):
    """A blocking search that hangs is left behind, and the outcome says why."""
    release, clock = threading.Event(), FakeClock()

    def search(query, *, max_results):
        clock.advance(1)
        release.wait(60)
        return EMPTY

    one = worker(Adapter(search), spans=spans, deadline_s=0.05, timer=clock.monotonic)
    started = time.monotonic()
    try:
        if method == "run":
            outcome = one.run(query="x", context=CONTEXT).outcome
        else:

            async def main() -> Any:
                try:
                    return await one.arun(query="x", context=CONTEXT)
                finally:
                    release.set()

            outcome = asyncio.run(main()).outcome
    finally:
        release.set()
    assert time.monotonic() - started < 30
    assert (outcome.rationale, outcome.meta["attempts"]) == ("provider_timeout", 1)


def test_a_coroutine_that_hangs_is_cancelled_at_the_deadline(spans):
    """`asearch` is cancelled, so that it can close its connection."""
    cancelled, clock = [], FakeClock()

    class Hanging(Adapter):
        async def asearch(self, query, *, max_results):
            clock.advance(1)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(query)
                raise

    one = worker(Hanging(lambda query: EMPTY), spans=spans, deadline_s=0.05, timer=clock.monotonic)
    outcome = asyncio.run(one.arun(query="x", context=CONTEXT)).outcome
    assert cancelled == ["x"]
    assert outcome.rationale == "provider_timeout"


async def test_a_coroutine_that_does_not_let_itself_be_cancelled_is_too_late(spans):
    """What it returns after the deadline is no answer."""
    clock = FakeClock()

    class Stubborn(Adapter):
        async def asearch(self, query, *, max_results):
            clock.advance(1)
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return EMPTY

    one = worker(Stubborn(lambda query: EMPTY), spans=spans, deadline_s=0.05, timer=clock.monotonic)
    outcome = (await one.arun(query="x", context=CONTEXT)).outcome
    assert outcome.rationale == "provider_timeout"


async def test_cancelling_reaches_the_adapter(spans):
    """A cancelled search cancels the adapter's coroutine and is not turned into an outcome."""
    started, cancelled = asyncio.Event(), []

    class Waiting(Adapter):
        async def asearch(self, query, *, max_results):
            try:
                started.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(query)
                raise

    one = worker(Waiting(lambda query: EMPTY), spans=spans)
    task = asyncio.create_task(one.arun(query="x", context=CONTEXT))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == ["x"]


@pytest.mark.parametrize("method", ["run", "arun"])
def test_context_variables_reach_the_adapter(spans, method):
    """A search in another thread sees the caller's context, so that spans nest."""
    seen = []

    def search(query, *, max_results):
        seen.append((tenant.get(), threading.current_thread() is threading.main_thread()))
        return EMPTY

    token = tenant.set("acme")
    one = worker(Adapter(search), spans=spans)
    if method == "run":
        one.run(query="x", context=CONTEXT)
    else:
        asyncio.run(one.arun(query="x", context=CONTEXT))
    tenant.reset(token)
    assert seen == [("acme", False)]


async def test_many_blocking_adapters_run_at_once(spans):
    """A hundred searches wait together, however few threads the event loop's own pool has."""
    gate = threading.Barrier(100, timeout=60)

    def search(query, *, max_results):
        gate.wait()
        return EMPTY

    one = worker(Adapter(search), spans=spans)
    found = await asyncio.gather(*(one.arun(query="x", context=CONTEXT) for _ in range(100)))
    assert {response.outcome.decision for response in found} == {"ok"}


async def test_the_blocking_face_works_inside_an_event_loop(spans):
    """`run` may be called where a loop runs already."""
    response = worker(Adapter(lambda query: EMPTY), spans=spans).run(query="x", context=CONTEXT)
    assert response.outcome.decision == "ok"


def test_one_worker_serves_several_event_loops(spans):
    """Nothing in a worker belongs to the loop that used it first."""
    one = worker(Adapter(lambda query: EMPTY), spans=spans)
    outcomes = [asyncio.run(one.arun(query="x", context=CONTEXT)).outcome for _ in range(2)]
    assert [outcome.decision for outcome in outcomes] == ["ok", "ok"]
