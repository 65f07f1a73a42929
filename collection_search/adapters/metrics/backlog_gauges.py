"""The gauges of the ingestion's backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import Gauge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prometheus_client import CollectorRegistry


class BacklogGauges:
    """Gauges without a value before the first look, and again after one that failed."""

    def __init__(self, prefix: str, registry: CollectorRegistry) -> None:
        name = f"{prefix}ingest_"
        self._due = Gauge(
            f"{name}rows_due",
            "Pages of all tenants that wait and are due, counted up to 10000.",
            ["priority"],
            registry=registry,
        )
        self._dead = Gauge(
            f"{name}dead_letters",
            "Pages of all tenants that were given up, counted up to 10000.",
            ["priority"],
            registry=registry,
        )
        self._ready = Gauge(
            f"{name}messages",
            "Messages in the broker's queues that no worker has.",
            ["queue"],
            registry=registry,
        )
        self._up = Gauge(
            f"{name}backlog_up",
            "1 if the latest look at the ledger or the broker succeeded, else 0.",
            ["source"],
            registry=registry,
        )

    def record_rows(
        self, due: Mapping[str, int] | None, dead: Mapping[str, int] | None = None
    ) -> None:
        """Show the ledger's rows by priority."""
        _show(self._due, due)
        _show(self._dead, dead)
        self._up.labels("ledger").set(due is not None)

    def record_messages(self, ready: Mapping[str, int] | None) -> None:
        """Show the broker's messages by queue."""
        _show(self._ready, ready)
        self._up.labels("broker").set(ready is not None)

    def collectors(self) -> tuple[Any, ...]:
        """Return the collectors."""
        return self._due, self._dead, self._ready, self._up


def _show(gauge: Gauge, counts: Mapping[str, int] | None) -> None:
    """Set the values; none stay where there are none, so that no old one is taken for a new one."""
    if counts is None:
        gauge.clear()
        return
    for name, count in counts.items():
        gauge.labels(name).set(count)
