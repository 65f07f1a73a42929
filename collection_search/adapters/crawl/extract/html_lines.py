"""The text of an HTML tree in lines, as a browser shows it, whatever part is the article."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_WITHOUT_TEXT: Final = frozenset({
    "script", "style", "noscript", "template", "head", "svg", "iframe", "object", "embed", "audio",
    "video", "canvas", "map", "select", "datalist", "textarea", "input", "title", "frameset",
})  # fmt: skip
BESIDE: Final = frozenset({"a", "nav", "header", "footer", "aside", "button", "form"})
"""Elements that stand beside the content of most pages."""
_INLINE: Final = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del",
    "dfn", "em", "font", "i", "img", "ins", "kbd", "label", "mark", "q", "ruby", "rb", "rp", "rt",
    "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_VERBATIM: Final = frozenset({"pre", "listing", "xmp"})
_CELLS: Final = frozenset({"td", "th"})
_BLANKS = re.compile(r"[ \t\n\r\f\xa0]+")
_MAX_CELLS: Final = 5_000
"""Only so many cells of a page are written as columns; hostile pages nest tables."""


def html_lines(tree: Any, *, without: Collection[str] = (), enough: int | None = None) -> str:
    r"""Return the text with a line for each block, and code with its own lines and indentation.

    The rows of a table have bars, as in Markdown. `without` are the names of further elements to
    leave out. A text with more than `enough` characters may end anywhere after so many.

    >>> from lxml import html
    >>> html_lines(html.fromstring("<div>Call<pre>if x:\n    y()</pre>and <b>wait</b>.</div>"))
    'Call\nif x:\n    y()\nand wait.'
    """
    etree: Any = import_module("lxml.etree")

    lines = _Lines(inf if enough is None else enough)
    left_out = _WITHOUT_TEXT | frozenset(without)
    tables = _data_tables(tree)
    walk = etree.iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        if event == "start":
            if element.tag in left_out:
                walk.skip_subtree()
                continue
            lines.begin(element, is_table=element in tables)
            lines.add(element.text)
        else:
            if event == "end" and element.tag not in left_out:
                lines.end(element, is_table=element in tables)
            if element is not tree:
                lines.add(element.tail)
        if lines.chars > lines.enough:
            break
    return lines.text()


def _data_tables(tree: Any) -> set[Any]:
    """Return the tables with columns of data, and their rows and cells.

    A table for the layout holds other tables, or one cell a row.
    """
    found: set[Any] = set()
    for table in tree.iter("table"):
        if table.get("role") in {"presentation", "none"} or table.find(".//table") is not None:
            continue
        rows = list(table.iter("tr"))
        cells = [cell for row in rows for cell in row if cell.tag in _CELLS]
        if len(cells) > len(rows) and len(found) + len(cells) < _MAX_CELLS:
            found.update(rows, cells)
    return found


@dataclass(slots=True)
class _Lines:
    enough: float
    chars: int = 0
    done: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    verbatim: int = 0
    in_cell: int = 0

    def begin(self, element: Any, *, is_table: bool) -> None:
        if element.tag == "br":
            self._break_line()
        elif is_table and element.tag in _CELLS:
            self.line.append(" " if self.line and self.line[-1].endswith("|") else "| ")
            self.in_cell += 1
        elif element.tag not in _INLINE:
            self._end_block()
            self.verbatim += element.tag in _VERBATIM

    def end(self, element: Any, *, is_table: bool) -> None:
        if is_table and element.tag in _CELLS:
            self.in_cell -= 1
            self.line.append(" |")
        elif element.tag not in _INLINE and element.tag != "br":
            self._end_block()
            self.verbatim -= element.tag in _VERBATIM
            if is_table and len(element) and all(cell.tag == "th" for cell in element):
                self.done.append("|" + "---|" * len(element))

    def add(self, text: str | None) -> None:
        if not text:
            return
        if not self.verbatim:
            self.line.append(text)  # the end of the line joins its blanks
            return
        if self.in_cell:
            self.line.append(_BLANKS.sub(" ", text))
            return
        *ended, last = text.expandtabs(4).split("\n")
        for part in ended:
            self.line.append(part)
            self._break_line()
        self.line.append(last)

    def text(self) -> str:
        self._break_line()
        return "\n".join(self.done).strip("\n")

    def _end_block(self) -> None:
        """End the line where there is one: a block within code makes no empty lines."""
        if self.line:
            self._break_line()

    def _break_line(self) -> None:
        if self.in_cell:
            self.line.append(" ")
            return
        line = "".join(self.line)
        self.line.clear()
        if self.verbatim:
            line = line.rstrip()
        elif not (line := _BLANKS.sub(" ", line).strip()):
            return
        self.done.append(line)
        self.chars += len(line)
