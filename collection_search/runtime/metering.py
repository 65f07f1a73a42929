"""Metrics switched off, and the guard between metrics and the work that they count."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from ..ports.backlog import BacklogMetrics
from ..text.redaction import mask_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..ports import SearchMetrics
    from ..ports.search_metrics import BreakerState
    from ..ports.usage import SpendKind

logger = logging.getLogger(__name__)

_reported: list[str] = []
"""The first failure of this process; the later ones are silent."""


class NullMetrics:
    """Metrics that count nothing."""

    __slots__ = ()

    def record_search(self, backend: str, **_figures: object) -> None:
        """Ignore the query."""

    def record_spending(self, kind: SpendKind, name: str, **_figures: object) -> None:
        """Ignore the cost."""

    def watch_breaker(self, backend: str, breaker: BreakerState) -> None:
        """Ignore the breaker."""


NULL_METRICS: Final = NullMetrics()


class GuardedMetrics:
    """Metrics whose failures never reach the work: the first of the process is logged."""

    __slots__ = ("_metrics",)

    def __init__(self, metrics: SearchMetrics) -> None:
        self._metrics = metrics

    def record_search(self, backend: str, **figures: Any) -> None:
        """Count one query."""
        self._attempt(lambda: self._metrics.record_search(backend, **figures))

    def record_spending(self, kind: SpendKind, name: str, **figures: Any) -> None:
        """Count a cost."""
        self._attempt(lambda: self._metrics.record_spending(kind, name, **figures))

    def watch_breaker(self, backend: str, breaker: BreakerState) -> None:
        """Show the breaker's state."""
        self._attempt(lambda: self._metrics.watch_breaker(backend, breaker))

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - any failure of the metrics ends here
            if not _reported:
                _reported.append(type(error).__name__)
                cause = mask_text(f"{type(error).__name__}: {error}")
                logger.warning("Metrics failed (%s). The work goes on without them.", cause)


class GuardedBacklogMetrics(GuardedMetrics):
    """The same for metrics that show the ingestion's backlog too."""

    __slots__ = ("_backlog",)

    def __init__(self, metrics: SearchMetrics, backlog: BacklogMetrics) -> None:
        super().__init__(metrics)
        self._backlog = backlog

    def record_rows(
        self, due: Mapping[str, int] | None, dead: Mapping[str, int] | None = None
    ) -> None:
        """Show the ledger's rows."""
        self._attempt(lambda: self._backlog.record_rows(due, dead))

    def record_messages(self, ready: Mapping[str, int] | None) -> None:
        """Show the broker's messages."""
        self._attempt(lambda: self._backlog.record_messages(ready))


def guarded(metrics: SearchMetrics) -> SearchMetrics:
    """Return metrics that never fail; they show the backlog where the given ones do.

    >>> guarded(NULL_METRICS) is NULL_METRICS
    True
    """
    if isinstance(metrics, NullMetrics | GuardedMetrics):
        return metrics
    if isinstance(metrics, BacklogMetrics):
        return GuardedBacklogMetrics(metrics, metrics)
    return GuardedMetrics(metrics)
