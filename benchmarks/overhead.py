"""Measure what the product adds to the time of its providers, beside a floor written by hand.

`python benchmarks/overhead.py [--questions 31] [--report FILE]` prints a Markdown report, in about
three minutes. Each contestant and the stub is a process of its own; the contestants take turns
question by question, so that a busy machine slows all of them. The exit code is 0 unless a call
failed, whatever the figures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import world
from contestants import WARM_UP
from environment import load
from measure import ContestantProcess, Round, StubProcess
from overhead_report import FLOOR, HTTPX, PRODUCT, TRACED, TUNED, Findings, report

from collection_search.testing import OtlpServer

if TYPE_CHECKING:
    from collections.abc import Sequence

CROWDS: Final = (50, 200)


class Bench:
    """Stub, trace server and contestants, and the questions that nobody was asked yet."""

    def __init__(self, provider: str) -> None:
        self._open = ExitStack()
        self._provider = provider
        self._numbers = count(1)

    def __enter__(self) -> Self:
        self._home = self._open.enter_context(tempfile.TemporaryDirectory())
        self._stub = self._open.enter_context(StubProcess())
        self.traces = self._open.enter_context(OtlpServer())
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._open.close()

    def contestant(self, name: str) -> ContestantProcess:
        """Return a contestant in a fresh process, warmed up."""
        config = {"home": self._home, "provider": self._provider}
        if name == TRACED:
            config["langfuse_url"] = self.traces.base_url
        if name == TUNED:
            config["forgets"] = "yes"
        process = self._open.enter_context(ContestantProcess(name, self._stub, config))
        for _ in range(WARM_UP):
            self.ask(process, 1)
        return process

    def ask(self, process: ContestantProcess, size: int) -> Round:
        """Return how the contestant took that many new questions at once."""
        numbers = list(islice(self._numbers, size))
        asked = process.ask([world.question(number) for number in numbers])
        return replace(asked, numbers=numbers)


def alone(bench: Bench, names: Sequence[str], questions: int) -> dict[str, list[Round]]:
    """Return rounds of one question each; who is asked first changes from turn to turn."""
    processes = {name: bench.contestant(name) for name in names}
    rounds: dict[str, list[Round]] = {name: [] for name in names}
    for turn in range(questions):
        for place in range(len(names)):
            name = names[(turn + place) % len(names)]
            rounds[name].append(bench.ask(processes[name], 1))
    for process in processes.values():
        process.end()
    return rounds


def crowded(bench: Bench, names: Sequence[str], rounds: int) -> dict[int, dict[str, list[Round]]]:
    """Return rounds of many questions at once, in turns, by processes that did nothing else."""
    processes = {name: bench.contestant(name) for name in names}
    found: dict[int, dict[str, list[Round]]] = {}
    for size in CROWDS:
        found[size] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                found[size][name].append(bench.ask(processes[name], size))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 when a call failed."""
    options = _options(arguments)
    loads = [load()]
    with Bench(options.provider) as bench:
        names = [FLOOR, *([HTTPX] if find_spec("httpx_aiohttp") else []), PRODUCT]
        names += [TRACED, TUNED]
        found = Findings(
            provider=options.provider,
            alone=alone(bench, names, options.questions),
            spans=len(bench.traces.spans) / (options.questions + WARM_UP),
            crowds=crowded(bench, [FLOOR, PRODUCT], options.rounds),
            loads=[*loads, load()],
        )
    for error in found.errors:
        print(error, file=sys.stderr)
    text = report(found)
    print(text)
    if options.report:
        options.report.write_text(text, "utf-8")
    return 1 if found.errors else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=31, help="one at a time (default 31)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="of 50 and of 200 at once (default 5)"
    )
    parser.add_argument("--provider", choices=("tavily", "searxng"), default="tavily")
    parser.add_argument("--report", type=Path, help="write the report there as well")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
