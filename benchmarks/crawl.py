"""Measure what safe fetching, extracting and ingesting pages cost, beside floors of the same run.

`python benchmarks/crawl.py [--only ingestion] [--rounds 7] [--report FILE]` prints a Markdown
report, in about nine minutes. A loopback site and every contestant are processes of their own that
take turns, so that a busy machine slows all of them; figures are pages per second of CPU, user and
system time together. Ingestion as a whole takes pages of which every fiftieth has 1 to 5 MB, into a
new database. It is measured as shipped, beside trafilatura alone in its fast mode on the same pages
in as many processes. On one core everything is as shipped, too: with one process that extracts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
INGESTION_GOAL: Final = 0.55
OUTSIDE_GOAL_MS: Final = 3.0
CORES_GOAL: Final = 1.6
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
            if options.only is None or name in INGESTION
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
    yield "# Fetching, extracting and ingesting pages\n"
    yield from environment(PACKAGES)
    yield f"- at the start: {at_start}"
    yield f"- pages of {PAGE_BYTES // 1000} kB on {HOSTS} loopback hosts, no delay between requests"
    yield f"- medians and quartiles of {len(next(iter(rounds.values())))} rounds\n"
    yield "| contestant | pages per CPU second | pages per second |"
    yield "|---|---|---|"
    for name, told in rounds.items():
        if name == "big-1":
            continue
        yield f"| {TITLES[name]} | {_rate(told, 'cpu_s')} | {_rate(told, 'wall_s')} |"
    yield "\n| figure of one round, to its floor in the same round | median | goal |"
    yield "|---|---|---|"
    for figure in _figures(rounds):
        yield f"| {figure.title} | {figure.value:.2f} | {figure.goal_text} |"
    yield f"\n{STALLS}"
    yield "|---|---|---|---|"
    for name in ("bare", *OURS):
        if (told := rounds.get(name)) is None:
            continue
        held, blocked, stall = (
            _held_ms(told),
            _median(told, "blocked_ms"),
            _median(told, "stall_ms"),
        )
        yield f"| {TITLES[name]} | {held:.1f} | {blocked:.1f} | {stall:.1f} |"
    yield f"| goal | <= {STALL_GOAL_MS:g} | | |"


class Figure(NamedTuple):
    """One row of the report; without a goal it is only shown."""

    title: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def goal_text(self) -> str:
        """The goal as the report shows it."""
        if self.least is not None:
            return f">= {self.least:g}"
        return "" if self.most is None else f"<= {self.most:g}"

    @property
    def is_missed(self) -> bool:
        """Whether it falls short of its goal."""
        too_low = self.least is not None and self.value < self.least
        return too_low or (self.most is not None and self.value > self.most)


def _figures(rounds: Rounds) -> Iterator[Figure]:
    for one in RATIOS:
        if one.subject in rounds and one.floor in rounds:
            found = ratio(rounds[one.subject], rounds[one.floor], one.seconds)
            yield Figure(one.title, found, least=one.goal)
    for title, subject, goal in OUTSIDE:
        if subject in rounds:
            outside = statistics.median(
                1000 * one["own_s"] / one["pages"] for one in rounds[subject]
            )
            yield Figure(title, outside, most=goal)


def missed(rounds: Rounds) -> list[str]:
    """Return what falls short of its goal, in words."""
    short = [
        f"{figure.title}: {figure.value:.3f}, not {figure.goal_text}"
        for figure in _figures(rounds)
        if figure.is_missed
    ]
    stalls = [
        f"{TITLES[name]}: the loop was held for {worst['held_ms']:.1f} > {STALL_GOAL_MS:g} ms"
        f" by {worst['held_by']}"
        for name in OURS
        if name in rounds
        and (worst := max(rounds[name], key=itemgetter("held_ms")))["held_ms"] > STALL_GOAL_MS
    ]
    return short + stalls


class Ratio(NamedTuple):
    """Pages per second of a contestant, to those of another one."""

    title: str
    subject: str
    floor: str
    goal: float | None = None
    seconds: str = "cpu_s"


RATIOS: Final = (
    Ratio("gate / bare aiohttp", "gate", "bare", GATE_GOAL),
    Ratio("fetch + extraction / extraction, 1 process", "both-1", "extract-1", EXTRACTION_GOAL),
    Ratio("fetch + extraction / extraction, 2 processes", "both-2", "extract-2", EXTRACTION_GOAL),
    Ratio("found by words, as shipped / trafilatura alone", "words", "floor-2", INGESTION_GOAL),
    Ratio("found by vectors, as shipped / trafilatura alone", "vectors", "floor-2"),
    Ratio("extraction alone / trafilatura alone", "mixed-2", "floor-2"),
    Ratio("found by words, wall: two cores / one", "words", "words-core", CORES_GOAL, "wall_s"),
    Ratio("the same: as shipped / 1 worker process", "words", "words-1", None, "wall_s"),
)
OUTSIDE: Final[tuple[tuple[str, str, float | None], ...]] = (
    ("found by words: CPU outside extraction, ms a page", "words", OUTSIDE_GOAL_MS),
    ("found by vectors: CPU outside extraction, ms a page", "vectors", None),
)
STALLS: Final = (
    "| longest stall of the loop, ms | one callback, CPU time, worst"
    " | one with waiting for the interpreter, median | by the clock, median |"
)
OURS: Final = ("gate", "both-1", "both-2", "big-1", "words", "vectors")
INGESTION: Final = ("floor-2", "mixed-2", "words", "words-1", "words-core", "vectors")
TITLES: Final = {
    "bare": "bare aiohttp loop",
    "gate": "safe fetch",
    "extract-1": "extraction alone, 1 process",
    "extract-2": "extraction alone, 2 processes",
    "both-1": "fetch + extraction, 1 worker process",
    "both-2": "fetch + extraction, 2 worker processes",
    "big-1": "the same, pages of 9 MB and PDF of 29 MB",
    "floor-2": "trafilatura alone on what is ingested, fast mode, 2 processes",
    "mixed-2": "extraction alone of what is ingested, 2 processes",
    "words": "ingestion, found by words, as shipped",
    "words-1": "ingestion, found by words, 1 worker process",
    "words-core": "ingestion, found by words, as shipped, on one core",
    "vectors": "ingestion, found by words and vectors, as shipped",
}


def ratio(
    subject: Sequence[dict[str, Any]], floor: Sequence[dict[str, Any]], seconds: str = "cpu_s"
) -> float:
    """Return the median over the rounds of pages per second against the floor's.

    >>> ratio([{"pages": 6, "cpu_s": 2.0}], [{"pages": 8, "cpu_s": 2.0}])
    0.75
    """
    pairs = zip(subject, floor, strict=True)
    return statistics.median(
        (ours["pages"] / ours[seconds]) / (theirs["pages"] / theirs[seconds])
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
    parser.add_argument("--only", choices=["ingestion"], help="leave the other rows out")
    parser.add_argument("--report", type=Path, help="write the report there as well")
    options = parser.parse_args(arguments)
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"--rounds: at least {FEWEST_ROUNDS}, since quartiles are shown")
    return options


if __name__ == "__main__":
    sys.exit(main())
