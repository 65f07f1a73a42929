"""What the command's help costs before anything is done: CPU time against two bare imports.

Prints medians in milliseconds and their ratio to `import typer, pydantic`; at most 2 is the aim.
Run it with the interpreter to be measured: `python benchmarks/startup.py [ROUNDS]`.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from typing import Final

FLOOR: Final = "import typer, pydantic"
HELP: Final = ("", "run", "search", "ask", "collections", "corpus", "worker", "eval")
SUBJECTS: Final = {
    "import collection_search": ["-c", "import collection_search"],
    **{
        f"{name} --help".strip(): ["-m", "collection_search", *name.split(), "--help"]
        for name in HELP
    },
}


def cpu_ms(arguments: list[str]) -> float:
    """Return the user and system time of one fresh interpreter, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main(rounds: int) -> None:
    """Measure floor and subjects in turn, so that a busy machine slows all of them."""
    cases = {FLOOR: ["-c", FLOOR], **SUBJECTS}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds + 1):
        for name, arguments in cases.items():
            times[name].append(cpu_ms(arguments))
    medians = {name: statistics.median(taken[1:]) for name, taken in times.items()}
    for name, median in medians.items():
        print(f"{name:<26}{median:>8.0f} ms{median / medians[FLOOR]:>8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
