"""Port of the metrics of searches: counts and times for a monitoring system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .usage import SpendKind


class BreakerState(Protocol):
    """A circuit breaker, as far as monitoring reads it."""

    @property
    def is_open(self) -> bool:
        """Return True from the failure that opened it until a trial succeeds."""
        ...


@runtime_checkable
class SearchMetrics(Protocol):
    """A receiver of figures. It is called from several threads and must not block.

    Names are those of adapters and models: none contains a tenant, a query or an address.
    """

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
        """Count one query to a search provider.

        `status` is `ok`, `cached` for an answer that was known, `cancelled`, or the rationale of
        the failure. `attempts` is 0 where the provider was not asked. `quota_remaining` is what
        the provider said, None where it said nothing.
        """
        ...

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
        """Count what requests to a provider or model cost, None where it is not known."""
        ...

    def watch_breaker(self, backend: str, breaker: BreakerState) -> None:
        """Show the state of this breaker from now on, for as long as it lives.

        A provider has one breaker per key. Repeated calls with the same one change nothing.
        """
        ...
