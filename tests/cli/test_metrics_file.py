"""The metrics file of a command."""

from __future__ import annotations

import re
import signal
import sys
from itertools import count
from typing import TYPE_CHECKING

import pytest
from support.scrapes import Scrape
from support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from support.command_line import Invoke

NUMBERS = count(1)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the command has to write, with a prefix of this test's own."""
    path = tmp_path / "search.prom"
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS_FILE", str(path))
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS_PREFIX", f"cli_{next(NUMBERS)}_")
    return path


def statuses(path: Path) -> dict[str, float]:
    """Return the queries of the file by status."""
    read = Scrape(path.read_text())
    [name] = re.findall(r"^# TYPE (\w+queries_total) counter$", read.text, re.MULTILINE)
    return {dict(labels)["status"]: value for labels, value in read.series(name).items()}


def test_a_search_writes_its_figures(command: Invoke, file: Path) -> None:
    """The setting alone switches them on; nothing else is printed."""
    ended = command("search", "cancel a task", "--provider", "scripted")
    assert ended.code == 0
    assert ended.err == "Searched: scripted (asked for)\nCost: not known\n"
    assert statuses(file) == {"ok": 1.0}


def test_a_failed_search_writes_them_too(command: Invoke, file: Path) -> None:
    """With the status that the failure has; the exit code stays."""
    assert command("search", "cancel a task", "--provider", "refusing").code == 4
    assert statuses(file) == {"provider_authentication_failed": 1.0}


def test_a_command_that_fails_before_it_searches_leaves_an_empty_file(
    command: Invoke, file: Path
) -> None:
    """A collector that reads it finds no error."""
    assert command("search", "cancel a task", "--provider", "keyless").code == 2
    assert statuses(file) == {}


def test_a_command_that_counts_nothing_leaves_the_figures(command: Invoke, file: Path) -> None:
    """A look at the collections does not wipe out what a search wrote."""
    file.write_text("of a search before\n")
    assert command("collections", "list").code == 0
    assert file.read_text() == "of a search before\n"


def test_a_file_that_cannot_be_written_is_a_warning(
    command: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search was paid: its results and its exit code stand."""
    missing = tmp_path / "missing" / "search.prom"
    monkeypatch.setenv("COLLECTION_SEARCH_METRICS_FILE", str(missing))
    ended = command("search", "cancel a task", "--provider", "scripted")
    assert ended.code == 0
    [warning] = ended.warnings
    assert "missing/search.prom cannot be written (No such file or directory)" in warning


def test_a_missing_extra_ends_the_command_before_it_pays(
    command: Invoke, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 2 and the command that brings it."""
    monkeypatch.delitem(sys.modules, "collection_search.adapters.metrics.prometheus", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    ended = command("search", "cancel a task", "--provider", "scripted")
    assert (ended.code, ended.out) == (2, "")
    [complaint] = ended.complaints
    assert "pip install 'collection-search[metrics]'" in complaint
    assert not file.exists()


@pytest.mark.slow
def test_the_installed_command_writes_the_file(
    started: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """In a process of its own, by the variable alone, under the names of the default prefix."""
    path = tmp_path / "search.prom"
    run = ("run", "How do I cancel an asyncio task?", "--collection", "c", "--provider", "scripted")
    with started(
        *run,
        "--model",
        "planner",
        "--embeddings",
        "words",
        COLLECTION_SEARCH_METRICS_FILE=str(path),
    ) as process:
        _, err = process.communicate(timeout=120)
    read = Scrape(path.read_text())
    assert process.returncode == 0, err
    queries = read.series("collection_search_websearch_queries_total")
    assert queries == {(("backend", "scripted"), ("status", "ok")): 3.0}
    tokens = {"kind": "chat", "name": "gpt-4o-mini"}
    assert read.value("collection_search_tokens_total", **tokens, direction="input") == 1000.0
    assert read.value("collection_search_cost_usd_total", **tokens) == pytest.approx(0.00021)


@pytest.mark.slow
def test_without_the_setting_nothing_of_prometheus_is_imported(
    started: Callable[..., subprocess.Popen[str]],
) -> None:
    """A whole search leaves the library where it is."""
    with started(
        *("search", "cancel a task", "--provider", "scripted"), PYTHONPROFILEIMPORTTIME="1"
    ) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "https://docs.example.com/" in out
    assert "collection_search.tools.search.search_worker" in err
    assert "prometheus" not in err


@pytest.mark.slow
def test_a_worker_writes_the_file_while_it_runs(
    started: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Before it has counted anything: the age of the file tells that the worker lives."""
    path = tmp_path / "worker.prom"
    with started("worker", COLLECTION_SEARCH_METRICS_FILE=str(path)) as process:
        wait_until(path.exists)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
