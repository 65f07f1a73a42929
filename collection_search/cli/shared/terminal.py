"""The output of a command: results to stdout, everything else to stderr."""

from __future__ import annotations

import functools
import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .wrapping import columns_of, fit_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console
    from rich.text import Text

READABLE_COLUMNS: Final = 100
PIPED_COLUMNS: Final = 80
_HANG: Final = 2
"""Columns before the further rows of a problem."""


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

    def line(self, text: str = "", *, style: str | None = None, hang: int | None = None) -> None:
        """Print one line of the result, in a terminal in rows broken between words.

        `hang` are the columns before its further rows, by default as many as before the first.
        """
        _print_fitted(self._out, printable(text), style=style, hang=hang)

    @property
    def text_width(self) -> int:
        """Columns of running text: a pipe has 80, and very long rows cannot be read."""
        return min(self.width or PIPED_COLUMNS, READABLE_COLUMNS)

    @property
    def table_width(self) -> int:
        """Columns of a table: all of the terminal, 80 of a pipe."""
        return self.width or PIPED_COLUMNS

    @property
    def err_width(self) -> int:
        """Columns of a table among the problems."""
        return self.err.width if self.err.is_terminal else PIPED_COLUMNS

    def wrap(
        self,
        text: str,
        *,
        indent: int = 0,
        spare: int = 0,
        bold: Callable[[str], Iterable[tuple[int, int]]] | None = None,
    ) -> list[Text]:
        """Return the text in rows of the terminal, broken between words where that is possible.

        `spare` columns stay free at the right. `bold` returns the spans of the text that stand
        out. Wide characters take two columns.
        """
        from rich.text import Text

        whole = Text(printable(text))
        for start, end in bold(whole.plain) if bold else ():
            whole.stylize("bold", start, end)
        margin, rows = (
            Text(" " * indent),
            whole.wrap(self._out, max(self.text_width - indent - spare, 1)),
        )
        for row in rows:
            row.rstrip()
        return [margin + row for row in rows]

    def rows(self, rows: Iterable[Text], *, style: str | None = None) -> None:
        """Print rows of `wrap`."""
        for row in rows:
            self._out.print(row, style=style)

    def link(self, url: str, *, indent: int = 0) -> None:
        """Print an address in one piece; a terminal that can opens it at a click.

        One that does not fit behind its indentation begins further left.
        """
        from rich.style import Style
        from rich.text import Text

        shown = printable(url)
        if self.width is not None:
            indent = max(min(indent, self.width - columns_of(shown)), 0)
        target = shown if shown.startswith(("https://", "http://")) else None
        self._out.print(Text(" " * indent) + Text(shown, Style(dim=True, link=target)))

    def json(self, value: object) -> None:
        """Print the result as JSON, in ASCII, which is valid in every encoding."""
        print(json.dumps(value))

    def note(self, text: str) -> None:
        """Print one line to stderr; with `as_json` on a terminal only."""
        if self.err.is_terminal or not self.as_json:
            _print_fitted(self.err, printable(text))

    def warn(self, text: str, *, table: Iterable[str] = ()) -> None:
        """Print a problem that did not end the command, with the lines of its table."""
        _print_fitted(self.err, f"warning: {printable(text)}", style="yellow", hang=_HANG)
        for row in table:
            _print_fitted(self.err, printable(row), style="yellow")

    def fail(self, text: str) -> None:
        """Print why the command failed."""
        _print_fitted(self.err, f"collection-search: {printable(text)}", style="red", hang=_HANG)

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


def _print_fitted(
    console: Console, text: str, *, style: str | None = None, hang: int | None = None
) -> None:
    """Print one line; a pipe gets it whole."""
    rows = fit_line(text, console.width, hang=hang) if console.is_terminal else [text]
    for row in rows:
        console.print(row, style=style)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    return Console(file=file, markup=False, emoji=False, highlight=False, soft_wrap=True)
