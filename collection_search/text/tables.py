"""Tables of a text, as in Markdown: a header, a rule such as `|---|---|`, and rows with bars."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RULE: Final = re.compile(r"^[ \t]*[|:-][|:\- \t]*$", re.MULTILINE)
_HEADER_LINES: Final = 3
_HEADER_CHARS: Final = 500
"""A longer header is cut after a column: it must leave room for the rows."""

_ROW_CHARS: Final = 2_000
"""Where a longer row is cut does not matter."""


class _Table(NamedTuple):
    start: int
    end: int
    header: str


def table_headers(text: str, spans: Iterable[tuple[int, int]]) -> list[str | None]:
    r"""Return, for each span in order, the header of the table that its beginning continues.

    None for a span that begins outside a table, or with the table.

    >>> text = "| Ship | Year |\n|---|---|\n| Vasa | 1628 |\n| Mars | 1564 |"
    >>> table_headers(text, [(0, 40), (41, len(text))])
    [None, '| Ship | Year |']
    """
    tables = _tables(text) if "|" in text else iter(())
    table = next(tables, None)
    headers: list[str | None] = []
    for start, _ in spans:
        while table is not None and table.end <= start:
            table = next(tables, None)
        headers.append(table.header if table is not None and table.start < start else None)
    return headers


def header_at(text: str, place: int, header: str | None) -> str | None:
    r"""Return the header of the table that a text continues at a place inside.

    `header` is the one that its own beginning continues.

    >>> header_at("| Vasa | 1628 |\n| Mars | 1564 |", 16, "| Ship | Year |")
    '| Ship | Year |'
    >>> header_at("| Vasa | 1628 |\n\nSome words.", 17, "| Ship | Year |") is None
    True
    """
    above = f"{header}\n|---|\n" if header else ""
    place += len(above)
    return table_headers(above + text, [(place, place)])[0]


def is_in_row(text: str, place: int) -> bool:
    """Return whether the place is inside a row with a bar at its beginning."""
    line_end = text.rfind("\n", max(place - _ROW_CHARS, 0), place)
    if line_end < 0 and place > _ROW_CHARS:
        return False
    return line_end + 1 < place and text.startswith("|", line_end + 1)


def _tables(text: str) -> Iterator[_Table]:
    """Yield the tables in order; one that follows another directly ends that."""
    start, rows, header = 0, 0, ""
    for rule in _RULE.finditer(text):
        if not ("|" in rule[0] and "-" in rule[0] and rule.start()):
            continue
        above = _line_above(text, rule.start())
        if not _is_header(text[above : rule.start()]):
            continue
        end = _end_of_rows(text, rows, above) if header else 0
        if header:
            yield _Table(start, end, header)
        start, rows = _first_line(text, above, end), rule.end()
        header = _cut(text[start : rule.start()].strip())
    if header:
        yield _Table(start, _end_of_rows(text, rows, len(text)), header)


def _line_above(text: str, line: int) -> int:
    return text.rfind("\n", 0, line - 1) + 1


def _is_header(line: str) -> bool:
    return "|" in line and any(map(str.isalnum, line))


def _first_line(text: str, line: int, before: int) -> int:
    """Return where a header begins: it may have lines above this one, after other rows' end."""
    for _ in range(_HEADER_LINES - 1):
        above = _line_above(text, line) if line else line
        if above < before or above == line or not _is_header(text[above:line]):
            break
        line = above
    return line


def _end_of_rows(text: str, place: int, stop: int) -> int:
    while place < stop:
        line_end = text.find("\n", place + 1, stop)
        line_end = stop if line_end < 0 else line_end
        if "|" not in text[place:line_end]:
            break
        place = line_end
    return place


def _cut(header: str) -> str:
    if len(header) <= _HEADER_CHARS:
        return header
    return header[: header.rfind("|", 0, _HEADER_CHARS) + 1] or header[:_HEADER_CHARS]
