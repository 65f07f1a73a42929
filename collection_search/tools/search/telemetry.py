"""The facts of one search: for the outcome's `meta`, the span's attributes and the metrics."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...contracts.prices import total_cost
from ...contracts.search import SearchResult, ToolContext, ToolOutcome, WebSearchResponse
from ...errors import CostLimitReached, ErrorCode, InvalidQueryError, SearchProviderError
from ...ports import FullQuery
from ...runtime.metering import NULL_METRICS
from ...text.redaction import CaptureMode, error_message, redact, redact_query
from ...text.validation import whole_number

if TYPE_CHECKING:
    from ...ports import Scalar, SearchMetrics

RATIONALES: Final[dict[ErrorCode, str]] = {
    "authenticationFailed": "provider_authentication_failed",
    "rateLimited": "provider_rate_limited",
    "quotaExceeded": "provider_quota_exceeded",
    "invalidQuery": "invalid_query",
    "serviceUnavailable": "provider_unavailable",
    "timeout": "provider_timeout",
    "unknown": "provider_bad_response",
}
"""The outcome's rationale for a provider's failure, by its code."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The cause of a failed search, with secrets redacted."""

    rationale: str
    kind: str
    """Name of the exception's class."""
    code: ErrorCode
    message: str
    retryable: bool = False
    retry_in_ms: int | None = None
    http_status: int | None = None

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return the failure of the exception."""
        kind = type(error).__name__
        message = error_message(error)
        if isinstance(error, SearchProviderError):
            rationale = RATIONALES.get(error.code, RATIONALES["unknown"])
            numbers = whole_number(error.retry_in_ms), whole_number(error.http_status)
            return cls(rationale, kind, error.code, message, error.retryable, *numbers)
        if isinstance(error, CostLimitReached):
            return cls("cost_limit_reached", kind, "quotaExceeded", message)
        if isinstance(error, InvalidQueryError):
            return cls("invalid_query", kind, "invalidQuery", message)
        return cls("unexpected_error", kind, "unknown", message)

    def as_dict(self) -> dict[str, Any]:
        """Return the `error` of the outcome's `meta`."""
        return {name: value for name, value in asdict(self).items() if name != "rationale"}


@dataclass(slots=True)
class SearchFacts:
    """The facts of one search, collected while it runs."""

    context: ToolContext
    provider: str
    query: str
    results: list[SearchResult] = field(default_factory=list)
    attempts: int = 0
    requests: int = 0
    """Requests that were made: every attempt, and every further page of results."""
    billed_requests: int = 0
    """Requests that were billed, or that may be although they failed."""
    cost_usd: float | None = None
    """Cost of the billed requests: the provider's figure, else its list price; None: unknown."""
    cached: bool = False
    """Whether the answer comes from the cache, or was shared with a caller at the same time."""
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name: what was requested and how it was applied."""
    notices: list[str] = field(default_factory=list)
    raw_result_count: int = 0
    """Rows as received."""
    normalized_result_count: int = 0
    """Valid rows, duplicates included."""
    http_status: int | None = None
    quota_remaining: int | None = None
    latency_ms: int = 0
    failure: Failure | None = None
    metrics: SearchMetrics = NULL_METRICS

    def add_billed(self, requests: int, cost_usd: float | None) -> None:
        """Add the cost of an attempt, None where it is not known, and count it.

        It is counted at once: a search that is shared with another run may outlive this one.
        """
        if requests:
            self.metrics.record_spending(
                "search", self.provider, requests=requests, cost_usd=cost_usd
            )
        is_first = not self.billed_requests
        self.billed_requests += requests
        if is_first or cost_usd is None or self.cost_usd is None:
            self.cost_usd = cost_usd if is_first else None
        else:
            self.cost_usd = total_cost([self.cost_usd, cost_usd])

    def count(self, latency_s: float, *, cancelled: bool = False) -> None:
        """Count the search in the metrics."""
        self.metrics.record_search(
            self.provider,
            status="cancelled" if cancelled else self._ending(),
            result_count=len(self.results),
            latency_s=latency_s,
            attempts=self.attempts,
            quota_remaining=None if self.cached else self.quota_remaining,  # of another day
        )

    def response(self) -> WebSearchResponse:
        """Return the results with the outcome."""
        outcome = ToolOutcome(
            decision="error" if self.failure else "ok",
            rationale=self.failure.rationale if self.failure else "search_completed",
            meta=self._meta(),
        )
        return WebSearchResponse(results=self.results, outcome=outcome)

    def attributes(self, capture_query: CaptureMode = "full") -> dict[str, Scalar]:
        """Return the attributes of the span `tool.web_search`."""
        shown = redact_query(self.query, capture_query)
        attributes: dict[str, Scalar] = {
            **self._ids(),
            "query": FullQuery(shown) if shown and capture_query == "full" else shown,
            "http.status": self._status(),
            "result.count": len(self.results),
            "raw_result_count": self.raw_result_count,
            "normalized_result_count": self.normalized_result_count,
            "quota.remaining": self.quota_remaining,
        }
        if self.cached:
            attributes["cached"] = True
        for name, told_of in self.options.items():
            attributes[f"option.{name}"] = told_of["applied"]
        if self.failure:
            attributes["error.kind"] = self.failure.kind
            attributes["error.message"] = self.failure.message
        return attributes

    def _ending(self) -> str:
        if self.failure:
            return self.failure.rationale
        return "cached" if self.cached else "ok"

    def _meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = {
            **self._ids(),
            "latency_ms": self.latency_ms,
            "attempts": self.attempts,
            "request_count": self.requests,
            "billed_request_count": self.billed_requests,
            "cost_usd": self.cost_usd,
            "http_status": self._status(),
            "result_count": len(self.results),
            "raw_result_count": self.raw_result_count,
            "normalized_result_count": self.normalized_result_count,
            "quota_remaining": self.quota_remaining,
            "notices": [redact(notice) for notice in self.notices],
        }
        if self.cached:
            meta["cached"] = True
        if self.options:
            meta["options"] = self.options
        return meta | {"error": self.failure.as_dict()} if self.failure else meta

    def _ids(self) -> dict[str, str | None]:
        scope, business = self.context.scope, self.context.business
        return {
            "tenant_id": scope.tenant_id,
            "trace_id": scope.trace_id,
            "workflow_id": business.workflow_id,
            "case_id": business.case_id,
            "run_id": scope.run_id,
            "worker_call_id": self.context.metadata.worker_call_id,
            "provider": self.provider,
        }

    def _status(self) -> int | None:
        return self.failure.http_status if self.failure else self.http_status
