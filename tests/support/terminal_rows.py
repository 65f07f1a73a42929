"""What a terminal of so many columns shows of the bytes that a program writes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rich.cells import cell_len

_SEQUENCE: Final = re.compile(
    r"\x1b\[(?P<number>\d*)[\d;?]*(?P<command>[A-Za-z])|\x1b\].*?(?:\x1b\\|\x07)", re.DOTALL
)


class TerminalRow(NamedTuple):
    """A row of the screen."""

    text: str
    goes_on: bool = False
    """The terminal itself broke the line here: it did not fit."""


def terminal_rows(written: str, *, columns: int) -> list[TerminalRow]:
    r"""Return the rows of the screen and of all that was scrolled out of it.

    >>> [row.text for row in terminal_rows("work\r\x1b[2Kdone\r\na line", columns=4)]
    ['done', 'a li', 'ne']
    """
    terminal, place = _Terminal(columns), 0
    while place < len(written):
        if sequence := _SEQUENCE.match(written, place):
            place = sequence.end()
            terminal.obey(sequence["command"], sequence["number"] or "")
        else:
            terminal.put(written[place])
            place += 1
    return terminal.rows()


class _Terminal:
    """The cells of a screen, with a cursor; a wide character is followed by an empty cell."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._cells: list[list[str]] = [[]]
        self._broken = [False]
        self._row = self._column = 0

    def obey(self, command: str | None, number: str) -> None:
        """Move the cursor up, or erase; other commands change no character."""
        if command == "A":
            self._row = max(self._row - int(number or 1), 0)
        elif command == "K":
            del self._cells[self._row][0 if number == "2" else self._column :]

    def put(self, char: str) -> None:
        """Put a character at the cursor; at the end of a row the terminal begins another."""
        if char == "\r":
            self._column = 0
        elif char == "\n":
            self._broken[self._row] = False
            self._begin_row()
        elif char >= " " and (width := cell_len(char)):  # without one it belongs to the last
            if self._column + width > self._columns:
                self._broken[self._row] = True
                self._begin_row()
            cells = self._cells[self._row]
            cells += [" "] * (self._column - len(cells))
            cells[self._column : self._column + width] = [char] + [""] * (width - 1)
            self._column += width

    def rows(self) -> list[TerminalRow]:
        """Return the rows, without blank ones at the end."""
        shown = [
            TerminalRow("".join(cells).rstrip(), goes_on)
            for cells, goes_on in zip(self._cells, self._broken, strict=True)
        ]
        while shown and not shown[-1].text:
            shown.pop()
        return shown

    def _begin_row(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self._cells):
            self._cells.append([])
            self._broken.append(False)


def whole_lines(rows: list[TerminalRow]) -> list[str]:
    """Return the lines as they were written: rows that the terminal broke are joined."""
    lines: list[str] = []
    is_open = False
    for row in rows:
        if is_open:
            lines[-1] += row.text
        else:
            lines.append(row.text)
        is_open = row.goes_on
    return lines
