"""What Prometheus reads: names, labels, and that no figure spoils another."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from support.scrapes import Scrape, ascrape, scrape

from collection_search import ConfigError
from collection_search.adapters.metrics.prometheus import MAX_NAMES, OTHER, PrometheusMetrics
from collection_search.ports import SearchMetrics

if TYPE_CHECKING:
    from pathlib import Path

ANSWERED: dict[str, Any] = {
    "status": "ok",
    "result_count": 5,
    "latency_s": 0.3,
    "attempts": 1,
    "quota_remaining": None,
}


class Breaker:
    """Opens when told to."""

    is_open = False


def families(read: Scrape) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the type and the labels of each metric that has samples."""
    return {
        family.name: (family.type, frozenset(family.samples[0].labels))
        for family in text_string_to_metric_families(read.text)
        if family.samples and not family.name.endswith("_created")
    }


def test_fr_012_the_prefix_antwort_gives_the_two_specified_metrics() -> None:
    """FR-012: a counter by backend and status, and a histogram of results by backend."""
    metrics = PrometheusMetrics("antwort_")
    metrics.record_search("searxng", **ANSWERED)
    read = scrape(metrics.app())
    found = families(read)
    assert found["antwort_websearch_queries"] == ("counter", frozenset({"backend", "status"}))
    assert read.series("antwort_websearch_queries_total") == {
        (("backend", "searxng"), ("status", "ok")): 1.0
    }
    kind, labels = found["antwort_websearch_results_returned"]
    assert (kind, labels) == ("histogram", frozenset({"backend", "le"}))
    assert read.value("antwort_websearch_results_returned_sum", backend="searxng") == 5.0
    assert "antwort_websearch_results_returned_bucket{" in read.text


def test_every_metric_has_its_type_and_no_label_of_its_own() -> None:
    """Nothing beside the documented labels: no tenant, no query, no address."""
    metrics = PrometheusMetrics("p_")
    metrics.record_search("brave", **{**ANSWERED, "quota_remaining": 7})
    breaker = Breaker()
    metrics.watch_breaker("brave", breaker)
    metrics.record_spending("chat", "m", requests=1, cost_usd=0.5, input_tokens=3, output_tokens=2)
    metrics.record_spending("chat", "m", requests=1, cost_usd=None)
    by_backend, paid = frozenset({"backend"}), frozenset({"kind", "name"})
    assert families(scrape(metrics.app())) == {
        "p_websearch_queries": ("counter", by_backend | {"status"}),
        "p_websearch_results_returned": ("histogram", by_backend | {"le"}),
        "p_websearch_latency_seconds": ("histogram", by_backend | {"le"}),
        "p_websearch_retries": ("counter", by_backend),
        "p_websearch_breaker_open": ("gauge", by_backend),
        "p_websearch_quota_remaining": ("gauge", by_backend),
        "p_cost_usd": ("counter", paid),
        "p_unpriced_requests": ("counter", paid),
        "p_tokens": ("counter", paid | {"direction"}),
    }
    assert isinstance(metrics, SearchMetrics)


def test_an_empty_web_and_a_failure_are_told_apart() -> None:
    """No results of an answer are in the lowest bucket; those of a failure in none."""
    metrics = PrometheusMetrics("p_")
    metrics.record_search("a", **{**ANSWERED, "result_count": 0})
    metrics.record_search("a", **{**ANSWERED, "result_count": 0, "status": "provider_timeout"})
    metrics.record_search("a", **{**ANSWERED, "result_count": 100})
    read = scrape(metrics.app())
    bucket = "p_websearch_results_returned_bucket"
    assert read.value(bucket, backend="a", le="0.0") == 1.0
    assert read.value(bucket, backend="a", le="50.0") == 1.0
    assert read.value(bucket, backend="a", le="100.0") == 2.0
    assert read.value("p_websearch_results_returned_count", backend="a") == 2.0


@pytest.mark.slow
def test_a_label_has_a_bounded_number_of_values() -> None:
    """What a vendor's answers call their models cannot fill the memory of two servers."""
    metrics = PrometheusMetrics("p_")
    for n in range(MAX_NAMES + 50):
        metrics.record_spending("chat", f"model-{n}", requests=1, cost_usd=1.0)
        metrics.record_search(f"backend-{n}", **ANSWERED)
    read = scrape(metrics.app())
    assert len(read.series("p_cost_usd_total")) == MAX_NAMES + 1
    assert read.value("p_cost_usd_total", kind="chat", name=OTHER) == 50.0
    assert len(read.series("p_websearch_retries_total")) == MAX_NAMES + 1
    metrics.record_spending("chat", "model-0", requests=1, cost_usd=1.0)
    assert scrape(metrics.app()).value("p_cost_usd_total", kind="chat", name="model-0") == 2.0


