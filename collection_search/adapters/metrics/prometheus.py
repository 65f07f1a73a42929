"""Metrics for Prometheus, in a registry of their own: scraped over ASGI or read from a file."""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeGuard
from weakref import WeakSet

from ...errors import ConfigError, MissingExtraError
from ...runtime.metering import guarded
from ...runtime.whole_file import write_whole
from ...text.clean import to_unicode

try:
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        generate_latest,
        make_asgi_app,
    )

    from .backlog_gauges import BacklogGauges
except ImportError as error:
    raise MissingExtraError(
        "Metrics need an extra. Run: pip install 'collection-search[metrics]', or unset"
        " COLLECTION_SEARCH_METRICS and COLLECTION_SEARCH_METRICS_FILE."
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ...ports import SearchMetrics
    from ...ports.search_metrics import BreakerState
    from ...ports.usage import SpendKind
    from ...settings import Settings

RESULT_BUCKETS: Final = (0, 1, 2, 3, 5, 10, 20, 50, 100)
LATENCY_BUCKETS_S: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
MAX_NAMES: Final = 100
"""Different values of one label; later ones are counted as `OTHER`, since each makes new series."""
MAX_NAME_CHARS: Final = 100
OTHER: Final = "other"

_lock = threading.Lock()
_of_prefix: dict[str, PrometheusMetrics] = {}


class PrometheusMetrics:
    """Counters, histograms and gauges whose names begin with a prefix. Safe for threads."""

    def __init__(self, prefix: str = "collection_search_") -> None:
        self._registry = own = CollectorRegistry()
        self._lock = threading.Lock()
        self._names: dict[str, set[str]] = {}
        self._breakers: dict[str, WeakSet[BreakerState]] = {}
        web, by_backend = f"{prefix}websearch_", ["backend"]
        self._queries = Counter(
            f"{web}queries_total", "Queries by how they ended.", ["backend", "status"], registry=own
        )
        self._results = Histogram(
            f"{web}results_returned",
            "Results of a query that the provider answered.",
            by_backend,
            buckets=RESULT_BUCKETS,
            registry=own,
        )
        self._latency = Histogram(
            f"{web}latency_seconds",
            "Time of a query for which the provider was asked, its retries and waits included.",
            by_backend,
            buckets=LATENCY_BUCKETS_S,
            registry=own,
        )
        self._retries = Counter(
            f"{web}retries_total", "Attempts after the first of a query.", by_backend, registry=own
        )
        self._open = Gauge(
            f"{web}breaker_open",
            "1 from the failure that opened a circuit breaker of the provider until a trial"
            " succeeds, else 0.",
            by_backend,
            registry=own,
        )
        self._quota = Gauge(
            f"{web}quota_remaining",
            "Requests that are left, as the provider said in its latest answer.",
            by_backend,
            registry=own,
        )
        paid = ["kind", "name"]
        self._cost = Counter(
            f"{prefix}cost_usd_total", "Known cost in US dollars.", paid, registry=own
        )
        self._unpriced = Counter(
            f"{prefix}unpriced_requests_total",
            "Requests whose cost is not known.",
            paid,
            registry=own,
        )
        self._tokens = Counter(
            f"{prefix}tokens_total", "Tokens of models.", [*paid, "direction"], registry=own
        )
        self._backlog = BacklogGauges(prefix, own)

    @classmethod
    def of_prefix(cls, prefix: str) -> PrometheusMetrics:
        """Return the process's one object for a prefix."""
        with _lock:
            if prefix not in _of_prefix:
                _of_prefix[prefix] = cls(prefix)
            return _of_prefix[prefix]

    @classmethod
    def from_settings(cls, settings: Settings) -> SearchMetrics:
        """Return the process's metrics with the prefix of the settings; they never fail."""
        return guarded(cls.of_prefix(settings.metrics_prefix))

    def record_search(
        self,
        backend: str,
        *,
        status: str,
        result_count: int,
        latency_s: float,
        attempts: int,
        quota_remaining: int | None,
    ) -> None:
        """Count one query; results only of those that the provider itself answered."""
        backend = self._bounded("backend", backend)
        self._queries.labels(backend, self._bounded("status", status)).inc()
        if status == "ok":
            self._results.labels(backend).observe(result_count)
        if attempts:
            self._latency.labels(backend).observe(latency_s)
            self._retries.labels(backend).inc(attempts - 1)
        if quota_remaining is not None:
            self._quota.labels(backend).set(quota_remaining)

    def record_spending(
        self,
        kind: SpendKind,
        name: str,
        *,
        requests: int,
        cost_usd: float | None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        """Add to the cost, or to the requests without a known one, and to the tokens."""
        name = self._bounded(kind, name)
        if _is_amount(cost_usd):
            self._cost.labels(kind, name).inc(cost_usd)
        else:
            self._unpriced.labels(kind, name).inc(requests)
        for direction, count in (("input", input_tokens), ("output", output_tokens)):
            if _is_amount(count) and count:
                self._tokens.labels(kind, name, direction).inc(count)

    def record_rows(
        self, due: Mapping[str, int] | None, dead: Mapping[str, int] | None = None
    ) -> None:
        """Show the ledger's rows; after a failed look there is no value."""
        self._backlog.record_rows(due, dead)

    def record_messages(self, ready: Mapping[str, int] | None) -> None:
        """Show the broker's messages; after a failed look there is no value."""
        self._backlog.record_messages(ready)

    def watch_breaker(self, backend: str, breaker: BreakerState) -> None:
        """Read the breaker at every scrape; with several keys the gauge is 1 if any is open."""
        backend = self._bounded("backend", backend)
        with self._lock:
            if (watched := self._breakers.get(backend)) is not None:
                watched.add(breaker)
                return
            self._breakers[backend] = WeakSet([breaker])
        self._open.labels(backend).set_function(partial(self._is_open, backend))

    @property
    def has_counted(self) -> bool:
        """Return whether anything was counted yet."""
        return bool(self._names)

    def collectors(self) -> tuple[Any, ...]:
        """Return the collectors, for a registry of the host's own."""
        return (
            self._queries,
            self._results,
            self._latency,
            self._retries,
            self._open,
            self._quota,
            self._cost,
            self._unpriced,
            self._tokens,
            *self._backlog.collectors(),
        )

    def app(self) -> Callable[..., Any]:
        """Return an ASGI application that answers every path with the figures."""
        return make_asgi_app(self._registry)

    def write(self, path: Path) -> None:
        """Write the figures to a file that readers see whole. Raises ConfigError."""
        try:
            with write_whole(path) as draft:
                draft.write_bytes(generate_latest(self._registry))
        except OSError as error:
            raise ConfigError(
                f"The metrics file {path} cannot be written ({error.strerror}). Set"
                " COLLECTION_SEARCH_METRICS_FILE to a file in a folder that you may write."
            ) from error

    def _is_open(self, backend: str) -> float:
        with self._lock:
            watched = list(self._breakers[backend])
        return float(any(breaker.is_open for breaker in watched))

    def _bounded(self, label: str, name: str) -> str:
        """Return the name, or OTHER where the label has too many values already."""
        name = to_unicode(name)[:MAX_NAME_CHARS]
        with self._lock:
            known = self._names.setdefault(label, set())
            if name not in known:
                if len(known) >= MAX_NAMES:
                    return OTHER
                known.add(name)
        return name


def _is_amount(value: float | None) -> TypeGuard[float]:
    """Return whether a counter may be increased by it: another value would spoil it for good."""
    return value is not None and math.isfinite(value) and value >= 0
