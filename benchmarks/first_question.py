"""Measure what the first question of a process costs, as shipped: every figure in fresh processes.

`python benchmarks/first_question.py [--rounds 9] [--report FILE]` prints a Markdown report, in
about two minutes. The imports of the package are made and the graph is not yet built when a first
question begins; its overhead is wall time minus the time of the providers. Run it in an environment
without the development tools to see what a user gets. The exit code is 0 whatever the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import world
from environment import environment, load
from measure import Process, StubProcess, union

from collection_search.testing import OtlpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from collection_search import Settings

QUESTIONS: Final = 4
"""Of each process; the first one is compared with the median of the others."""
OFFLINE: Final = "How do I cancel an asyncio task after a timeout?"
HELP_FLOOR: Final = "import typer, pydantic"
COLD_FLOOR: Final = "import langgraph.graph"
OFFLINE_OPTIONS: Final = ("--provider", "offline", "--embeddings", "lexical")
LIBRARY: Final = """
import sys
from collection_search import CollectionSearchGraph, SearchContext
graph = CollectionSearchGraph(SearchContext(provider="offline", embeddings="lexical"))
graph.run({"question": sys.argv[1], "collection_scope": "benchmark", "purpose": "docs"})
"""
COMMAND: Final = ("-m", "collection_search")
COLD: Final[Mapping[str, Sequence[str]]] = {
    HELP_FLOOR: ("-c", HELP_FLOOR),
    "`--help`": (*COMMAND, "--help"),
    COLD_FLOOR: ("-c", COLD_FLOOR),
    "offline question, command": (*COMMAND, "run", OFFLINE, *OFFLINE_OPTIONS),
    "offline question, library": ("-c", LIBRARY, OFFLINE),
}
INTRODUCTION: Final = """\
*First* and *later* are the overheads of one process's questions, wall time minus the union of the
providers' calls (chat 400 ms, search 200 ms, embeddings 100 ms). The first one begins before the
graph is built, right after the import of the package; the process has all cores. *CPU* is user and
system time of a fresh interpreter, children included. Figures are medians with all rounds' range
in brackets."""


class Row(NamedTuple):
    """One figure with its goal."""

    name: str
    measured: str
    goal: str
    holds: bool | None


async def ask(config: Mapping[str, str]) -> list[float]:
    """Return the overhead of each question of this process, in milliseconds."""
    from collection_search import CollectionSearchGraph, SearchContext

    control = http.client.HTTPConnection(urlsplit(config["control_url"]).netloc)
    settings, graph, found = settings_of(config), None, []
    for number in range(QUESTIONS):
        _order(control, "reset")
        given = {"collection_scope": "benchmark", "purpose": "docs"}
        given["question"] = world.question(int(config["number"]) * QUESTIONS + number)
        started = time.monotonic_ns()
        graph = graph or CollectionSearchGraph(SearchContext(settings=settings))
        _, result = await graph.arun(given)
        wall_ns = time.monotonic_ns() - started
        assert result["outcome"] == "search_completed", result
        calls = _order(control, "read")["calls"]
        found.append((wall_ns - union((start, end) for _, start, end in calls)) / 1e6)
    return found


def settings_of(config: Mapping[str, str]) -> Settings:
    """Return the defaults with the stub as provider of everything."""
    from collection_search import Settings

    keys = {"openai_api_key": "sk-key", "openai_base_url": config["models_url"]}
    models = {"model": "openai:gpt-4o-mini", "embeddings": "openai:text-embedding-3-small"}
    access = {"tavily": {"api_key": "tvly-key", "base_url": config["search_url"]}}
    given = {"home": config["home"], "provider": "tavily", "providers": access, **keys, **models}
    if traced := config.get("langfuse_url"):
        given |= {"langfuse_public_key": "pk-lf-key", "langfuse_secret_key": "sk-lf-key"}
        given["langfuse_base_url"] = traced
    return Settings.model_validate(given)


def first_and_later(
    rounds: int, config: Mapping[str, str], numbers: Iterator[int]
) -> list[list[float]]:
    """Return the overheads of the questions of several fresh processes."""
    found = []
    for _ in range(rounds):
        given = {**config, "number": str(next(numbers))}
        with Process("first_question.py", "ask", json.dumps(given), folder=config["home"]) as child:
            found.append(child.read())
    return found


def cpu_ms(arguments: Sequence[str], home: str) -> float:
    """Return the user and system time of one fresh interpreter, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        check=True,
        cwd=home,
        env={**os.environ, "COLLECTION_SEARCH_HOME": home, "LANGFUSE_TRACING_ENABLED": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(rounds: int) -> Iterator[Row]:
    """Yield every row; what is compared is measured in turn."""
    with tempfile.TemporaryDirectory() as home:
        yield from _cold_rows(
            _in_turn(rounds, {name: lambda at=at: cpu_ms(at, home) for name, at in COLD.items()})
        )
        with StubProcess() as stub, OtlpServer() as traces:
            plain = {**stub.urls, "home": home}
            traced = {**plain, "langfuse_url": traces.base_url}
            numbers = count(1)
            first_and_later(1, plain, numbers)  # compiles modules and makes the database
            found: dict[str, list[list[float]]] = {"plain": [], "traced": []}
            for _ in range(rounds):
                found["plain"] += first_and_later(1, plain, numbers)
                found["traced"] += first_and_later(1, traced, numbers)
    yield from _first_rows("first question", found["plain"], 80)
    yield from _first_rows("first question, Langfuse on", found["traced"], 150)


def _in_turn(rounds: int, subjects: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(rounds + 1):  # the first round compiles and indexes
        for name, subject in subjects.items():
            times[name].append(subject())
    return {name: taken[1:] for name, taken in times.items()}


def _cold_rows(times: Mapping[str, Sequence[float]]) -> Iterator[Row]:
    goals = {
        "`--help`": (f"<= 2.2 x `{HELP_FLOOR}`", 2.2 * statistics.median(times[HELP_FLOOR])),
        "offline question, command": ("<= 1000 ms CPU", 1000.0),
        "offline question, library": ("", None),
    }
    for name, taken in times.items():
        floor = times[HELP_FLOOR if name in (HELP_FLOOR, "`--help`") else COLD_FLOOR]
        ratio = statistics.median(taken) / statistics.median(floor)
        goal, limit = goals.get(name, ("", None))
        holds = None if limit is None else statistics.median(taken) <= limit
        yield Row(name, f"{_spread(taken)} ms CPU, {ratio:.2f} x the floor above", goal, holds)


def _first_rows(name: str, rounds: Sequence[Sequence[float]], limit: float) -> Iterator[Row]:
    later = [statistics.median(each[1:]) for each in rounds]
    above = [each[0] - after for each, after in zip(rounds, later, strict=True)]
    yield Row(f"{name}: overhead", f"{_spread(each[0] for each in rounds)} ms", "", None)
    yield Row(f"{name}: later ones", f"{_spread(later)} ms", "", None)
    goal = f"<= {limit:g} ms"
    yield Row(f"{name}: above", f"{_spread(above)} ms", goal, statistics.median(above) <= limit)


def _spread(values: Any) -> str:
    taken = sorted(values)
    return f"{statistics.median(taken):.0f} ({taken[0]:.0f}-{taken[-1]:.0f})"


def _order(control: http.client.HTTPConnection, order: str) -> Any:
    control.request("GET", f"/control/{order}")
    return json.loads(control.getresponse().read())


def report(rows: Sequence[Row], loads: Sequence[str]) -> str:
    """Return the Markdown."""
    verdicts = {True: "pass", False: "**miss**", None: ""}
    lines = ["# The first question of a process", "", INTRODUCTION, "", *environment()]
    lines += [f"- before: {loads[0]}; after: {loads[1]}", ""]
    lines += ["| what | measured | goal | |", "| --- | --- | --- | --- |"]
    lines += [f"| {row[0]} | {row[1]} | {row[2]} | {verdicts[row[3]]} |" for row in rows]
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9, help="fresh processes each (default 9)")
    parser.add_argument("--report", type=Path, help="write the report there as well")
    options = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # installed modules are compiled
    before = load()
    text = report(list(measure(options.rounds)), [before, load()])
    print(text)
    if options.report:
        options.report.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        print(json.dumps(asyncio.run(ask(json.loads(sys.argv[2])))))
    else:
        sys.exit(main())
