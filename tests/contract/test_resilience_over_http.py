"""Limits, breaker and fallback through worker, service and graph, against servers on loopback."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import pytest
from support import ports
from support.one_a_second import OneASecond
from support.routes import opened
from support.scripted_world import INPUT
from support.virtual_time import VirtualTime

from collection_search import (
    CollectionSearchGraph,
    SearchContext,
    Settings,
    WebSearchError,
    WebSearchService,
    WebSearchWorker,
)
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.resilience import ProviderGuard
from collection_search.runtime.concurrency import run_blocking
from collection_search.runtime.spans import NULL_SINK
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.rate_file import RateFile
from collection_search.testing import FakeClock, ProviderServer, example_context
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.brave import Brave
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.tavily import Tavily
from collection_search.testing.providers.wire import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from collection_search.contracts.search import SearchAdapterResponse, WebSearchResponse
    from collection_search.testing.providers.wire import ProviderRequest, Reply

PATIENCE_S: Final = 60.0
METHODS: Final = ("run", "arun")


def settings(home: Path, *servers: ProviderServer, **changes: Any) -> Settings:
    """Return settings that lead to the servers; `access` is added to what is said of each."""
    access = changes.pop("access", {})
    known = {
        server.dialect.name: {"api_key": server.dialect.key, "base_url": server.base_url, **access}
        for server in servers
    }
    if "google" in known:
        known["google"]["search_engine_id"] = ENGINE_ID
    usual = {"home": home, "providers": known, "answer_cache_s": 0}
    return Settings(**{**usual, "provider": servers[0].dialect.name, **changes})


def worker_at(
    clock: FakeClock | VirtualTime, adapter: Any, guard: ProviderGuard | None, **more: Any
) -> WebSearchWorker:
    return WebSearchWorker(
        adapter,
        sleep=clock.sleep,
        asleep=clock.asleep,
        timer=clock.monotonic,
        guard=guard,
        spans=NULL_SINK,
        **{"timeout_s": PATIENCE_S, "deadline_s": 3600.0, **more},
    )


def guard_at(clock: FakeClock | VirtualTime, name: str = "tavily", **limits: Any) -> ProviderGuard:
    return ProviderGuard(name, clock=clock.monotonic, wall_clock=clock.time, **limits)


def searched(worker: WebSearchWorker, method: str = "run", query: str = "asyncio") -> Any:
    call: dict[str, Any] = {"query": query, "context": example_context()}
    return worker.run(**call) if method == "run" else asyncio.run(worker.arun(**call))


# --- a plan of one request per second


class OnePerSecond(OneASecond, Tavily):
    def answer(self, request: ProviderRequest) -> Reply:
        return self.failures()["throttled"].reply if self.is_early() else super().answer(request)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_plan_of_one_per_second_never_throttles_five_parallel_queries(
    method: str, workers: int
) -> None:
    """From one worker, or from two that share the provider and its key: none sees a 429."""
    clock = VirtualTime()
    with ProviderServer(OnePerSecond(clock.monotonic)) as server:
        guard = guard_at(clock, rate_per_s=1)
        adapter = TavilySearch(api_key=KEY, base_url=server.base_url)
        each = [worker_at(clock, adapter, guard) for _ in range(workers)]
        calls = [(each[n % workers], f"asyncio {n}") for n in range(5 * workers)]
        responses = _all_at_once(clock, calls, method)
        dialect: Any = server.dialect
    assert [response.outcome.decision for response in responses] == ["ok"] * len(calls)
    assert [response.outcome.meta["attempts"] for response in responses] == [1] * len(calls)
    assert (dialect.throttled, len(dialect.arrivals)) == (0, len(calls))
    assert clock.monotonic() == pytest.approx(1.05 * (len(calls) - 1))


@pytest.mark.parametrize("method", METHODS)
def test_without_any_setting_one_refusal_teaches_the_rate(method: str) -> None:
    """Five queries at once, run after run, without header and hint: all are answered."""
    clock = VirtualTime()
    with ProviderServer(OnePerSecond(clock.monotonic)) as server:
        guard = guard_at(clock)
        worker = worker_at(clock, TavilySearch(api_key=KEY, base_url=server.base_url), guard)
        for run in range(3):
            calls = [(worker, f"asyncio {run} {n}") for n in range(5)]
            responses = _all_at_once(clock, calls, method)
            assert [response.outcome.decision for response in responses] == ["ok"] * 5
            extra = sum(response.outcome.meta["attempts"] - 1 for response in responses)
            assert extra == (1 if run == 0 else 0)
        dialect: Any = server.dialect
    assert dialect.throttled == 1
    assert len(dialect.arrivals) == 16


class BraveOnePerSecond(OneASecond, Brave):
    """The same plan at Brave, whose answers state it in their headers.

    With `meets` the first answer waits for the second request.
    """

    def __init__(self, clock: Callable[[], float], *, meets: bool) -> None:
        super().__init__(clock)
        self.met = threading.Event()
        if not meets:
            self.met.set()

    def answer(self, request: ProviderRequest) -> Reply:
        if self.is_early():
            self.met.set()
            return self.failures()["throttled"].reply
        assert self.met.wait(PATIENCE_S), "no second request came"
        return super().answer(request)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alone_first", [True, False])
def test_a_header_teaches_the_rate(method: str, alone_first: bool) -> None:
    """After one answer nobody is refused; of two at once one is, and that costs no budget."""
    clock = VirtualTime()
    with ProviderServer(BraveOnePerSecond(clock.monotonic, meets=not alone_first)) as server:
        guard = guard_at(clock, "brave")
        worker = worker_at(clock, BraveSearch(api_key=KEY, base_url=server.base_url), guard)
        if alone_first:
            _all_at_once(clock, [(worker, "asyncio")], method)
        responses = _all_at_once(clock, [(worker, f"asyncio {n}") for n in range(5)], method)
        dialect: Any = server.dialect
    assert [response.outcome.decision for response in responses] == ["ok"] * 5
    assert dialect.throttled == (0 if alone_first else 1)


@pytest.mark.parametrize("method", METHODS)
def test_the_next_process_knows_the_rate(tmp_path: Path, method: str) -> None:
    """One refusal ever: a guard that is made later reads what the first one wrote."""
    clock = VirtualTime()
    with ProviderServer(OnePerSecond(clock.monotonic)) as server:
        for run in range(3):
            guard = guard_at(clock, memory=RateFile(tmp_path / "home", "tavily 1"))
            worker = worker_at(clock, TavilySearch(api_key=KEY, base_url=server.base_url), guard)
            _all_at_once(clock, [(worker, "wait")], method)  # the last process's second is over
            clock._now += 2
            calls = [(worker, f"asyncio {run} {n}") for n in range(5)]
            responses = _all_at_once(clock, calls, method)
            assert [response.outcome.decision for response in responses] == ["ok"] * 5
            clock._now += 2
        dialect: Any = server.dialect
    assert dialect.throttled == 1


@pytest.mark.parametrize("method", METHODS)
def test_without_a_limit_they_are_throttled(method: str) -> None:
    """The server of the test before does what it should; retries end well nevertheless or not."""
    clock = VirtualTime()
    with ProviderServer(OnePerSecond(clock.monotonic)) as server:
        adapter = TavilySearch(api_key=KEY, base_url=server.base_url)
        worker = worker_at(clock, adapter, None)
        _all_at_once(clock, [(worker, f"asyncio {n}") for n in range(5)], method)
        dialect: Any = server.dialect
    assert dialect.throttled >= 4


def test_a_loop_that_stood_still_throttles_nobody() -> None:
    """All five wake late and at once: the distance is that of requests, not of plans for them."""
    clock = VirtualTime()

    class Stalling(VirtualTime):
        """Every sleep ends when the last one does."""

        async def asleep(self, seconds: float) -> None:
            late = 10.0 - clock.monotonic() if clock.monotonic() < 10 else seconds
            await clock.asleep(max(seconds, late))

    with ProviderServer(OnePerSecond(clock.monotonic)) as server:
        adapter = TavilySearch(api_key=KEY, base_url=server.base_url)
        guard = guard_at(clock, rate_per_s=1)
        stalling = Stalling()
        worker = WebSearchWorker(
            adapter,
            asleep=stalling.asleep,
            timer=clock.monotonic,
            guard=guard,
            spans=NULL_SINK,
            timeout_s=PATIENCE_S,
        )
        responses = _all_at_once(clock, [(worker, f"asyncio {n}") for n in range(5)], "arun")
        dialect: Any = server.dialect
    assert [response.outcome.meta["attempts"] for response in responses] == [1] * 5
    assert dialect.throttled == 0


def _all_at_once(
    clock: VirtualTime, calls: list[tuple[WebSearchWorker, str]], method: str
) -> list[WebSearchResponse]:
    context = example_context()
    if method == "run":
        return clock.threads(
            [lambda w=w, q=q: w.run(query=q, context=context) for w, q in calls]  # type: ignore[misc]
        )

    async def gathered() -> list[WebSearchResponse]:
        return await clock.gather(*(w.arun(query=q, context=context) for w, q in calls))

    return asyncio.run(gathered())


class SavedUp(Tavily):
    """Allows one request per second since it began, those not made before included.

    However late a busy machine lets a request arrive, one that was sent in time is no 429.
    """

    def __init__(self) -> None:
        super().__init__()
        self.throttled = 0
        self.began = time.monotonic()
        self.count = 0
        self._lock = threading.Lock()

    def answer(self, request: ProviderRequest) -> Reply:
        with self._lock:
            early = self.count > time.monotonic() - self.began
            self.count += 1
            self.throttled += early
        return self.failures()["throttled"].reply if early else super().answer(request)


@pytest.mark.slow
def test_two_runs_of_the_graph_share_the_plan(tmp_path: Path) -> None:
    """Real time, real waiting: every query of both is answered at its first attempt."""
    with ProviderServer(SavedUp()) as server:
        access = {"rate_per_s": 1}
        chosen = settings(tmp_path, server, access=access, search_timeout_s=PATIENCE_S)
        graph = CollectionSearchGraph(SearchContext(settings=chosen))
        questions = ["How does asyncio cancel a task?", "What does sqlite do in a task?"]

        async def both() -> Any:
            runs = (graph.arun({**INPUT, "question": question}) for question in questions)
            return await asyncio.gather(*runs)

        dialect: Any = server.dialect
        dialect.began = time.monotonic()
        results = [result for _, result in asyncio.run(both())]
    queries = [query for result in results for query in result["search"]["queries"]]
    assert dialect.throttled == 0
    assert len(server.requests) == len(queries) >= 6
    assert {query["decision"] for query in queries} == {"ok"}


# --- throttle and quota, for every body of the reference

BODIES: Final = {
    "google": {
        "throttled": "rateLimited",
        "throttled_inside_a_200": "rateLimited",
        "used_up_for_the_day": "quotaExceeded",
        "used_up_inside_a_200": "quotaExceeded",
        "used_up_old_form": "quotaExceeded",
    },
    "tavily": {
        "throttled": "rateLimited",
        "throttled_keyless": "rateLimited",
        "plan_used_up": "quotaExceeded",
        "pay_as_you_go_used_up": "quotaExceeded",
    },
    "brave": {
        "throttled": "rateLimited",
        "throttled_without_a_hint": "rateLimited",
        "quota_used_up": "quotaExceeded",
        "quota_limited": "quotaExceeded",
    },
    "searxng": {"limited": "rateLimited"},
    "serper": {"throttled": "rateLimited", "no_credit": "quotaExceeded"},
    "serpapi": {"throttled": "rateLimited", "used_up": "quotaExceeded"},
    "exa": {
        "throttled": "rateLimited",
        "no_credit": "quotaExceeded",
        "budget_used_up": "quotaExceeded",
    },
    "linkup": {
        "throttled": "rateLimited",
        "queue_full": "rateLimited",
        "no_credit": "quotaExceeded",
        "budget_used_up": "quotaExceeded",
        "payment_asked_for": "quotaExceeded",
    },
    "perplexity": {
        "throttled": "rateLimited",
        "throttled_with_a_hint": "rateLimited",
        "quota_used_up": "quotaExceeded",
    },
    "mojeek": {
        "throttled": "rateLimited",
        "used_up_for_the_day": "quotaExceeded",
        "used_up_inside_a_200": "quotaExceeded",
    },
    "kagi": {
        "throttled": "rateLimited",
        "no_credit": "quotaExceeded",
        "no_credit_old_form": "quotaExceeded",
    },
    "openalex": {"throttled": "rateLimited", "budget_used_up": "quotaExceeded"},
    "wikipedia": {"maxlag": "rateLimited", "ratelimited": "rateLimited"},
}
"""What each vendor's refusals mean: said here once more, so that no double can be wrong alone."""

