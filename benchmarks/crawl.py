"""Measure what safe fetching and extracting pages cost, beside their floors of the same run.

`python benchmarks/crawl.py [--rounds 7] [--report FILE]` prints a Markdown report, in about seven
minutes. A loopback site and every contestant are processes of their own that take turns, so that a
busy machine slows all of them; figures are pages per second of CPU, user and system time together.
Ingestion as a whole takes pages of which every fiftieth has 1 to 5 MB, into a new database.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawl_site import BIG, HOSTS, PAGE_BYTES
from environment import environment, load
from measure import Process, Spread, StubProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FETCHED: Final = 8_000
EXTRACTED: Final = 200
PACKAGES: Final = (
    "collection-search", "aiohttp", "protego", "trafilatura", "lxml", "pypdfium2", "numpy",
)  # fmt: skip
GATE_GOAL: Final = 0.6
EXTRACTION_GOAL: Final = 0.85
STALL_GOAL_MS: Final = 20.0
FEWEST_ROUNDS: Final = 2
MODEL_MS: Final = {"embeddings": 20.0}

Rounds = dict[str, list[dict[str, Any]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 when a goal was missed."""
    options = _options(arguments)
    at_start = load()
    with ExitStack() as stack:
        site = stack.enter_context(Process("crawl_site.py"))
        models = stack.enter_context(StubProcess(MODEL_MS))
        given = (str(site.read()["ports"]), models.urls["models_url"])
        contestants = {
            name: stack.enter_context(Process("crawl_contestants.py", name, *given))
            for name in TITLES
        }
        rounds = measured(contestants, options.rounds)
    text = "\n".join(report(rounds, at_start)) + "\n"
    print(text, end="")
    if options.report:
        options.report.write_text(text, "utf-8")
    wrong = missed(rounds)
    for line in wrong:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if wrong else 0


def measured(contestants: dict[str, Process], rounds: int) -> Rounds:
    """Return the rounds of each contestant; the first one, in which caches fill, is dropped.

    Its longest callback is not: each round tells the longest so far.
    """
    found: Rounds = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, process in contestants.items():
            process.write({"bare": FETCHED, "gate": FETCHED, "big-1": BIG}.get(name, EXTRACTED))
            told = process.read()
            if turn:
                found[name].append(told)
    return found


def report(rounds: Rounds, at_start: str) -> Iterator[str]:
    """Yield the lines of the Markdown report."""
    yield "# Fetching and extracting pages\n"
    yield from environment(PACKAGES)
    yield f"- at the start: {at_start}"
    yield f"- pages of {PAGE_BYTES // 1000} kB on {HOSTS} loopback hosts, no delay between requests"
    yield f"- medians and quartiles of {len(rounds['bare'])} rounds\n"
    yield "| contestant | pages per CPU second | pages per second |"
    yield "|---|---|---|"
    for name, told in rounds.items():
        if name == "big-1":
            continue
        yield f"| {TITLES[name]} | {_rate(told, 'cpu_s')} | {_rate(told, 'wall_s')} |"
    yield "\n| ratio of one round to its floor in the same round | median | goal |"
    yield "|---|---|---|"
    for title, subject, floor, goal in RATIOS:
        yield f"| {title} | {ratio(rounds[subject], rounds[floor]):.2f} | >= {goal} |"
    for title, subject, floor in SHARES:
        yield f"| {title} | {ratio(rounds[subject], rounds[floor]):.2f} | |"
    yield f"\n{STALLS}"
    yield "|---|---|---|---|"
    for name in ("bare", *OURS):
        told = rounds[name]
        held, blocked, stall = (
            _held_ms(told),
            _median(told, "blocked_ms"),
            _median(told, "stall_ms"),
        )
        yield f"| {TITLES[name]} | {held:.1f} | {blocked:.1f} | {stall:.1f} |"
    yield f"| goal | <= {STALL_GOAL_MS:g} | | |"


def missed(rounds: Rounds) -> list[str]:
    """Return what falls short of its goal, in words."""
    short = [
        f"{title}: {found:.3f} < {goal}"
        for title, subject, floor, goal in RATIOS
        if (found := ratio(rounds[subject], rounds[floor])) < goal
    ]
    stalls = [
        f"{TITLES[name]}: the loop was held for {worst['held_ms']:.1f} > {STALL_GOAL_MS:g} ms"
        f" by {worst['held_by']}"
        for name in OURS
        if (worst := max(rounds[name], key=itemgetter("held_ms")))["held_ms"] > STALL_GOAL_MS
    ]
    return short + stalls


RATIOS: Final = (
    ("gate / bare aiohttp", "gate", "bare", GATE_GOAL),
    ("fetch + extraction / extraction, 1 process", "both-1", "extract-1", EXTRACTION_GOAL),
    ("fetch + extraction / extraction, 2 processes", "both-2", "extract-2", EXTRACTION_GOAL),
)
SHARES: Final = (
    ("ingestion found by words / extraction of its pages", "words-1", "mixed-1"),
    ("ingestion found by vectors / extraction of its pages", "vectors-1", "mixed-1"),
)
STALLS: Final = (
    "| longest stall of the loop, ms | one callback, CPU time, worst"
    " | one with waiting for the interpreter, median | by the clock, median |"
)
OURS: Final = ("gate", "both-1", "both-2", "big-1", "words-1", "vectors-1")
TITLES: Final = {
    "bare": "bare aiohttp loop",
    "gate": "safe fetch",
    "extract-1": "extraction alone, 1 process",
    "extract-2": "extraction alone, 2 processes",
    "both-1": "fetch + extraction, 1 worker process",
    "both-2": "fetch + extraction, 2 worker processes",
    "big-1": "the same, pages of 9 MB and PDF of 29 MB",
    "mixed-1": "extraction alone of what is ingested, 1 process",
    "words-1": "ingestion, found by words, 1 worker process",
    "vectors-1": "ingestion, found by words and vectors, 1 worker process",
}


def ratio(subject: Sequence[dict[str, Any]], floor: Sequence[dict[str, Any]]) -> float:
    """Return the median over the rounds of pages per CPU second against the floor's.

    >>> ratio([{"pages": 6, "cpu_s": 2.0}], [{"pages": 8, "cpu_s": 2.0}])
    0.75
    """
    pairs = zip(subject, floor, strict=True)
    return statistics.median(
        (ours["pages"] / ours["cpu_s"]) / (theirs["pages"] / theirs["cpu_s"])
        for ours, theirs in pairs
    )


def _held_ms(told: Sequence[dict[str, Any]]) -> float:
    return max(one["held_ms"] for one in told)


def _median(told: Sequence[dict[str, Any]], figure: str) -> float:
    return statistics.median(one[figure] for one in told)


def _rate(told: Sequence[dict[str, Any]], seconds: str) -> Spread:
    return Spread.of(one["pages"] / one[seconds] for one in told)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7, help="of each contestant (default 7)")
    parser.add_argument("--report", type=Path, help="write the report there as well")
    options = parser.parse_args(arguments)
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds: at least {FEWEST_ROUNDS}, since quartiles are shown")
    return options


if __name__ == "__main__":
    sys.exit(main())
