"""Measure what a run over HTTP costs beside the same run in one's own process, on both hosts.

`python benchmarks/server_runs.py [--runs 15] [--rounds 3] [--report FILE]` prints a Markdown
report, in about five minutes. Each host is a process of its own with the default settings and the
stub as provider; the hosts take turns. The client starts a run and reads its events to their end.
The exit code is 0 unless a run failed, whatever the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import httpx
import world
from environment import environment, load
from measure import ContestantProcess, StubProcess, clean_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

IN_PROCESS: Final = "in process"
SERVE: Final = "collection-search serve"
DEV: Final = "langgraph dev"
AT_ONCE: Final = 50
WARM_UP: Final = 5
API: Final = "/app/api"
START_S: Final = 120.0
ROOT: Final = Path(__file__).parents[1]
INTRODUCTION: Final = """\
Each answer of a provider takes a fixed time: chat 400 ms, search 200 ms, embeddings 100 ms. *Wall*
is the time from the first request to the last run's end as the client sees it, *CPU* that of the
host's process for one run. Ratios are to the runs of a process that calls the graph itself.
Figures are medians with all rounds' range in brackets."""


class Taken(NamedTuple):
    """What a round of runs took."""

    wall_ms: float
    cpu_ms: float
    """Of the host's process, all runs together."""
    errors: Sequence[str]


def in_process(stub: StubProcess, home: str, stack: ExitStack) -> Callable[[Sequence[str]], Taken]:
    """Return a host that calls the graph itself."""
    given = {"home": home, "provider": "tavily"}
    process = stack.enter_context(ContestantProcess("product", stub, given))

    def ask(questions: Sequence[str]) -> Taken:
        found = process.ask(questions)
        return Taken(found.wall_ms, found.cpu_ms, found.errors)

    return ask


def over_http(
    command: Sequence[str], folder: Path, stub: StubProcess, stack: ExitStack
) -> Callable[[Sequence[str]], Taken]:
    """Return a host that is asked over HTTP; `{port}` in its command is replaced."""
    url, pid = stack.enter_context(_started(command, folder, stub))

    def ask(questions: Sequence[str]) -> Taken:
        before, started = _cpu_ms(pid), time.monotonic()
        errors = asyncio.run(_all_runs(url, questions))
        wall_ms = 1000 * (time.monotonic() - started)
        return Taken(wall_ms, _cpu_ms(pid) - before, errors)

    return ask


async def _all_runs(url: str, questions: Sequence[str]) -> list[str]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=url, timeout=120, limits=limits, trust_env=False
    ) as client:
        said = await asyncio.gather(
            *(_run(client, question) for question in questions), return_exceptions=True
        )
    return [repr(each)[:500] for each in said if isinstance(each, BaseException)]


async def _run(client: httpx.AsyncClient, question: str) -> None:
    """Start a run and read its events. Raises RuntimeError where it does not end as it should."""
    given = {"question": question, "collection_scope": "benchmark", "purpose": "collection_search"}
    body = {"graph": "collection_search", "input": given}
    started = await client.post(f"{API}/runs", json=body)
    started.raise_for_status()
    path = f"{API}/runs/{started.json()['run_id']}"
    async with client.stream("GET", f"{path}/events") as events:
        kinds = [line async for line in events.aiter_lines() if line.startswith("event:")]
    ended = (await client.get(path)).json()
    if not kinds or ended["outcome"] != "search_completed" or ended["output"]["flags"]:
        raise RuntimeError(f"{ended['status']} {ended['outcome']} {ended['error']} {kinds[-1:]}")


