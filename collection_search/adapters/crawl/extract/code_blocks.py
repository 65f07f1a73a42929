"""Code of an HTML page: its lines and their indentation outlive the extraction of the article.

That takes away blanks, joins the lines of what stands in a list, and leaves out figures.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final

from .html_lines import html_lines

_EDGE: Final = "¤c¤"
_LINE_END: Final = "¤l¤"
_BLANK: Final = "¤b¤"
_BLANKS: Final = re.compile(r"^ +| {2,}", re.MULTILINE)
"""Blanks that are more than a space between two words."""
_WRITTEN_EDGE: Final = re.compile(r"[ \t]*\n?[ \t]*¤c¤[ \t]*\n?(?:[ \t]*¤c¤[ \t]*\n?)*")
_WRITTEN_LINE_END: Final = re.compile(r"[ \t]*¤l¤[ \t]*")
_NUMBERS: Final = re.compile(r"\s*\d+(?:\s+\d+)*\s*")
_NUMBER_NAMES: Final = frozenset({"linenos", "lineno", "line-number", "line-numbers", "gutter"})
_BESIDE_CODE: Final = frozenset({"button"})
_QUOTED: Final = ("pre", "blockquote")


def mark_code(tree: Any) -> None:
    """Write marks in place of the line ends and blanks of code, which `with_code_lines` reads.

    Code in a figure is taken out of it, and so is code in a table that has the numbers of its
    lines. In the cell of any other table it is a part of the row.
    """
    _free_from_numbers(tree)
    _free_from_figures(tree)
    for code in list(tree.iter("pre")):
        if next(code.iterancestors("td", "th", "pre"), None) is None:
            _mark(code)


def with_code_lines(text: str) -> str:
    r"""Return a text with line ends and blanks where `mark_code` wrote marks.

    >>> with_code_lines("- Call: ¤c¤if x:¤l¤¤b¤¤b¤y()¤c¤ and wait.")
    '- Call:\nif x:\n  y()\nand wait.'
    """
    if _EDGE not in text:
        return text
    text = _WRITTEN_LINE_END.sub("\n", _WRITTEN_EDGE.sub("\n", text))
    return text.replace(_BLANK, " ")


def _mark(code: Any) -> None:
    lines = html_lines(code, without=_BESIDE_CODE)
    for child in list(code):
        code.remove(child)
    marked = _BLANKS.sub(lambda found: _BLANK * len(found[0]), lines).replace("\n", _LINE_END)
    code.text = f"{_EDGE}{marked}{_EDGE}" if lines else ""


def _free_from_numbers(tree: Any) -> None:
    """Remove the numbers of lines, and the table that holds them beside the code."""
    for code in list(tree.iter("pre")):
        for number in [one for one in code.iter("span", "a") if _is_number(one)]:
            number.drop_tree()
    for table in list(tree.iter("table")):
        cells = list(islice(table.iter("td", "th"), 3))
        if len(cells) != 2 or not _NUMBERS.fullmatch("".join(cells[0].itertext())):  # noqa: PLR2004
            continue
        code = cells[1].find(".//pre")
        if code is not None and table.getparent() is not None:
            code.tail = table.tail
            table.getparent().replace(table, code)


def _is_number(element: Any) -> bool:
    return not _NUMBER_NAMES.isdisjoint((element.get("class") or "").split())


def _free_from_figures(tree: Any) -> None:
    for figure in list(tree.iter("figure")):
        if any(figure.find(f".//{name}") is not None for name in _QUOTED):
            figure.tag = "div"
            for caption in figure.iter("figcaption"):
                caption.tag = "p"
