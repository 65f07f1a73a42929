"""Tables that fit the columns of a terminal.

A wide table becomes several with the same first column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...tools.evaluation.report_tables import Report
    from .terminal import Screen


def narrow_tables(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, columns: int = 80, gap: str = "  "
) -> list[str]:
    r"""Return the lines of one or more tables, none wider than `columns` (20 or more).

    `gap` stands between the cells. What does not fit a cell is cut, and ends in an ellipsis. No
    row, no line.

    >>> lines = narrow_tables(["method", "P@1", "ms"], [["BM25", "0.5", "1"]], columns=20)
    >>> print("\n".join(lines))
    method  P@1  ms
    ------  ---  --
    BM25    0.5  1
    """
    if not rows:
        return []
    cells = [[printable(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    others = sum(len(gap) + width for width in widths[1:])
    widths[0] = min(widths[0], max(columns // 2, columns - others))
    room = columns - widths[0] - len(gap)
    widths[1:] = [min(width, room) for width in widths[1:]]
    lines: list[str] = []
    for group in _groups(widths, columns, gap):
        lines += [""] if lines else []
        chosen = [[row[place] for place in group] for row in cells]
        chosen.insert(1, ["-" * widths[place] for place in group])
        sizes = [widths[place] for place in group]
        lines += [gap.join(map(_padded, row, sizes)).rstrip() for row in chosen]
    return lines


def print_report(report: Report, screen: Screen) -> None:
    """Print a report in rows of the terminal."""
    screen.line(report.title)
    for fact in report.facts:
        screen.rows(screen.wrap(fact, indent=2))
    for section in report.sections:
        screen.line()
        screen.rows(screen.wrap(section.title))
        if section.rows:
            screen.line()
        for line in narrow_tables(section.head, section.rows, columns=screen.text_width):
            screen.line(line)
        if section.note:
            screen.line()
            screen.rows(screen.wrap(section.note))


def _groups(widths: Sequence[int], columns: int, gap: str) -> Iterator[list[int]]:
    """Yield the places of the columns of each table, the first column always among them."""
    group, used = [0], widths[0]
    for place in range(1, len(widths)):
        if used + len(gap) + widths[place] > columns and len(group) > 1:
            yield group
            group, used = [0], widths[0]
        group.append(place)
        used += len(gap) + widths[place]
    yield group


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _padded(text: str, width: int) -> str:
    from rich.cells import set_cell_size

    if _width(text) > width:
        return set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, width)
