"""One page among the sources of an answer: its title, its address and its best lines."""

from __future__ import annotations

import functools
import re
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from ...ranking.excerpts import Excerpt, best_excerpts, matched_spans
from ...ranking.score_text import format_score
from ...text.headings import without_heading_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.text import Text

    from ...contracts.collection import Passage
    from .terminal import Screen

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+([^\n]*)")
_INDENT: Final = 4
_ELLIPSIS: Final = 2
"""Columns that ` …` takes."""
_DEEPEST: Final = 16
_NEIGHBOUR: Final = 1.4
"""Factor of the score of a part beside one that is shown: a paragraph reads better than pieces."""
_CHARS: Final = 1200
"""Characters of a passage's parts that are considered."""


class Page(NamedTuple):
    """The passages of one page, best first."""

    url: str
    passages: list[Passage]


def group_pages(passages: Sequence[Passage]) -> list[Page]:
    """Return the pages of the passages, the one with the best passage first."""
    pages: dict[str, Page] = {}
    for passage in passages:
        pages.setdefault(passage.url, Page(passage.url, [])).passages.append(passage)
    return list(pages.values())


class _Part(NamedTuple):
    """An excerpt with the place of its passage on the page."""

    place: int
    excerpt: Excerpt


@dataclass
class PageBlock:
    """The passages of a page as rows below its title and address."""

    question: str
    page: Page
    screen: Screen
    bold: Callable[[str], list[tuple[int, int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.bold = functools.partial(matched_spans, self.question)

    def print_head(self) -> None:
        """Print the numbers of the passages, the title and the address."""
        numbers = " ".join(f"[{passage.n}]" for passage in self.page.passages)
        best = self.page.passages[0]
        title = f"{numbers} {best.title}  (score {format_score(best.score, decimals=0)})"
        self.screen.rows(self.screen.wrap(title, bold=lambda row: [(0, len(row))]))
        self.screen.link(self.page.url, indent=_INDENT)
        if (last := best.provenance.get("truncated_at_page")) is not None:
            self.screen.rows(self._aside(f"Only pages 1 to {last} were read."))

    def print_whole(self) -> None:
        """Print the passages in full, each below its section."""
        for passage in self.page.passages:
            self.screen.rows(self._aside(section_of(passage)))
            for line in without_heading_marks(passage.text).splitlines():
                depth = min(len(line) - len(line.lstrip()), _DEEPEST)
                self.screen.rows(self._wrap(line.strip(), depth=depth))

    def print_best(self, most: int) -> None:
        """Print the best parts of the passages in order, in at most `most` rows."""
        rows: list[Text] = []
        chosen: list[_Part] = []
        seen: set[str] = set()
        parts = self._parts()
        while parts:
            part = max(parts, key=lambda one: self._worth(one, chosen))
            parts.remove(part)
            text = " ".join(self._text(part).split())
            tried = self._rows([*chosen, part])
            if text in seen or (chosen and len(tried) > most):
                continue
            seen.add(text)
            chosen.append(part)
            rows = tried
        self.screen.rows(_window(rows, most))

    def _parts(self) -> list[_Part]:
        title = self.page.passages[0].title
        return [
            _Part(place, excerpt)
            for place, passage in enumerate(self.page.passages)
            for excerpt in best_excerpts(
                self.question,
                passage.text,
                title=title,
                section=section_of(passage),
                chars=_CHARS,
            )
        ]

    def _worth(self, part: _Part, chosen: Sequence[_Part]) -> float:
        """Return the score of a part; it reads better after or before one that is shown."""
        passage, best = self.page.passages[part.place], self.page.passages[0]
        share = passage.score / best.score if best.score else 1.0
        is_next = any(
            _above(one) == _above(part) and _touch(passage.text, one.excerpt, part.excerpt)
            for one in chosen
        )
        return part.excerpt.score * share * (_NEIGHBOUR if is_next else 1.0)

    def _rows(self, parts: Iterable[_Part]) -> list[Text]:
        """Return the rows of some parts, sentences that follow each other as one paragraph."""
        rows: list[Text] = []
        section, paragraph, last = "", "", None
        for part in sorted(parts, key=lambda one: (one.place, one.excerpt.start)):
            passage = self.page.passages[part.place]
            if last is not None and self._is_next(last, part):
                paragraph += " " + " ".join(self._text(part).split())
                last = part
                continue
            rows += self._flush(paragraph, last)
            paragraph = ""
            if (stands_in := section_of(passage, part.excerpt.sections)) != section:
                rows += self._aside(stands_in)
                section = stands_in
            if not last or _above(last) != _above(part):
                rows += self._signature(part)
            if part.excerpt.is_code:
                rows += self._code(part)
            else:
                paragraph = " ".join(self._text(part).split())
            last = part
        return rows + self._flush(paragraph, last)

    def _flush(self, paragraph: str, part: _Part | None) -> list[Text]:
        return self._wrap(paragraph, depth=_depth(part)) if paragraph else []

    def _is_next(self, last: _Part, part: _Part) -> bool:
        """Return whether two sentences stand one after the other in the same paragraph."""
        if _above(last) != _above(part) or last.excerpt.is_code or part.excerpt.is_code:
            return False
        between = self.page.passages[part.place].text[last.excerpt.end : part.excerpt.start]
        shown = self._text(last), self._text(part)
        is_sentence = (
            shown[0][-1] in ".!?" and shown[1][0].isalnum() and "   " not in "".join(shown)
        )
        return not between.strip() and between.count("\n") <= int(is_sentence)

    def _text(self, part: _Part) -> str:
        return self.page.passages[part.place].text[part.excerpt.start : part.excerpt.end]

    def _code(self, part: _Part) -> list[Text]:
        text = self.page.passages[part.place].text
        indent = part.excerpt.start - text.rfind("\n", 0, part.excerpt.start) - 1
        lines = textwrap.dedent(" " * indent + self._text(part)).splitlines()
        depth = _depth(part)
        return [row for line in lines for row in self._wrap(line, depth=depth)]

    def _signature(self, part: _Part) -> list[Text]:
        """Return the line of code that a part stands below, as one row."""
        if part.excerpt.heading is None:
            return []
        start, end = part.excerpt.heading
        return _first(self._wrap(self.page.passages[part.place].text[start:end]))

    def _aside(self, section: str) -> list[Text]:
        rows = _first(self.screen.wrap(section, indent=_INDENT, spare=_ELLIPSIS)) if section else []
        for row in rows:
            row.stylize("italic")
        return rows

    def _wrap(self, text: str, *, depth: int = 0) -> list[Text]:
        return self.screen.wrap(text, indent=_INDENT + depth, spare=_ELLIPSIS, bold=self.bold)


def section_of(passage: Passage, sections: Sequence[tuple[int, str]] = ()) -> str:
    """Return where on the page something stands: its headings and the page of a PDF.

    `sections` are the headings inside the passage, with their levels, above a part of it. The
    passage's own headings are those of its beginning.

    >>> from collection_search.contracts.collection import Passage
    >>> found = {"headings": ["Tasks", "Timeouts"], "page": 3}
    >>> passage = Passage(n=1, url="u", title="t", text="", score=1, provenance=found)
    >>> section_of(passage), section_of(passage, [(2, "Waiting")])
    ('Tasks > Timeouts, page 3', 'Tasks > Waiting, page 3')
    """
    given, number = passage.provenance.get("headings"), passage.provenance.get("page")
    path = [str(heading) for heading in given] if isinstance(given, list) else []
    if sections:
        (level, first), *_ = sections
        kept = path.index(first) if first in path else _levels_above(passage.text, path, level)
        path = [*path[:kept], *(text for _, text in sections)]
    place = f"page {number}" if isinstance(number, int) else ""
    return ", ".join(filter(None, [" > ".join(path), place]))


def _levels_above(text: str, path: Sequence[str], level: int) -> int:
    """Return how many of a passage's own headings stay above one of this level inside it.

    A passage that begins with the last of them shows its level: many pages begin with the second.
    """
    begin = _HEADING.match(text)
    last = len(begin[1]) if begin and path and begin[2] == path[-1] else len(path)
    return min(len(path), max(0, len(path) + level - last - 1))


def _touch(text: str, one: Excerpt, other: Excerpt) -> bool:
    first, second = sorted([one, other])
    return not text[first.end : second.start].strip()


def _above(part: _Part) -> tuple[int, tuple[int, int] | None]:
    return part.place, part.excerpt.heading


def _depth(part: _Part | None) -> int:
    return 2 if part and part.excerpt.heading else 0


def _first(rows: list[Text]) -> list[Text]:
    """Return the first row, with an ellipsis where there are more."""
    if len(rows) > 1:
        rows[0].rstrip()
        rows[0].append(" …")
    return rows[:1]


def _window(rows: list[Text], most: int) -> list[Text]:
    """Return the `most` rows that follow each other and have the most matches."""
    if len(rows) <= most:
        return rows
    starts = range(len(rows) - most + 1)
    best = max(starts, key=lambda at: sum(len(row.spans) for row in rows[at : at + most]))
    shown = rows[best : best + most]
    shown[-1].append(" …" if best + most < len(rows) else "")
    return shown
