"""What Prometheus reads of the ingestion's backlog."""

from __future__ import annotations

from support.scrapes import Scrape, scrape

from collection_search.adapters.metrics.prometheus import PrometheusMetrics
from collection_search.ports import BacklogMetrics, SearchMetrics

ALL = ("rows_due", "dead_letters", "messages", "backlog_up")


def read(metrics: PrometheusMetrics) -> dict[str, dict[str, float]]:
    """Return the values of each gauge by its one label."""
    found: Scrape = scrape(metrics.app())
    return {
        name: {label[0][1]: value for label, value in found.series(f"p_ingest_{name}").items()}
        for name in ALL
    }


def test_the_figures_have_one_label_each() -> None:
    """Priority, queue or source: no tenant and no collection."""
    metrics = PrometheusMetrics("p_")
    assert isinstance(metrics, BacklogMetrics)
    assert isinstance(metrics, SearchMetrics)
    metrics.record_rows({"interactive": 3, "refresh": 0}, {"interactive": 1, "refresh": 2})
    metrics.record_messages({"interactive": 4, "bulk": 5, "dead": 6})
    assert read(metrics) == {
        "rows_due": {"interactive": 3.0, "refresh": 0.0},
        "dead_letters": {"interactive": 1.0, "refresh": 2.0},
        "messages": {"interactive": 4.0, "bulk": 5.0, "dead": 6.0},
        "backlog_up": {"ledger": 1.0, "broker": 1.0},
    }


def test_before_the_first_look_nothing_is_told() -> None:
    """A process that never looks has no empty queue."""
    assert read(PrometheusMetrics("p_")) == {name: {} for name in ALL}


def test_a_failed_look_leaves_no_old_figure() -> None:
    """Of its own source alone; the next look has them again."""
    metrics = PrometheusMetrics("p_")
    metrics.record_rows({"interactive": 3}, {"interactive": 1})
    metrics.record_messages({"bulk": 5})
    metrics.record_messages(None)
    assert read(metrics) == {
        "rows_due": {"interactive": 3.0},
        "dead_letters": {"interactive": 1.0},
        "messages": {},
        "backlog_up": {"ledger": 1.0, "broker": 0.0},
    }
    metrics.record_messages({"bulk": 7})
    metrics.record_rows(None)
    assert read(metrics) == {
        "rows_due": {},
        "dead_letters": {},
        "messages": {"bulk": 7.0},
        "backlog_up": {"ledger": 0.0, "broker": 1.0},
    }


def test_a_ledger_that_counts_no_dead_rows_has_no_gauge_of_them() -> None:
    """Unknown is not 0."""
    metrics = PrometheusMetrics("p_")
    metrics.record_rows({"interactive": 3})
    assert (read(metrics)["dead_letters"], read(metrics)["backlog_up"]) == ({}, {"ledger": 1.0})


def test_the_backlog_alone_counts_nothing() -> None:
    """A command that did no search leaves the file of an earlier one."""
    metrics = PrometheusMetrics("p_")
    metrics.record_rows({"interactive": 3})
    assert not metrics.has_counted