CASES: Final = [(name, body) for name, bodies in BODIES.items() for body in bodies]


def test_no_body_is_left_out() -> None:
    """Every throttle and every used-up plan that a double knows is in the table."""
    told = {
        name: {
            failure: scripted.expected.code
            for failure, scripted in dialect().failures().items()
            if scripted.expected.code in ("rateLimited", "quotaExceeded")
        }
        for name, dialect in DIALECTS.items()
    }
    assert told == BODIES


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "body"), CASES)
def test_throttle_and_quota_are_never_confused(
    tmp_path: Path, name: str, body: str, method: str
) -> None:
    """A throttle is tried again and closes nothing; a quota is not, and closes the provider."""
    clock, code = FakeClock(), BODIES[name][body]
    with ProviderServer(name) as server:
        adapter = make_adapter(settings(tmp_path, server), "search", name)
        worker = worker_at(clock, adapter, guard_at(clock, name))
        server.fail(body)
        meta = searched(worker, method).outcome.meta
        error, refused = meta["error"], len(server.requests)
        assert (error["kind"], error["code"]) == ("SearchProviderQuotaExceeded", code)
        assert error["retryable"] == (code == "rateLimited")
        attempts = 3 if code == "rateLimited" else 1
        assert (meta["attempts"], refused) == (attempts, attempts)
        server.recover()
        again = searched(worker, method).outcome
        if code == "rateLimited":
            assert again.decision == "ok"
            assert len(server.requests) == refused + 1
            return
        assert (again.decision, again.rationale) == ("error", "provider_quota_exceeded")
        assert len(server.requests) == refused
        assert again.meta["attempts"] == again.meta["request_count"] == 0
        closed = again.meta["error"]
        assert (closed["code"], closed["retryable"]) == ("quotaExceeded", False)
        assert f"{name} is not asked" in closed["message"]
        again_at = "15 00:00" if name == "openalex" else "14 22:23"  # it tells: midnight
        assert f"It is asked again at 2023-11-{again_at} UTC." in closed["message"]
        clock.advance(closed["retry_in_ms"] / 1000)
        assert searched(worker, method).outcome.decision == "ok"
        assert len(server.requests) == refused + 1


