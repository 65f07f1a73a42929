"""The endpoint, the file and the collectors that a host takes from the package."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from support.scrapes import ascrape, scrape

from collection_search import (
    ConfigError,
    InputError,
    MissingExtraError,
    SearchContext,
    Settings,
    WebSearchWorker,
    make_metrics_app,
    metrics_collectors,
    write_metrics,
)
from collection_search.runtime.metering import NULL_METRICS, GuardedMetrics
from collection_search.runtime.spans import NULL_SINK
from collection_search.testing import ScriptedAdapter, example_context, rows
from collection_search.tools.search.telemetry import RATIONALES

DOCS = (Path(__file__).parents[2] / "docs" / "operations" / "metrics.md").read_text(
    encoding="utf-8"
)
CALLS = [
    make_metrics_app,
    metrics_collectors,
    lambda settings=None: write_metrics("never.prom", settings),
]


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the library as absent as where the extra was not installed."""
    for name in list(sys.modules):
        if name.startswith("collection_search.adapters.metrics.prometheus"):
            monkeypatch.delitem(sys.modules, name)
        if name.partition(".")[0] == "prometheus_client":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)


def test_endpoint_file_and_collectors_say_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All three by the settings of the process, after one search of a worker."""
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS", "true")
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS_PREFIX", "export_")
    worker = WebSearchWorker(ScriptedAdapter(rows(3)), spans=NULL_SINK)
    worker.run(query="asyncio", context=example_context())
    read = scrape(make_metrics_app())
    path = tmp_path / "search.prom"
    write_metrics(path)
    own = CollectorRegistry()
    for collector in metrics_collectors():
        own.register(collector)
    assert read.value("export_websearch_results_returned_sum", backend="scripted") == 3.0
    assert path.read_text() == read.text == generate_latest(own).decode()


@pytest.mark.parametrize("call", CALLS)
def test_what_is_off_is_not_served(call: Any) -> None:
    """An endpoint that stays empty for ever would look like a quiet service."""
    with pytest.raises(ConfigError, match="Set COLLECTION_SEARCH_METRICS=true"):
        call()
    with pytest.raises(InputError, match="settings must be Settings or None"):
        call(settings={"metrics": True})


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.usefixtures("without_extra")
def test_a_missing_extra_is_named(call: Any) -> None:
    """With the command that brings it."""
    with pytest.raises(MissingExtraError, match=r"pip install 'collection-search\[metrics\]'"):
        call(settings=Settings(metrics=True))


@pytest.mark.usefixtures("without_extra")
async def test_a_run_without_the_extra_says_so_before_it_searches(tmp_path: Path) -> None:
    """Whoever switched metrics on wants them."""
    from support.routes import opened

    adapter = ScriptedAdapter(rows(1))
    context = SearchContext(settings=Settings(home=tmp_path, metrics=True), provider=adapter)
    with pytest.raises(MissingExtraError, match="metrics"):
        async with opened(context):
            pass
    assert adapter.requests == []


@pytest.mark.parametrize(
    ("given", "is_on"),
    [({}, False), ({"metrics": True}, True), ({"metrics_file": "a.prom"}, True)],
)
async def test_the_settings_switch_metrics_on(given: dict[str, Any], is_on: bool) -> None:
    """By the switch, or by the file alone; a live object of the context goes before both."""
    settings = Settings(**given)
    metrics = await SearchContext(settings=settings).metrics()
    assert isinstance(metrics, GuardedMetrics) == is_on
    assert (metrics is NULL_METRICS) == (not is_on)
    own = await SearchContext(settings=settings, search_metrics=NULL_METRICS).metrics()
    assert own is NULL_METRICS


@pytest.mark.parametrize("prefix", ["antwort_", "", "a:b_1"])
def test_a_prefix_of_a_metric_s_name_is_taken(prefix: str) -> None:
    """Also none at all."""
    settings = Settings(metrics=True, metrics_prefix=prefix)
    assert (
        f"# TYPE {prefix}websearch_queries_total counter" in scrape(make_metrics_app(settings)).text
    )


@pytest.mark.parametrize("prefix", ["1_", "a-b", "ä_", "a b", "a\n", "x" * 101])
def test_another_prefix_is_refused(prefix: str) -> None:
    """With the name of the setting."""
    with pytest.raises(ConfigError, match="metrics_prefix"):
        Settings.load(metrics_prefix=prefix)


async def test_the_documentation_s_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mounted endpoint and the host's own registry show the same search."""
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS", "true")
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS_PREFIX", "docs_")
    mounted, registered = re.findall(r"^```python\n(.*?)^```", DOCS, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(mounted, names)
    exec(registered, {})
    try:
        worker = WebSearchWorker(ScriptedAdapter(rows(1)), spans=NULL_SINK)
        await worker.arun(query="asyncio", context=example_context())
        transport = httpx.ASGITransport(app=names["app"])
        async with httpx.AsyncClient(transport=transport, base_url="http://host") as client:
            answer = await client.get("/metrics", follow_redirects=True)
        line = 'docs_websearch_queries_total{backend="scripted",status="ok"} 1.0'
        assert line in answer.text.splitlines()
        assert line in generate_latest(REGISTRY).decode().splitlines()
    finally:
        for collector in metrics_collectors():
            REGISTRY.unregister(collector)


async def test_the_documentation_lists_every_metric_and_status() -> None:
    """With the type and the labels that a scrape shows."""
    read = await ascrape(make_metrics_app(Settings(metrics=True, metrics_prefix="")))
    told = dict(re.findall(r"^\| `(\w+)` \| (counter|histogram|gauge) \|", DOCS, re.MULTILINE))
    assert told == dict(re.findall(r"^# TYPE (\w+) (\w+)$", read.text, re.MULTILINE))
    others = {"ok", "cached", "cancelled", "cost_limit_reached", "unexpected_error"}
    statuses = DOCS[DOCS.index("| status |") : DOCS.index("A failed query")]
    first_cells = " ".join(re.findall(r"^\| (`[^|]+) \|", statuses, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_cells)) == others | set(RATIONALES.values())
