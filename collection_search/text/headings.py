"""Headings of a text: lines as in Markdown, `## Title`, at the beginning of a line.

What is extracted from a document has its headings in this form, and other lines that would look
like one are indented by a blank. The text of a provider may be Markdown with code between fences.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TITLE_CHARS: Final = 200
_MAX_LEVELS: Final = 6
_MARK: Final = "¤{}¤ "
_MARKED: Final = re.compile(r"\n[ \t]*¤([1-6])¤[ \t]*([^\n]*?)[ \t]*$", re.MULTILINE)
_LEFT_OVER: Final = re.compile(r"¤[1-6]¤[ \t]*")
_LIKE_HEADING: Final = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)
_LINE: Final = re.compile(
    r"""\n(?:(?P<marks>\#{1,6})[ \t]+(?P<title>[^\s\#][^\n]*|\#[^\s\#][^\n]*)
        |[ ]{0,3}(?P<fence>```+|~~~+)(?P<rest>[^\n]*))$""",
    re.VERBOSE | re.MULTILINE,
)
_BLANKS: Final = " \t\r\n"
_CLOSING: Final = re.compile(r"[ \t]+#+[ \t]*$|[ \t]+$")


class _Heading(NamedTuple):
    start: int
    level: int
    title: str


def heading_mark(level: int) -> str:
    """Return what to put before a heading's title, so that `write_headings` finds it."""
    return _MARK.format(min(level, _MAX_LEVELS))


def is_marked_heading(line: str) -> bool:
    """Return whether the line is a heading for `write_headings`, and has a title.

    >>> is_marked_heading(heading_mark(2) + "Use"), is_marked_heading("Use it.")
    (True, False)
    """
    return "¤" in line and _MARKED.match(f"\n{line}") is not None


def write_headings(text: str) -> str:
    r"""Return the text with its marked lines as headings, and with no other line that looks so.

    >>> write_headings("Intro\n" + heading_mark(2) + "Use\n# no heading")
    'Intro\n\n## Use\n # no heading'
    """
    text = _LIKE_HEADING.sub(" ", text) if "#" in text else text
    if "¤" not in text:
        return text
    text = _MARKED.sub(_heading_line, f"\n{text}")[1:]  # each line has its beginning before it
    return _LEFT_OVER.sub("", text)


def _heading_line(found: re.Match[str]) -> str:
    start, title = found.start() + 1, found[2]
    if not any(map(str.isalnum, title)):
        return f"\n{title}"
    needs_blank = start > 1 and not found.string.endswith("\n\n", 1, start)
    blank = "\n" if needs_blank else ""
    return f"\n{blank}{'#' * int(found[1])} {title}"


def trimmed(text: str) -> str:
    r"""Return the text without white space around it; the blank that hides a mark stays.

    Form feeds stay as well, since they count pages.

    >>> trimmed("\n \n # no heading\n ")
    ' # no heading'
    """
    text = text.rstrip(_BLANKS)
    plain = text.lstrip(_BLANKS)
    before = text[: len(text) - len(plain)]
    return f" {plain}" if before.endswith(" ") and _LIKE_HEADING.match(plain) else plain


def without_heading_marks(text: str) -> str:
    r"""Return the text with plain lines in place of headings.

    >>> without_heading_marks("## Use\n\nIt waits.")
    'Use\n\nIt waits.'
    """
    return re.sub(r"^#{1,6}[ \t]+", "", text, flags=re.MULTILINE) if "#" in text else text


def heading_paths(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[str, ...]]:
    r"""Return the headings above each span, outermost first; one that it begins with counts.

    What a span repeats of the one before does not count as its beginning. Code between fences has
    no headings.

    >>> heading_paths("# Tea\n\nGreen.\n\n## Black\n\nOxidised.", [(0, 12), (15, 33)])
    [('Tea',), ('Tea', 'Black')]
    """
    headings = list(_headings(text)) if "#" in text else []
    paths: list[tuple[str, ...]] = []
    above: list[_Heading] = []
    position = covered = 0
    for start, end in spans:
        begin = _visible(text, max(start, covered), end)
        while position < len(headings) and headings[position].start <= begin:
            heading = headings[position]
            above = [*(one for one in above if one.level < heading.level), heading]
            position += 1
        paths.append(tuple(one.title for one in above))
        covered = end
    return paths


def _headings(text: str) -> Iterator[_Heading]:
    fence = ""
    after_heading = 0
    for line in _LINE.finditer(f"\n{text}"):  # a match begins where its line does in the text
        if (marks := line["fence"]) is not None:
            if not fence:
                fence = marks
            elif marks.startswith(fence) and not line["rest"].strip():
                fence = ""
        elif not fence and (
            len(line["marks"]) > 1 or _follows_blank(text, line.start(), after_heading)
        ):
            title = _CLOSING.sub("", line["title"])[:_TITLE_CHARS]
            after_heading = line.end()
            yield _Heading(line.start(), len(line["marks"]), title)


def _follows_blank(text: str, start: int, after_heading: int) -> bool:
    """Return whether a line begins a paragraph: a comment in code without fences seldom does."""
    before = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : start]
    return start == after_heading or not before.strip()


def _visible(text: str, start: int, end: int) -> int:
    rest = text[start:end]
    return start + len(rest) - len(rest.lstrip())


def page_numbers(text: str, spans: Sequence[tuple[int, int]]) -> list[int | None]:
    r"""Return the number of the page on which each span begins; pages end in form feeds.

    None for a text without form feeds, which has no pages.

    >>> page_numbers("one\n\ftwo\n\fthree", [(0, 3), (5, 8), (10, 15)])
    [1, 2, 3]
    """
    if "\f" not in text:
        return [None for _ in spans]
    numbers: list[int | None] = []
    number, counted = 1, 0
    for start, end in spans:
        begin = _visible(text, start, end)
        number += text.count("\f", counted, begin)
        counted = begin
        numbers.append(number)
    return numbers