# --- a provider that is dead for a minute

DEAD_FROM, DEAD_UNTIL, END = 60.0, 120.0, 180.0
PER_S: Final = 2


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is ours and at which nobody listens."""
    with ports.closed_port() as port:
        yield port


class Dying:
    """An adapter whose provider refuses connections for a minute, and what it was asked when."""

    provider_name = "tavily"

    def __init__(self, clock: VirtualTime, alive: str, dead: str) -> None:
        self.clock = clock
        self.alive = TavilySearch(api_key=KEY, base_url=alive)
        self.dead = TavilySearch(api_key=KEY, base_url=dead)
        self.asked: list[tuple[float, str]] = []

    def search(
        self, query: str, *, max_results: int, timeout: float = PATIENCE_S
    ) -> SearchAdapterResponse:
        return run_blocking(self.asearch(query, max_results=max_results, timeout=timeout))

    async def asearch(
        self,
        query: str,
        *,
        max_results: int,
        timeout: float,  # noqa: ASYNC109 - the keyword of the port
    ) -> SearchAdapterResponse:
        now = self.clock.monotonic()
        self.asked.append((now, query))
        inner = self.dead if DEAD_FROM <= now < DEAD_UNTIL else self.alive
        return await inner.asearch(query, max_results=max_results, timeout=timeout)


@pytest.mark.slow
def test_a_provider_that_is_dead_for_a_minute(closed_port: int) -> None:
    """Two searches a second for three minutes, the provider refuses connections in the second.

    Extra requests are the second and third attempts. Held, for any number of searches:
    - extra requests <= 20 % of the first attempts that were made in the outage and the minute
      before it (the window of the retry budget), and so of the searches wanted in that time;
    - within 5 s of the outage a search makes no request and says why;
    - while it lasts the provider gets only trials, and 31 s after its end all is as before;
    - another provider, asked at the same moments, never notices.
    """
    clock = VirtualTime()
    with ProviderServer("tavily") as first, ProviderServer("brave") as second:
        dying = Dying(clock, first.base_url, f"http://127.0.0.1:{closed_port}")
        other = make_adapter(
            Settings(providers={"brave": {"api_key": KEY, "base_url": second.base_url}}),
            "search",
            "brave",
        )
        hit = worker_at(clock, dying, guard_at(clock))
        spared = worker_at(clock, other, guard_at(clock, "brave"))

        async def at(moment: float, worker: WebSearchWorker, query: str) -> WebSearchResponse:
            await clock.asleep(moment)
            return await worker.arun(query=query, context=example_context())

        moments = [number / PER_S for number in range(int(END * PER_S))]

        async def searches() -> list[WebSearchResponse]:
            return await clock.gather(
                *(at(moment, hit, f"asyncio {moment}") for moment in moments),
                *(at(moment, spared, f"asyncio {moment}") for moment in moments),
            )

        responses = asyncio.run(searches())
    ours = dict(zip(moments, (r.outcome for r in responses[: len(moments)]), strict=True))
    attempts = [outcome.meta["attempts"] for outcome in ours.values()]
    extra = sum(number - 1 for number in attempts if number)
    firsts = sum(moment < DEAD_UNTIL and bool(o.meta["attempts"]) for moment, o in ours.items())
    assert len(dying.asked) == sum(attempts)
    assert 0 < extra <= 0.2 * firsts
    refused = {m: o for m, o in ours.items() if o.decision == "error" and not o.meta["attempts"]}
    assert DEAD_FROM <= min(refused) <= DEAD_FROM + 5
    error = refused[min(refused)].meta["error"]
    assert (error["code"], error["retryable"]) == ("serviceUnavailable", True)
    assert "It is asked again in" in error["message"]
    assert error["retry_in_ms"] > 0
    in_vain = [moment for moment, _ in dying.asked if DEAD_FROM + 5 <= moment < DEAD_UNTIL]
    assert len(in_vain) <= 4
    assert all(ours[m].decision == "ok" for m in moments if not DEAD_FROM <= m < DEAD_UNTIL + 31)
    others = [response.outcome for response in responses[len(moments) :]]
    assert {outcome.decision for outcome in others} == {"ok"}
    assert len(second.requests) == len(moments)


@pytest.mark.parametrize("method", METHODS)
def test_nobody_listens(closed_port: int, method: str) -> None:
    """A refused connection is no answer: tried again, and after five failures no more."""
    clock = FakeClock()
    adapter = TavilySearch(api_key=KEY, base_url=f"http://127.0.0.1:{closed_port}")
    worker = worker_at(clock, adapter, guard_at(clock))
    outcomes = [searched(worker, method).outcome for _ in range(3)]
    assert [outcome.meta["attempts"] for outcome in outcomes] == [3, 2, 0]
    assert {outcome.rationale for outcome in outcomes} == {"provider_unavailable"}


# --- the service while its first provider is closed


def without_texts(query: str) -> dict[str, Any]:
    """Return a request that needs no page of the web."""
    return {"query": query, "options": {"include_content": False}}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ProviderServer, ProviderServer, Settings]]:
    with ProviderServer("tavily") as first, ProviderServer("brave") as second:
        yield first, second, settings(tmp_path, first, second, use_fallback=True)


@pytest.mark.parametrize("method", METHODS)
def test_the_fallback_answers_while_the_first_is_closed(pair: Any, method: str) -> None:
    """The used-up plan is found out once; from then on only the fallback is asked, and told why."""
    first, second, chosen = pair
    first.fail("plan_used_up")
    service = WebSearchService(chosen)

    def search(query: str) -> Any:
        asked = without_texts(query)
        return service.search(asked) if method == "run" else asyncio.run(service.asearch(asked))

    answers = [search(f"asyncio {number}") for number in range(3)]
    assert (len(first.requests), len(second.requests)) == (1, 3)
    assert [answer.provider for answer in answers] == ["brave"] * 3
    assert all(answer.results for answer in answers)
    for answer in answers:
        told = [(attempt.provider, attempt.rationale) for attempt in answer.routing]
        assert told == [("tavily", "provider_quota_exceeded"), ("brave", "search_completed")]
    assert "It is asked again at" in answers[-1].routing[0].message


def test_without_the_fallback_the_closed_provider_is_told(pair: Any) -> None:
    """Code, no retry, and when there may be an answer again."""
    first, second, chosen = pair
    first.fail("plan_used_up")
    service = WebSearchService(chosen.model_copy(update={"use_fallback": False}))
    errors = []
    for number in range(2):
        with pytest.raises(WebSearchError) as caught:
            service.search(without_texts(f"asyncio {number}"))
        errors.append(caught.value)
    assert (len(first.requests), len(second.requests)) == (1, 0)
    assert [(error.code, error.retryable) for error in errors] == [("quotaExceeded", False)] * 2
    assert errors[1].retry_after_ms
    assert "It is asked again at" in errors[1].message


def test_a_key_that_is_refused_three_times_is_not_sent_again(pair: Any) -> None:
    """The fallback answers; the wrong key is told, and which variable to set."""
    first, second, chosen = pair
    first.fail("key_refused")
    service = WebSearchService(chosen)
    answers = [service.search(without_texts(f"asyncio {number}")) for number in range(5)]
    assert (len(first.requests), len(second.requests)) == (3, 5)
    assert {answer.routing[0].rationale for answer in answers} == {"provider_authentication_failed"}
    assert "TAVILY_API_KEY" in answers[-1].routing[0].message


def test_the_guard_is_one_for_worker_service_and_graph(tmp_path: Path) -> None:
    """What one of them learnt, the others know: the same provider, key and address."""
    with ProviderServer("tavily") as server:
        chosen = settings(tmp_path, server)
        server.fail("plan_used_up")
        with pytest.raises(WebSearchError):
            WebSearchService(chosen).search("asyncio")
        context = SearchContext(settings=chosen)

        async def searched_by_route() -> Any:
            async with opened(context) as route:
                return await route.arun(query="asyncio", context=example_context())

        outcome = asyncio.run(searched_by_route()).outcome
        assert (outcome.rationale, outcome.meta["attempts"]) == ("provider_quota_exceeded", 0)
        _, result = CollectionSearchGraph(context).run(INPUT)
        assert result["outcome"] == "search_failed"
        assert {error["code"] for error in result["search"]["errors"]} == {"quotaExceeded"}
        assert len(server.requests) == 1
