"""Sentences and lines of code of a text, as spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .sentence_ends import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE: Final = re.compile(r"[^\n]+")
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")
_PROMPT: Final = re.compile(r"\s*(?:>>>|\.\.\.|\$|#!)(?:\s|$)")
_CODE: Final = re.compile(
    r"""\s*(?:
        (?:from\s[\w.]+\simport|import\s[\w.]+(?:$|,|\sas\s)|def\s\w+\(|async\s(?:def|with|for)\b
          |class\s[\w.]+(?:\(.*\))?:?$|return\b.*[\w)\]]$|@\w+[\w.]*(?:\(.*\))?$|raise\s\w+
          |(?:if|for|while|with|elif|except)\b.*:$|(?:else|try|finally):$
          |(?:const|let|var|public|private|static|func|fn|package|SELECT|INSERT|UPDATE|CREATE)\s)
      | [\w.\[\]"']+(?:,\s[\w.]+)*\s?[-+*/|&:]?=\s?\S       # an assignment
      | [\w.]+\((?:.*\);?|[^()]*)$                          # a call, or the start of one
      | .*[{};]$
      | [)\]}]+[,;]?$
      | </?\w[^<>]*>
    )""",
    re.VERBOSE,
)
_COMMENT: Final = re.compile(r"\s*(?:#|//|--)\s")
_HEADING: Final = re.compile(r"(\#{1,6})\s+")
_ITEM: Final = re.compile(r"\s*(?:[-*+•·–]|\(?\w{1,2}[.)]|:\w+[^:]*:)\s+(?=\S)")  # noqa: RUF001
_ROW: Final = re.compile(r"\S(?:\s{3,}|\t+)\S|\|.*\|")
_WRAPPED: Final = 45
"""A shorter line ends its paragraph, unless the next one begins in lower case."""


class Part(NamedTuple):
    """A sentence, a row, a heading, or consecutive lines of code: `text[start:end]`."""

    start: int
    end: int
    is_code: bool = False
    heading: int | None = None
    """Position, among the parts, of the heading or the line that this one stands below."""
    level: int = 0
    """1 to 6 for a heading that is marked as in Markdown; its text has no mark."""


class _Line(NamedTuple):
    start: int
    end: int
    indent: int
    text: str


def split_parts(text: str) -> list[Part]:
    r"""Return the sentences and the blocks of code of a text, in order.

    They have no white space at their ends and never overlap. Lines that were wrapped are one
    sentence; lines of code that follow each other are one part.

    >>> text = "wait(fs)\n    Wait for the futures,\n    all of them. See e.g. Task.\n\n>>> wait()"
    >>> [" ".join(text[part.start : part.end].split()) for part in split_parts(text)]
    ['wait(fs)', 'Wait for the futures, all of them.', 'See e.g. Task.', '>>> wait()']
    """
    parts: list[Part] = []
    sections: list[int] = []
    owners: list[tuple[int, int]] = []
    for lines, is_code in _groups(text):
        if mark := None if is_code else _HEADING.match(lines[0].text):
            level = len(mark[1])
            while sections and parts[sections[-1]].level >= level:
                sections.pop()
            above = sections[-1] if sections else None
            start = lines[0].start + mark.end()
            sections.append(len(parts))
            parts.append(Part(start, lines[0].end, heading=above, level=level))
            owners.clear()
            continue
        indent = lines[0].indent
        while owners and owners[-1][0] >= indent:
            owners.pop()
        heading = owners[-1][1] if owners else sections[-1] if sections else None
        if is_code:
            parts.append(Part(lines[0].start, lines[-1].end, is_code=True, heading=heading))
        else:
            spans = sentence_spans(text, lines[0].start, lines[-1].end)
            parts += [Part(start, end, heading=heading) for start, end in spans]
        if len(lines) == 1 and parts:
            owners.append((indent, len(parts) - 1))
    return parts


def _groups(text: str) -> Iterator[tuple[list[_Line], bool]]:
    """Yield consecutive lines that belong together, and whether they are code."""
    group: list[_Line] = []
    is_code = in_fence = False
    last_end = 0
    for line in _lines(text):
        if _FENCE.match(line.text):
            in_fence = not in_fence
            if group:
                yield group, is_code
            group = []
            continue
        follows = bool(group) and text.count("\n", last_end, line.start) == 1
        if not (in_fence or (follows and is_code) or any(map(str.isalnum, line.text))):
            continue
        is_next_code = in_fence or (
            _goes_on_as_code(group, line)
            if follows and is_code
            else _is_code(line.text) and not (follows and _is_wrapped(group[-1], line))
        )
        if group and (
            is_next_code != is_code
            or not (in_fence or follows)
            or not (is_code or _continues(group, line))
        ):
            yield group, is_code
            group = []
        is_code, last_end = is_next_code, line.end
        group.append(line)
    if group:
        yield group, is_code


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are not blank, without white space at their ends."""
    for found in _LINE.finditer(text):
        line = found[0]
        bare = line.strip()
        if bare:
            start = found.start() + line.index(bare)
            yield _Line(start, start + len(bare), len(line) - len(line.lstrip()), line.rstrip())


def _is_code(line: str) -> bool:
    return bool(_PROMPT.match(line) or _CODE.match(line)) and not _HEADING.match(line)


def _goes_on_as_code(group: list[_Line], line: _Line) -> bool:
    """Return whether a line that directly follows lines of code is code too."""
    if _PROMPT.match(group[0].text) or _is_code(line.text) or _COMMENT.match(line.text):
        return True
    code = "".join(each.text for each in group)
    return sum(map(code.count, "([{")) > sum(map(code.count, ")]}"))


def _is_wrapped(last: _Line, line: _Line) -> bool:
    """Return whether a sentence goes on in a line that looks like code, such as `with this:`."""
    return (
        line.indent == last.indent
        and len(last.text.strip()) >= _WRAPPED
        and last.text[-1].isalnum()
        and not _PROMPT.match(line.text)
    )


def _continues(group: list[_Line], line: _Line) -> bool:
    """Return whether a line of prose goes on with the sentence of the lines before it."""
    first, last = group[0], group[-1]
    if _HEADING.match(last.text) or _HEADING.match(line.text) or _ITEM.match(line.text):
        return False
    if _ROW.search(line.text.strip()) or _ROW.search(last.text.strip()):
        return False
    if line.indent != last.indent and not (_ITEM.match(first.text) and line.indent > first.indent):
        return False
    return line.text.lstrip()[0].islower() or len(last.text.strip()) >= _WRAPPED