@contextmanager
def _started(command: Sequence[str], folder: Path, stub: StubProcess) -> Iterator[tuple[str, int]]:
    """Run a server; yield its address and process id once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            [part.format(port=port) for part in command],
            cwd=folder,
            env={**clean_environment(), **_settings(stub.urls, folder)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_up(url, process, log)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(30)


def _settings(urls: Mapping[str, str], folder: Path) -> dict[str, str]:
    return {
        "COLLECTION_SEARCH_HOME": str(folder / "home"),
        "COLLECTION_SEARCH_PROVIDER": "tavily",
        "TAVILY_API_KEY": "tvly-key",
        "TAVILY_BASE_URL": urls["search_url"],
        "COLLECTION_SEARCH_MODEL": "openai:gpt-4o-mini",
        "COLLECTION_SEARCH_EMBEDDINGS": "openai:text-embedding-3-small",
        "OPENAI_API_KEY": "sk-key",
        "OPENAI_BASE_URL": urls["models_url"],
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGSMITH_TRACING": "false",
    }


def _wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(log.read_text())
        try:
            if httpx.get(f"{url}{API}/health", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError(f"no answer after {START_S:.0f} s: {log.read_text()}")


def _cpu_ms(pid: int) -> float:
    """Return the user and system time that a process has used, its threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(runs: int, rounds: int) -> dict[str, dict[int, list[Taken]]]:
    """Return what rounds of one run and of many runs took on each host, after a warm-up."""
    numbers = count(1)
    with tempfile.TemporaryDirectory() as home, StubProcess() as stub, ExitStack() as stack:
        folders = {name: Path(home, name.replace(" ", "-")) for name in (SERVE, DEV)}
        for folder in folders.values():
            folder.mkdir()
        shutil.copy(ROOT / "langgraph.json", folders[DEV])
        commands = Path(sys.executable).parent
        serve = [str(commands / "collection-search"), "serve", "--port", "{port}"]
        dev = [str(commands / "langgraph"), "dev", "--no-browser", "--no-reload"]
        dev += ["--port", "{port}", "--n-jobs-per-worker", "10"]
        hosts = {
            IN_PROCESS: in_process(stub, home, stack),
            SERVE: over_http(serve, folders[SERVE], stub, stack),
            DEV: over_http(dev, folders[DEV], stub, stack),
        }
        found: dict[str, dict[int, list[Taken]]] = {name: {1: [], AT_ONCE: []} for name in hosts}
        for size, turns in ((1, WARM_UP + runs), (AT_ONCE, 1 + rounds)):
            for _ in range(turns):
                for name, ask in hosts.items():
                    asked = [world.question(each) for each in islice(numbers, size)]
                    found[name][size].append(ask(asked))
    return {
        name: {1: sizes[1][WARM_UP:], AT_ONCE: sizes[AT_ONCE][1:]} for name, sizes in found.items()
    }


def report(found: Mapping[str, Mapping[int, Sequence[Taken]]], loads: Sequence[str]) -> str:
    """Return the Markdown."""
    lines = ["# Runs over HTTP", "", INTRODUCTION, "", *environment()]
    lines += [f"- before: {loads[0]}; after: {loads[1]}", ""]
    lines += ["| runs at once | host | wall | beside in process | CPU of a run | beside |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for size in (1, AT_ONCE):
        floor = found[IN_PROCESS][size]
        for name, sizes in found.items():
            walls, cpus = (
                [getattr(each, key) for each in sizes[size]] for key in Taken._fields[:2]
            )
            ratios = [
                statistics.median(values) / statistics.median(getattr(each, key) for each in floor)
                for values, key in ((walls, "wall_ms"), (cpus, "cpu_ms"))
            ]
            cpu = _spread(value / size for value in cpus)
            cells = (size, name, f"{_spread(walls)} ms", f"{ratios[0]:.2f} x")
            lines.append(f"| {' | '.join(map(str, cells))} | {cpu} ms | {ratios[1]:.2f} x |")
    return "\n".join([*lines, ""])


def _spread(values: Iterator[float] | Sequence[float]) -> str:
    taken = sorted(values)
    return f"{statistics.median(taken):.0f} ({taken[0]:.0f}-{taken[-1]:.0f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 when a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=15, help="one at a time (default 15)")
    parser.add_argument("--rounds", type=int, default=3, help="of 50 at once (default 3)")
    parser.add_argument("--report", type=Path, help="write the report there as well")
    options = parser.parse_args(arguments)
    before = load()
    found = measure(options.runs, options.rounds)
    errors = [error for sizes in found.values() for taken in sizes.values() for each in taken
              for error in each.errors]  # fmt: skip
    for error in errors:
        print(error, file=sys.stderr)
    text = report(found, [before, load()])
    print(text)
    if options.report:
        options.report.write_text(text, "utf-8")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
