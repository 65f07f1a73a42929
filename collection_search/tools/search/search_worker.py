"""Web search through any adapter, with retries, normalized results and telemetry."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...contracts.options import NO_OPTIONS, SearchOptions, utc_today
from ...contracts.price_list import LIST_PRICES, PriceList
from ...errors import (
    CollectionSearchError,
    CostLimitReached,
    InvalidQueryError,
    SearchProviderBadResponse,
)
from ...planning.quality import rows_to_request
from ...ports import TraceRef
from ...ports.description import describe
from ...ports.search_function import Asked
from ...ports.tracing import DEFAULT_WORKFLOW
from ...runtime.cancellation import ends_caller
from ...runtime.failure_log import log_failure
from ...runtime.metering import guarded
from ...runtime.spans import NULL_SPAN
from ...text.clean import MAX_QUERY_CHARS, to_unicode
from ...text.redaction import mask
from ...text.validation import whole_number
from .arguments import validate_context, validate_count, validate_query, validate_seconds, wanted
from .attempts import AttemptRules, Attempts, OutOfTimeError
from .billing import price_of
from .callers import AdapterCaller, AwaitingCaller, BlockingCaller, run_to_end
from .normalize import deduplicate, has_valid_result, valid_results
from .option_filter import applied_options, filter_results
from .page_texts import add_texts
from .retry import RetrySchedule, full_jitter
from .telemetry import Failure, SearchFacts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from datetime import date

    from ...contracts.search import SearchAdapterResponse, ToolContext, WebSearchResponse
    from ...ports import BaseSearchAdapter, PageReader, SearchMetrics, SpanSink
    from ...resilience.provider_limits import ProviderGuard
    from ...text.redaction import CaptureMode
    from ..spending.budget import RunBudget
    from .cache import SearchCache

MAX_ROWS: Final = 1_000
"""Rows of one answer that are read unless more were asked for: reading blocks the loop."""

_LOGGER = logging.getLogger("collection_search.tools.web_search")  # as callers know it


class _Observers(NamedTuple):
    """Where the observations and the figures of a search go."""

    sink: SpanSink
    metrics: SearchMetrics


class WebSearchWorker:
    """Searches the web with one adapter; safe to share between threads and event loops.

    Every call returns a `WebSearchResponse`; a failing provider is an outcome `error` with its
    cause. Only a wrong argument raises an `InputError`, and cancellation passes through.
    """

    def __init__(
        self,
        adapter: BaseSearchAdapter,
        *,
        max_results: int = 10,
        max_attempts: int = 3,
        backoff_factor: float = 0.6,
        oversample_factor: int = 2,
        sleep: Callable[[float], None] | None = None,
        timer: Callable[[], float] | None = None,
        logger: logging.Logger | None = None,
        asleep: Callable[[float], Awaitable[None]] | None = None,
        timeout_s: float = 10.0,
        retry_timeout_s: float = 20.0,
        deadline_s: float = 60.0,
        spans: SpanSink | None = None,
        metrics: SearchMetrics | None = None,
        guard: ProviderGuard | None = None,
        prices: PriceList = LIST_PRICES,
        budget: RunBudget | None = None,
        on_billed: Callable[[str, int, float | None], None] | None = None,
        cache: SearchCache | None = None,
        reader: Callable[[], Awaitable[PageReader]] | None = None,
        today: Callable[[], date] | None = None,
        capture_query: CaptureMode = "full",
    ) -> None:
        self._max_results = validate_count("max_results", max_results, most=10_000)
        self._oversample = validate_count("oversample_factor", oversample_factor, most=100)
        described = describe(adapter)
        self._page_size = described.info.page_size
        self._deadline_s = validate_seconds("deadline_s", deadline_s)
        self._rules = AttemptRules(
            provider=described.info.name,
            schedule=RetrySchedule(
                max_attempts=validate_count("max_attempts", max_attempts, most=100),
                backoff_factor=validate_seconds("backoff_factor", backoff_factor, least=0.0),
                jitter=full_jitter if sleep is None and asleep is None else None,
            ),
            timer=timer or time.monotonic,
            timeout_s=validate_seconds("timeout_s", timeout_s),
            retry_timeout_s=validate_seconds("retry_timeout_s", retry_timeout_s),
            guard=guard,
            prices=prices,
            budget=budget,
            on_billed=on_billed,
            price_of=price_of(described),
        )
        self._blocking = BlockingCaller(described, sleep or time.sleep)
        self._awaiting = AwaitingCaller(described, asleep)
        self._logger = logger or _LOGGER
        self._spans = spans
        self._metrics = None if metrics is None else guarded(metrics)
        self._cache = cache
        self._reader = reader
        self._today = today or utc_today
        self._capture_query: CaptureMode = capture_query

    def run(
        self,
        *,
        query: str,
        context: ToolContext | Mapping[str, Any],
        options: SearchOptions | None = None,
    ) -> WebSearchResponse:
        """Return what the provider found, or why it failed. Blocks; `arun` does not.

        The outcome's `meta["options"]` says how each option was applied.
        """
        context = validate_context(context)
        return run_to_end(self._run(query, context, options, self._blocking, self._observers()))

    async def arun(
        self,
        *,
        query: str,
        context: ToolContext | Mapping[str, Any],
        options: SearchOptions | None = None,
        ends_at: float | None = None,
    ) -> WebSearchResponse:
        """Return the same as `run`; cancelling it cancels the adapter's coroutine.

        `ends_at` is a time of the worker's `timer` at which the call ends, before its own deadline.
        """
        from ...runtime.concurrency import offload

        reads_settings = self._spans is None or self._metrics is None
        observers = await offload(self._observers) if reads_settings else self._observers()
        context = validate_context(context)
        return await self._run(query, context, options, self._awaiting, observers, ends_at=ends_at)

    async def recall(self, queries: Sequence[str], options: SearchOptions | None = None) -> None:
        """Look up the cached answers to several queries in one go, before they are searched."""
        if self._cache is not None:
            with suppress(InvalidQueryError):  # the search itself reports it
                await self._cache.recall([self._asked(query, options) for query in queries])

    async def known(self, queries: Sequence[str], options: SearchOptions | None = None) -> int:
        """Return how many of the queries the cache answers."""
        if self._cache is None:
            return 0
        await self.recall(queries, options)
        asked = [self._asked(query, options) for query in queries]
        return sum([await self._cache.get(one) is not None for one in asked])

    async def _run(
        self,
        query: str,
        context: ToolContext,
        options: SearchOptions | None,
        caller: AdapterCaller,
        observers: _Observers,
        *,
        ends_at: float | None = None,
    ) -> WebSearchResponse:
        options, started = wanted(options), self._rules.timer()
        provider, guard = self._rules.provider, self._rules.guard
        sink, metrics = observers
        said = to_unicode(str(query)[:MAX_QUERY_CHARS])  # not validated yet
        report = SearchFacts(context, provider, said, metrics=metrics)
        if guard is not None:
            metrics.watch_breaker(provider, guard)
        with sink.span("tool.web_search", kind="tool", trace=_trace(context)) as span:
            try:
                asked = self._asked(query, options)
                report.query = asked.query
                own_end = started + self._deadline_s
                ends = own_end if ends_at is None else min(ends_at, own_end)
                await self._search(asked, report, caller, ends_at=ends)
            except CollectionSearchError as error:
                report.failure = Failure.of(error)
            except OutOfTimeError as error:
                report.failure = Failure.of(error.reason)
            except BaseException as error:
                if ends_caller(error):
                    report.count(self._rules.timer() - started, cancelled=True)
                    raise
                log_failure(self._logger, "web search worker failed", error, level=logging.ERROR)
                report.failure = Failure.of(error)
            latency_s = self._rules.timer() - started
            report.latency_ms = round(latency_s * 1000)
            report.count(latency_s)
            if span is not NULL_SPAN:
                span.set(report.attributes(self._capture_query))
            if (cost := report.cost_usd) is not None:
                span.usage(model=provider, input_tokens=None, output_tokens=None, cost_usd=cost)
            if report.failure:
                span.fail(report.failure.kind, report.failure.message)
        return report.response()

    async def _search(
        self, asked: Asked, report: SearchFacts, caller: AdapterCaller, *, ends_at: float
    ) -> None:
        answer = await self._answer(asked, report, caller, ends_at=ends_at)
        report.http_status = whole_number(answer.status_code)
        report.quota_remaining = whole_number(answer.quota_remaining)
        report.notices.extend(str(notice) for notice in answer.notices)
        report.raw_result_count = len(answer.raw_results or answer.results)
        rows, provider = _first_rows(answer, asked), self._rules.provider
        results = valid_results(
            rows, provider=provider, dropped=self._log_dropped, today=self._today
        )
        report.normalized_result_count = len(results)
        if answer.results and not results:  # else it would look like an empty web
            raise SearchProviderBadResponse(
                f"{provider} answered with {len(answer.results)} rows, of which none can be used:"
                " a result needs an http(s) URL and a snippet or content.",
                http_status=report.http_status,
            )
        results = deduplicate(results)
        if asked.options is not NO_OPTIONS:
            report.options = applied_options(
                asked.options, answer.applied, results, counts=caller.counts
            )
            results = filter_results(results, asked.options, today=self._today())
        report.results = results[: asked.options.max_results or self._max_results]
        if self._reader is not None and (left_s := ends_at - self._rules.timer()) > 0:
            await add_texts(report, asked.options, self._reader, caller, timeout_s=left_s)

    async def _answer(
        self, asked: Asked, report: SearchFacts, caller: AdapterCaller, *, ends_at: float
    ) -> SearchAdapterResponse:
        """Return the provider's answer, a cached one where there is one."""
        cache, attempts = self._cache, Attempts(self._rules, asked, report, caller, ends_at)
        if cache is None:
            return await attempts.answer()
        is_new = False

        async def found() -> SearchAdapterResponse:
            nonlocal is_new
            if (known := await caller.wait_for(lambda: cache.get(asked))) is not None:
                return known
            is_new = True
            answer = await attempts.answer()
            if answer.complete and self._is_usable(answer, asked):
                await caller.wait_for(lambda: cache.put(asked, answer))
            return answer

        try:
            answer = await caller.share(cache.tenant_id, cache.key(asked), found)
        except (CostLimitReached, OutOfTimeError):
            if is_new or self._rules.timer() >= ends_at:
                raise
            # The limit, or the time, was that of another run that shared the call.
            return await self._answer(asked, report, caller, ends_at=ends_at)
        if not is_new:
            report.cached = True
            report.add_billed(0, 0.0)
        return answer

    def _is_usable(self, answer: SearchAdapterResponse, asked: Asked) -> bool:
        """Return whether the answer has no rows, or a valid one."""
        rows = _first_rows(answer, asked)
        return not answer.results or has_valid_result(rows, provider=self._rules.provider)

    def _observers(self) -> _Observers:
        """Return those that were given, else those of the process, which may read files."""
        from ...settings.process_defaults import default_metrics, default_sink

        if self._metrics is None:
            self._metrics = default_metrics()
        sink = default_sink() if self._spans is None else self._spans
        return _Observers(sink, self._metrics)

    def _asked(self, query: str, options: SearchOptions | None) -> Asked:
        """Return the request for a query and options. Raises InvalidQueryError."""
        query, options = validate_query(query), options or NO_OPTIONS
        count = options.max_results or self._max_results
        rows = rows_to_request(count, oversample_factor=self._oversample, page_size=self._page_size)
        return Asked(query, rows, options)

    def _log_dropped(self, payload: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(logging.DEBUG):
            shown = mask(payload)  # an address may hold a password: many are dropped for it
            self._logger.debug("dropping invalid search result", extra={"payload": shown})


def _first_rows(answer: SearchAdapterResponse, asked: Asked) -> Iterator[Any]:
    return islice(answer.results, max(MAX_ROWS, asked.count))


def _trace(context: ToolContext) -> TraceRef:
    scope, business = context.scope, context.business
    workflow = business.workflow_id or DEFAULT_WORKFLOW
    return TraceRef(scope.trace_id, workflow, business.case_id, scope.tenant_id)
