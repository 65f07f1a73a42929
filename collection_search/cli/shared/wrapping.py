"""Lines in rows of a terminal: no word and no address is broken, a command stays one command."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import Final

_COMMAND: Final = "collection-search "
_CONTINUED: Final = " \\"
_WORD: Final = re.compile(r"(\s*)(\S+)")
_SLASH: Final = "/"


def fit_line(text: str, width: int, *, hang: int | None = None) -> list[str]:
    r"""Return the line in rows of at most `width` columns, broken between words.

    Further rows are indented as the first one, or by `hang` columns. A line that is a command to
    copy is broken between its options, with the sign that lets a shell read on. An address or path
    wider than the terminal is left whole: the terminal breaks it, and copies it in one piece.

    >>> fit_line("  one two three", 9), fit_line("1  one two", 7, hang=3)
    (['  one two', '  three'], ['1  one', '   two'])
    >>> for row in fit_line("  collection-search ask 'What is tea?' --collection tea", 40):
    ...     print(row)
      collection-search ask 'What is tea?' \
        --collection tea
    """
    if columns_of(text) <= width:
        return [text]
    if text.lstrip().startswith(_COMMAND) and (rows := _command_rows(text, width)):
        return rows
    return _word_rows(text, width, hang)


def fit_stderr(line: str) -> list[str]:
    """Return the line in rows of the terminal that stderr is, whole where it is none."""
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return [line]
    return fit_line(line, width, hang=2) if width else [line]


def columns_of(text: str) -> int:
    """Return the columns that the text takes in a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _word_rows(text: str, width: int, hang: int | None) -> list[str]:
    margin = " " * (len(text) - len(text.lstrip()) if hang is None else hang)
    rows: list[str] = []
    row = ""
    for found in _WORD.finditer(text):
        gap, word = found[1], found[2]
        if columns_of(row + gap + word) <= width:
            row += gap + word
            continue
        if row:
            rows.append(row)
        start = margin if rows else gap
        *whole, row = _pieces(word, start, width)
        rows += whole
    return [*rows, row] if row else rows


def _pieces(word: str, margin: str, width: int) -> list[str]:
    """Return the beginning of a row: a wide word has less of a margin, or is itself broken."""
    size = columns_of(word)
    if len(margin) + size <= width:
        return [margin + word]
    if _SLASH in word or size == len(word):
        return [" " * max(width - size, 0) + word]
    from rich.cells import chop_cells  # Chinese, for example, has no blanks between words

    return [margin + piece for piece in chop_cells(word, max(width - len(margin), 2))]


def _command_rows(text: str, width: int) -> list[str]:
    """Return the command in rows, none where it cannot be read as one."""
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    margin = " " * (len(text) - len(text.lstrip()))
    parts: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            parts.append([])
        parts[-1].append(word)
    first, *options = (shlex.join(part) for part in parts)
    rows, row = [], margin + first
    for option in options:
        if columns_of(f"{row} {option}{_CONTINUED}") <= width:
            row += f" {option}"
        else:
            rows.append(row + _CONTINUED)
            row = f"{margin}  {option}"
    return [*rows, row]
