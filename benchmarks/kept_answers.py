"""Measure what remembering paid answers costs, and what a repeated question takes.

`python benchmarks/kept_answers.py [--questions 31] [--rows 100000]` prints a Markdown report, in
about three minutes. The product is as it is shipped, beside one that remembers nothing, question
by question in turn; each is a process of its own, with a data folder of its own. The servers answer
at once in the first part, so that processor time alone is compared.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import world
from contestants import WARM_UP
from environment import load
from measure import ContestantProcess, Round, StubProcess
from overhead_report import PRODUCT, TUNED

from collection_search.adapters.stores.sqlite.usage import SQLiteUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

AT_ONCE: Final = {"chat": 0.0, "search": 0.0, "embeddings": 0.0}
REPEATED: Final = 15
MAX_MS: Final = 5.0
MAX_BYTES: Final = 30_000
MAX_MORE_MS: Final = 1.0
PAYLOAD: Final = 3_000
LIMIT_MIB: Final = 256


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 when a goal was missed."""
    options = _options(arguments)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        forgetful = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stub = stack.enter_context(StubProcess(AT_ONCE))
        ours = {"home": str(home), "provider": "tavily"}
        product = stack.enter_context(ContestantProcess(PRODUCT, stub, ours))
        theirs = {"home": str(forgetful), "provider": "tavily", "forgets": "yes"}
        tuned = stack.enter_context(ContestantProcess(TUNED, stub, theirs))
        pairs = [
            (product.ask([world.question(n)]), tuned.ask([world.question(n)]))
            for n in range(WARM_UP + options.questions)
        ][WARM_UP:]
        few = repeated(product, options.questions)
        product.end()
        size = bytes_of_answers(home) / (WARM_UP + options.questions)
        added = fill(home, options.rows)
        product = stack.enter_context(ContestantProcess(PRODUCT, stub, ours))
        for number in range(WARM_UP):
            product.ask([world.question(1_000_000 + number)])
        many = repeated(product, options.questions)
        file_mib = (home / "usage.db").stat().st_size / 2**20
    ours_ms, theirs_ms = (
        statistics.median(each.cpu_ms for each in side) for side in zip(*pairs, strict=True)
    )
    more_ms, made = ours_ms - theirs_ms, (calls(few), calls(many))
    rows = [
        ("calls of a repeated question", "0", f"{made[0]}, {made[1]}", not any(made)),
        *(
            (f"repeated, {what}", f"<= {MAX_MS:g} ms", f"{wall(took):.1f} ms", wall(took) <= MAX_MS)
            for what, took in (("few rows", few), (f"{added:,} rows", many))
        ),
        ("bytes a question", f"<= {MAX_BYTES}", f"{size:.0f}", size <= MAX_BYTES),
        ("file", f"<= {LIMIT_MIB} MiB", f"{file_mib:.0f} MiB", file_mib <= LIMIT_MIB),
        (
            "more processor time of a new question",
            f"<= {MAX_MORE_MS:g} ms",
            f"{more_ms:.1f} ms ({ours_ms:.1f}, without {theirs_ms:.1f})",
            more_ms <= MAX_MORE_MS,
        ),
    ]
    print(f"# Remembered answers\n\n- {load()}\n\n| goal | limit | measured | |\n|---|---|---|---|")
    for name, limit, measured, holds in rows:
        print(f"| {name} | {limit} | {measured} | {'pass' if holds else '**miss**'} |")
    return 0 if all(holds for *_, holds in rows) else 1


def repeated(process: ContestantProcess, known: int) -> list[Round]:
    """Return rounds of questions that were asked before; the first ones warm up."""
    numbers = [WARM_UP + number % known for number in range(REPEATED + 2)]
    return [process.ask([world.question(number)]) for number in numbers][2:]


def calls(rounds: Sequence[Round]) -> int:
    """Return how many calls the rounds made."""
    return sum(sum(each.calls.values()) for each in rounds)


def wall(rounds: Sequence[Round]) -> float:
    """Return the median time of a round in milliseconds."""
    return statistics.median(each.wall_ms for each in rounds)


def bytes_of_answers(home: Path) -> int:
    """Return the size of all remembered answers, with the pages of the file that they fill."""
    with closing(sqlite3.connect(home / "usage.db")) as connection:
        pages = (
            connection.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%answers%'")
            if _has_dbstat(connection)
            else connection.execute("SELECT sum(length(payload) + 120) FROM answers")
        )
        return int(pages.fetchone()[0])


def _has_dbstat(connection: sqlite3.Connection) -> bool:
    options = {row[0] for row in connection.execute("PRAGMA compile_options")}
    return "ENABLE_DBSTAT_VTAB" in options


def fill(home: Path, count: int) -> int:
    """Remember so many more answers, in files of the usual limit; return how many there are."""
    usage = SQLiteUsage(home / "usage.db")
    for start in range(0, count, 1_000):
        payloads = {f"made {n}": os.urandom(PAYLOAD // 2) for n in range(start, start + 1_000)}
        usage.put_many("local", "search", payloads)
        usage.flush()
    usage.close()
    with closing(sqlite3.connect(home / "usage.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=31, help="new ones (default 31)")
    parser.add_argument("--rows", type=int, default=100_000, help="filled in (default 100,000)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
