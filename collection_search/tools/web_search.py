"""Web search through any adapter: retried, cleaned, observed, and never an exception.

The contexts, the protocol of an adapter, its result types and its errors are importable from here
as well.
"""

from __future__ import annotations

import logging
import random
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from ..contracts import (
    BusinessContext,
    ProviderSearchResult,
    RawSearchResult,
    ScopeContext,
    SearchAdapterResponse,
    SearchResult,
    ToolContext,
    ToolOutcome,
    WebSearchInput,
    WebSearchResponse,
)
from ..errors import (
    CollectionSearchError,
    InputError,
    InvalidQueryError,
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from ..masking import loggable
from ..ports import BaseSearchAdapter, SearchAdapter, SpanSink, TraceRef
from ..text import plain
from .retry import RetrySchedule
from .search_answers import amount, checked, whole_number
from .search_calls import AwaitingCaller, BlockingCaller, Caller, finished, provider_name
from .search_report import Failure, SearchReport
from .search_rows import valid_results, without_duplicates

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = [
    "BaseSearchAdapter",
    "BusinessContext",
    "ProviderSearchResult",
    "RawSearchResult",
    "ScopeContext",
    "SearchAdapter",
    "SearchAdapterResponse",
    "SearchProviderAuthenticationFailed",
    "SearchProviderBadResponse",
    "SearchProviderError",
    "SearchProviderInvalidQuery",
    "SearchProviderQuotaExceeded",
    "SearchProviderTimeout",
    "SearchProviderUnavailable",
    "SearchResult",
    "ToolContext",
    "ToolOutcome",
    "WebSearchInput",
    "WebSearchResponse",
    "WebSearchWorker",
]

MAX_ROWS: Final = 1_000
"""Rows of one answer that are read, unless more were asked for: reading them holds up the loop."""

_LOGGER = logging.getLogger(__name__)
_DAY_S: Final = 86_400.0


class WebSearchWorker:
    """Searches the web with one adapter; safe to share between threads and event loops.

    Every call ends in a `WebSearchResponse`: a failing provider is an outcome `error` with its
    cause. Only a wrong argument raises, an `InputError`, and cancellation passes through.
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
    ) -> None:
        self._max_results = _whole("max_results", max_results, most=10_000)
        self._requested = _requested(
            max_results, _whole("oversample_factor", oversample_factor, most=100), adapter
        )
        self._timeout_s = _seconds("timeout_s", timeout_s)
        self._retry_timeout_s = _seconds("retry_timeout_s", retry_timeout_s)
        self._deadline_s = _seconds("deadline_s", deadline_s)
        self._schedule = RetrySchedule(
            max_attempts=_whole("max_attempts", max_attempts, most=100),
            backoff_factor=_seconds("backoff_factor", backoff_factor, least=0.0),
            jitter=_full_jitter if sleep is None and asleep is None else None,
        )
        self._provider = provider_name(adapter)
        self._blocking = BlockingCaller(adapter, sleep or time.sleep)
        self._awaiting = AwaitingCaller(adapter, asleep)
        self._timer = timer or time.monotonic
        self._logger = logger or _LOGGER
        self._spans = spans

    def run(self, *, query: str, context: ToolContext | Mapping[str, Any]) -> WebSearchResponse:
        """Return what the provider found, or why it failed. Blocks; `arun` does not."""
        sink = _default_sink() if self._spans is None else self._spans
        return finished(self._run(query, _complete(context), self._blocking, sink))

    async def arun(
        self, *, query: str, context: ToolContext | Mapping[str, Any]
    ) -> WebSearchResponse:
        """Return the same as `run`; cancelling it cancels the adapter's coroutine."""
        from ..bridge import offload

        sink = await offload(_default_sink) if self._spans is None else self._spans
        return await self._run(query, _complete(context), self._awaiting, sink)

    async def _run(
        self, query: str, context: ToolContext, caller: Caller, sink: SpanSink
    ) -> WebSearchResponse:
        started = self._timer()
        report = SearchReport(context, self._provider, plain(str(query)))
        with sink.span("tool.web_search", kind="tool", trace=_trace(context)) as span:
            try:
                report.query = _clean(query)
                await self._search(report, caller, ends_at=started + self._deadline_s)
            except CollectionSearchError as error:
                report.failure = Failure.of(error)
            except Exception as error:
                self._logger.exception("web search worker failed", exc_info=loggable(error))
                report.failure = Failure.of(error)
            report.latency_ms = round((self._timer() - started) * 1000)
            span.set(report.attributes())
            if report.failure:
                span.fail(report.failure.kind, report.failure.message)
        return report.response()

    async def _search(self, report: SearchReport, caller: Caller, *, ends_at: float) -> None:
        answer = await self._answer(report, caller, ends_at)
        report.http_status = whole_number(answer.status_code)
        report.quota_remaining = whole_number(answer.quota_remaining)
        report.billed_requests = max(1, whole_number(answer.request_count) or 1)
        report.requests += report.billed_requests - 1
        report.cost_usd = amount(answer.cost_usd)
        report.notices = [str(notice) for notice in answer.notices]
        report.raw_result_count = len(answer.raw_results or answer.results)
        rows = islice(answer.results, max(MAX_ROWS, self._requested))
        results = valid_results(rows, provider=self._provider, dropped=self._log_dropped)
        report.normalized_result_count = len(results)
        report.results = without_duplicates(results)[: self._max_results]

    async def _answer(
        self, report: SearchReport, caller: Caller, ends_at: float
    ) -> SearchAdapterResponse:
        """Return the first successful answer, or raise the last failure once retries are over."""
        failures: list[SearchProviderError] = []
        left_s, timeout_s = self._deadline_s, self._timeout_s
        while True:
            report.attempts += 1
            report.requests += 1
            try:
                return await self._attempt(report.query, caller, min(timeout_s, left_s), left_s)
            except SearchProviderError as error:
                failures.append(error)
            delay_s = self._schedule.delay_s(failures)
            if delay_s is None or (left_s := ends_at - self._timer() - delay_s) <= 0:
                raise failures[-1]
            await caller.sleep(delay_s)
            timed_out = failures[-1].code == "timeout"
            timeout_s = self._retry_timeout_s if timed_out else self._timeout_s

    async def _attempt(
        self, query: str, caller: Caller, timeout_s: float, left_s: float
    ) -> SearchAdapterResponse:
        try:
            answer = await caller.search(
                query, count=self._requested, timeout_s=timeout_s, left_s=left_s
            )
        except TimeoutError as error:
            raise SearchProviderTimeout(
                f"{self._provider} did not answer in time; try later or raise the time limit."
            ) from error
        return checked(answer, provider=self._provider)

    def _log_dropped(self, payload: dict[str, Any]) -> None:
        self._logger.debug("dropping invalid search result", extra={"payload": payload})


def _default_sink() -> SpanSink:
    from ..context import default_sink

    return default_sink()


def _complete(context: ToolContext | Mapping[str, Any]) -> ToolContext:
    try:
        return ToolContext.model_validate(context)
    except ValidationError as error:
        raise InputError(
            f"The tool context cannot be used ({_problems(error)}). It needs scope.tenant_id, "
            "scope.trace_id, scope.invocation_id and scope.run_id or scope.ingestion_run_id."
        ) from error


def _clean(query: str) -> str:
    try:
        return WebSearchInput(query=query).query
    except ValidationError as error:
        raise InvalidQueryError(_problems(error)) from error


def _problems(error: ValidationError) -> str:
    """Return what is wrong, without the values: they may be private.

    >>> try:
    ...     ToolContext.model_validate({})
    ... except ValidationError as error:
    ...     _problems(error)
    'scope: Field required'
    """
    return "; ".join(
        f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}"
        for item in error.errors(include_url=False)
    )


def _trace(context: ToolContext) -> TraceRef:
    scope = context.scope
    return TraceRef(scope.trace_id, session_id=context.business.case_id, tenant_id=scope.tenant_id)


def _requested(max_results: int, oversample_factor: int, adapter: object) -> int:
    """Return how many rows to ask for: a second page is paid for only if asked for."""
    wanted = max_results * oversample_factor
    page_size = getattr(adapter, "page_size", None)
    return max(max_results, min(wanted, page_size)) if isinstance(page_size, int) else wanted


def _full_jitter(delay_s: float) -> float:
    return random.uniform(0, delay_s)


def _whole(name: str, value: Any, *, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InputError(f"{name} must be a whole number from 1 to {most}, got {value!r}.")
    return int(value)


def _seconds(name: str, value: Any, *, least: float = 0.001) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= _DAY_S:
        raise InputError(f"{name} must be {least:g} to {_DAY_S:g} seconds, got {value!r}.")
    return float(value)
