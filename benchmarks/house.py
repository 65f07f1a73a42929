"""The form of the package beside its goals, and how many modules one task passes through.

`python benchmarks/house.py [ROOT] [--before ROOT] [--names]` prints Markdown; ROOT is a source
tree, by default this one. Returns 1 when a goal was missed. The tasks are those of `frames.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from structure import MAX_LINES, PACKAGE, structure, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from structure import Structure

HERE: Final = Path(__file__).parent
GOALS: Final = {"rooms": 22, "import layers": 12, f"modules above {MAX_LINES} lines": 0}
"""The largest number that is good."""
LINES: Final = "lines of Python"

Frames = dict[str, dict[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 when a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=HERE.parent)
    parser.add_argument("--before", type=Path, help="a source tree to compare with")
    parser.add_argument("--names", action="store_true", help="list rooms, modules and names too")
    options = parser.parse_args(arguments)
    roots = [root for root in (options.before, options.root) if root]
    forms = [structure(root) for root in roots]
    frames = [frames_of(root) for root in roots]
    goals = goals_of(forms)
    listed = names(forms[-1], frames[-1]) if options.names else ()
    print("\n".join([*report(forms, frames, goals), *listed]))
    wrong = missed(summary(forms[-1]), goals)
    for line in wrong:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if wrong else 0


def frames_of(root: Path) -> Frames:
    """Return what `frames.py` measures of the package under `root`."""
    ran = subprocess.run(  # noqa: S603
        [sys.executable, str(HERE / "frames.py")],
        env=_environment() | {"PYTHONPATH": str(root.resolve())},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Frames = json.loads(ran.stdout)
    return found


def goals_of(forms: Sequence[Structure]) -> dict[str, int]:
    """Return the goals; no more lines than before, where a tree to compare with is given."""
    before = {LINES: forms[0].lines[PACKAGE][0]} if len(forms) > 1 else {}
    return GOALS | before


def missed(figures: Mapping[str, int], goals: Mapping[str, int]) -> list[str]:
    """Return a line for every figure above its goal.

    >>> missed({"rooms": 23, "import layers": 12}, {"rooms": 22, "import layers": 12})
    ['rooms: 23, at most 22']
    """
    return [
        f"{name}: {figures[name]}, at most {most}"
        for name, most in goals.items()
        if figures[name] > most
    ]


def report(
    forms: Sequence[Structure], frames: Sequence[Frames], goals: Mapping[str, int]
) -> Iterator[str]:
    """Yield the lines of the Markdown report: one column per tree, the goal last."""
    yield "| figure |" + (" before |" if len(forms) > 1 else "") + " now | goal |"
    yield "|---" * (len(forms) + 2) + "|"
    counted = [summary(form) for form in forms]
    for name in counted[0]:
        yield _row(name, [f"{each[name]:,}" for each in counted], f"{goals.get(name, '')}")
    for task in frames[0]:
        yield _row(f"modules in a {task}", [str(len(each[task]["modules"])) for each in frames], "")
        wires = (each[task]["wire"].items() for each in frames)
        shown = [", ".join(f"{path} {depth}" for path, depth in wire) for wire in wires]
        yield _row(f"frames at the wire of a {task}", shown, "")


def names(form: Structure, frames: Frames) -> Iterator[str]:
    """Yield what was counted."""
    yield f"\nRooms: {', '.join(form.rooms)}\n\nLayers: {'; '.join(form.layers)}"
    yield f"\nModules above {MAX_LINES} lines: {_listed(form.large)}"
    for title, found in (("Module", form.module_names), ("Public", form.public_names)):
        yield f"\n{title} names used more than once:\n"
        yield from (f"- `{name}`: {', '.join(modules)}" for name, modules in found.items())
    for task, measured in frames.items():
        yield f"\nModules in a {task}: {', '.join(measured['modules'])}"


def _row(name: str, figures: Sequence[str], goal: str) -> str:
    return f"| {' | '.join([name, *figures, goal])} |"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _environment() -> dict[str, str]:
    """Return the environment without settings, keys and proxies of whoever runs the benchmark."""
    return {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TMPDIR"}}


if __name__ == "__main__":
    sys.exit(main())
