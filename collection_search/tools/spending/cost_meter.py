"""Adds up what the calls within a context take: tokens and costs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ...contracts.prices import sum_tokens, total_if_known
from ...errors import ConfigError
from ...runtime.metering import NULL_METRICS

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...ports import SearchMetrics
    from ...ports.search_metrics import BreakerState
    from ...ports.usage import SpendKind

logger = logging.getLogger(__name__)


class CostMeter:
    """Metrics that pass every figure on, and add up the tokens and the costs of models."""

    def __init__(self, metrics: SearchMetrics) -> None:
        self._metrics = metrics
        self._costs: list[float | None] = []
        self._given: list[int | None] = []
        self._made: list[int | None] = []

    @property
    def cost_usd(self) -> float | None:
        """Return the sum, None when a part of it is not known."""
        return total_if_known(self._costs)

    @property
    def input_tokens(self) -> int | None:
        """Return the sum, None when a part of it is not known."""
        return sum_tokens(self._given)

    @property
    def output_tokens(self) -> int | None:
        """Return the sum, None when a part of it is not known."""
        return sum_tokens(self._made)

    def record_search(self, backend: str, **figures: Any) -> None:
        """Pass the query on."""
        self._metrics.record_search(backend, **figures)

    def record_spending(self, kind: SpendKind, name: str, **figures: Any) -> None:
        """Add the cost and the tokens and pass them on; only chats have tokens of output."""
        self._costs.append(figures["cost_usd"])
        if kind != "search":
            self._given.append(figures["input_tokens"])
        if kind == "chat":
            self._made.append(figures["output_tokens"])
        self._metrics.record_spending(kind, name, **figures)

    def watch_breaker(self, backend: str, breaker: BreakerState) -> None:
        """Pass the breaker on."""
        self._metrics.watch_breaker(backend, breaker)


async def with_meter(context: SearchContext) -> tuple[SearchContext, CostMeter]:
    """Return the context with a meter of what its calls take; a replay takes nothing."""
    try:
        metrics = await context.metrics()
    except ConfigError as error:
        logger.warning("what the models cost is not counted: %s", error)
        metrics = NULL_METRICS
    meter = CostMeter(metrics)
    return context.model_copy(update={"search_metrics": meter}), meter
