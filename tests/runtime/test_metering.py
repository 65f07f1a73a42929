"""Metrics that are off cost nothing; metrics that fail do no harm."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest

from collection_search.ports import SearchMetrics
from collection_search.runtime import metering
from collection_search.runtime.metering import NULL_METRICS, GuardedMetrics, guarded


class Failing:
    """Fails in everything."""

    def record_search(self, backend: str, **figures: Any) -> None:
        raise OSError("search: key=sk-ant-abcdefgh")

    def record_spending(self, kind: Any, name: str, **figures: Any) -> None:
        raise OSError("spending")

    def watch_breaker(self, backend: str, breaker: Any) -> None:
        raise OSError("breaker")


def use(metrics: Any) -> None:
    """Call everything that the port offers."""
    metrics.record_search(
        "a", status="ok", result_count=1, latency_s=0.1, attempts=1, quota_remaining=None
    )
    metrics.record_spending("chat", "m", requests=1, cost_usd=0.1)
    metrics.watch_breaker("a", object())


@pytest.mark.parametrize("metrics", [NULL_METRICS, GuardedMetrics(NULL_METRICS)])
def test_shipped_metrics_fulfil_the_port(metrics: Any) -> None:
    """Each takes everything that the port offers."""
    assert isinstance(metrics, SearchMetrics)
    use(metrics)


def test_failures_never_reach_the_work_and_are_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One line per process, however many objects fail; without what looks like a secret."""
    monkeypatch.setattr(metering, "_reported", [])
    for _ in range(3):
        use(guarded(Failing()))
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "Metrics failed (OSError: search" in record.message
    assert "sk-ant" not in record.message


def test_an_interruption_passes() -> None:
    """Only failures end here."""

    class Interrupted(Failing):
        def record_search(self, backend: str, **figures: Any) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use(guarded(Interrupted()))


def test_nothing_is_guarded_twice() -> None:
    """A chain of guards would cost a call each."""
    once = guarded(Failing())
    assert guarded(once) is once


@pytest.mark.slow
def test_nothing_of_prometheus_is_imported_while_metrics_are_off() -> None:
    """Neither by a whole search nor by the public names of the package."""
    code = (
        "import sys, collection_search\n"
        "from collection_search.testing import ScriptedAdapter, example_context, rows\n"
        "worker = collection_search.WebSearchWorker(ScriptedAdapter(rows(3)))\n"
        "response = worker.run(query='asyncio', context=example_context())\n"
        "assert len(response.results) == 3, response\n"
        "collection_search.make_metrics_app, collection_search.write_metrics\n"
        "print([name for name in sys.modules if 'prometheus' in name])"
    )
    environment = {"PATH": "", "HOME": "/nonexistent", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
