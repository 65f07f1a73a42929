"""The output of a command: results to stdout, everything else to stderr."""

from __future__ import annotations

import functools
import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console


class Screen:
    """A command's two streams. With `as_json` stdout takes one JSON object and nothing else."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    @functools.cached_property
    def _out(self) -> Console:
        return _console(stderr=False)

    @functools.cached_property
    def err(self) -> Console:
        """The console of progress and warnings."""
        return _console(stderr=True)

    @property
    def is_live(self) -> bool:
        """True where bars and spinners can move."""
        return self.err.is_terminal and not self.err.is_dumb_terminal

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None where lines may have any length."""
        return self._out.width if self._out.is_terminal else None

    def line(self, text: str = "", *, style: str | None = None) -> None:
        """Print one line of the result."""
        self._out.print(printable(text), style=style)

    def json(self, value: object) -> None:
        """Print the result as JSON, in ASCII, which is valid in every encoding."""
        print(json.dumps(value))

    def note(self, text: str) -> None:
        """Print one line to stderr; with `as_json` on a terminal only."""
        if self.err.is_terminal or not self.as_json:
            self.err.print(printable(text))

    def warn(self, text: str) -> None:
        """Print a problem that did not end the command."""
        self.err.print(f"warning: {printable(text)}", style="yellow")

    def fail(self, text: str) -> None:
        """Print why the command failed."""
        self.err.print(f"collection-search: {printable(text)}", style="red")

    @contextmanager
    def bar(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """Show a progress bar, or one line without a terminal; yield the setter (done, total)."""
        if not self.is_live:
            announce = functools.cache(lambda: self.note(f"{label} ..."))
            yield lambda _done, _total: announce()
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task(label, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)


def printable(text: str) -> str:
    r"""Return the text without line ends and terminal control characters.

    >>> printable("a\x1b[31m page\nof yours")
    'a[31m page of yours'
    """
    return "".join(char if char.isprintable() else " " * char.isspace() for char in text)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    return Console(file=file, markup=False, emoji=False, highlight=False, soft_wrap=True)