@pytest.mark.parametrize("name", ['a"b\\c\nd', "\ud800", "x" * 10_000, ""])
def test_a_strange_name_breaks_no_scrape(name: str) -> None:
    """Quotes, line ends, halves of characters, lengths: the page stays readable."""
    metrics = PrometheusMetrics("p_")
    metrics.record_search(name, **ANSWERED)
    metrics.record_search("good", **ANSWERED)
    read = scrape(metrics.app())
    assert len(read.text) < 20_000
    assert read.value("p_websearch_queries_total", backend="good", status="ok") == 1.0
    assert len(read.series("p_websearch_queries_total")) == 2


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1.0])
def test_no_figure_spoils_a_counter(amount: float) -> None:
    """What is no amount is a request of unknown cost; a counter never falls."""
    metrics = PrometheusMetrics("p_")
    for cost in (2.0, amount, 1.0):
        count: Any = amount if cost is amount else 4
        metrics.record_spending("chat", "m", requests=1, cost_usd=cost, input_tokens=count)
    read = scrape(metrics.app())
    assert read.value("p_cost_usd_total", kind="chat", name="m") == 3.0
    assert read.value("p_unpriced_requests_total", kind="chat", name="m") == 1.0
    assert read.value("p_tokens_total", kind="chat", name="m", direction="input") == 8.0


def test_a_breaker_is_read_at_each_scrape_and_while_it_lives() -> None:
    """One of several keys is enough; a guard that is gone counts no longer."""
    metrics = PrometheusMetrics("p_")
    first, second = Breaker(), Breaker()
    for breaker in (first, second, first):
        metrics.watch_breaker("a", breaker)

    def is_open() -> float | None:
        return scrape(metrics.app()).value("p_websearch_breaker_open", backend="a")

    assert is_open() == 0.0
    second.is_open = True
    assert is_open() == 1.0
    del breaker, second
    gc.collect()
    assert is_open() == 0.0


def test_threads_and_event_loops_lose_no_count() -> None:
    """Eight threads with a loop each, and scrapes meanwhile that never show a lower number."""
    metrics, seen = PrometheusMetrics("p_"), []
    breakers = [Breaker() for _ in range(800)]

    async def count(part: int) -> None:
        for n in range(100):
            metrics.record_search("a", **ANSWERED)
            metrics.watch_breaker("a", breakers[100 * part + n])
            metrics.record_spending("search", "a", requests=1, cost_usd=0.25)
            await asyncio.sleep(0)

    threads = [threading.Thread(target=lambda n=n: asyncio.run(count(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        read = scrape(metrics.app())
        seen.append(read.value("p_websearch_queries_total", backend="a", status="ok") or 0.0)
    read = scrape(metrics.app())
    assert seen == sorted(seen)
    assert read.value("p_websearch_queries_total", backend="a", status="ok") == 800.0
    assert read.value("p_cost_usd_total", kind="search", name="a") == 200.0


def test_one_object_per_prefix_and_none_in_the_global_registry() -> None:
    """Two settings with one prefix count together; nobody else's registry is touched."""
    from prometheus_client import REGISTRY

    one = PrometheusMetrics.of_prefix("twice_")
    assert PrometheusMetrics.of_prefix("twice_") is one
    assert PrometheusMetrics.of_prefix("other_") is not one
    assert b"twice_" not in generate_latest(REGISTRY)


def test_a_host_registers_the_collectors_in_its_own_registry() -> None:
    """All of them, beside what the host counts."""
    metrics, own = PrometheusMetrics("p_"), CollectorRegistry()
    for collector in metrics.collectors():
        own.register(collector)
    metrics.record_search("a", **ANSWERED)
    metrics.record_spending("chat", "m", requests=1, cost_usd=1.0)
    assert generate_latest(own).decode() == scrape(metrics.app()).text


async def test_the_application_answers_inside_a_running_loop() -> None:
    """Any path, any number of times."""
    metrics = PrometheusMetrics("p_")
    metrics.record_search("a", **ANSWERED)
    first, second = await ascrape(metrics.app()), await ascrape(metrics.app())
    assert first == second


def test_the_file_is_written_whole(tmp_path: Path) -> None:
    """It replaces the former one in one step, and nothing else is left in the folder."""
    metrics, path = PrometheusMetrics("p_"), tmp_path / "search.prom"
    path.write_text("of before")
    before = path.open()
    metrics.record_search("a", **ANSWERED)
    metrics.write(path)
    assert before.read() == "of before"  # who reads it meanwhile is not disturbed
    before.close()
    assert path.read_text() == scrape(metrics.app()).text
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With the cause and the setting to change."""
    with pytest.raises(ConfigError, match=r"No such file.*COLLECTION_SEARCH_METRICS_FILE"):
        PrometheusMetrics("p_").write(tmp_path / "missing" / "search.prom")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        PrometheusMetrics("p_").write(tmp_path / "folder")


def test_the_settings_choose_the_prefix() -> None:
    """What `from_settings` returns never fails."""
    metrics = PrometheusMetrics.from_settings(SimpleNamespace(metrics_prefix="chosen_"))  # type: ignore[arg-type]
    metrics.record_search("a", **ANSWERED)
    metrics.record_search("a", nonsense=True)  # type: ignore[call-arg]
    read = scrape(PrometheusMetrics.of_prefix("chosen_").app())
    assert read.value("chosen_websearch_queries_total", backend="a", status="ok") == 1.0
