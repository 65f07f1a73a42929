"""From what a model wrote to sentences whose citations exist.

Citations are chosen by number among the passages, so neither a number nor an address can be
invented. Everything is pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ...contracts.answer import UNSUPPORTED_MARK, AnswerSentence
from ...text.sentence_ends import split_sentences
from ...text.untrusted import quote_url
from .marks import PLACEHOLDER, MarkedText, mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...contracts.collection import Passage

_LIST_MARK = re.compile(r"^(?:[ \t]*(?:[-*+•]|\d{1,3}[.)]|>)[ \t]+)+")
_HEADING = re.compile(r"^#{1,6}\s+\S")
_MAX_HEADING_WORDS: Final = 12
_HAS_WORD = re.compile(r"[^\W_]")
_ENDS_OPEN = re.compile(r"[.!?…:]\W*$")
_CODE_ALONE = re.compile("^\\s*\ue000K(\\d+)\ue001\\s*$")
_ENDS_CITED = re.compile("\ue000C[\\d,]*\ue001[^\\w\ue000]*$")
"""A line that ends in a citation: what follows it in a new line is a claim of its own."""
_LINE_CITED = re.compile("\ue000C[\\d,]*\ue001[^\\w\ue000.!?…]*$")
_LABEL = re.compile(r"\s*[*_]{0,3}[A-ZÄÖÜ][^:\n.!?]{0,40}:[*_]{0,3}\s")
"""A line such as `Weight: 1.5 kg`, which is a claim of its own."""
_IS_TABLE = re.compile(r"^\s*\|.*\|\s*$")


@dataclass(slots=True)
class CitedText:
    """A text with its sentences; every citation in it is one of the passages."""

    text: str = ""
    sentences: list[AnswerSentence] = field(default_factory=list)
    removed: int = 0

    @property
    def is_supported(self) -> bool:
        """Whether any sentence cites a passage."""
        return any(sentence.supported for sentence in self.sentences)


def cite(text: str, passages: Sequence[Passage]) -> CitedText:
    """Return the text with valid citations only, and a mark behind each sentence without one.

    Citations are read in the forms that models write: `[1]`, `[1, 3]`, `[1][2]`, `[^1]`,
    `(source 1)` and others. An address is no citation; one that is not a passage's is removed.
    Headings and code get no mark; code has the citations of the sentence before it.

    >>> from collection_search.contracts.collection import Passage
    >>> tea = Passage(n=1, url="https://a.org/tea", title="Tea", text="Tea is hot.", score=90)
    >>> cite("Tea is hot [1]. Coffee is cold [2], see https://b.org/x.", [tea]).text
    'Tea is hot. [1] Coffee is cold, see. [no source]'
    """
    urls = {url for passage in passages for url in (passage.url, quote_url(passage.url))}
    marked = mark(text, numbers={passage.n for passage in passages}, urls=urls)
    cited = CitedText(removed=marked.removed)
    lines = [_Line(marked, line, cited) for line in _joined(marked.text)]
    _tell_table_heads(lines)
    cited.text = "\n".join(line.written() for line in lines if not line.is_gone()).strip()
    cited.text = re.sub(r"\n{3,}", "\n\n", cited.text)
    return cited


def _joined(text: str) -> Iterator[str]:
    """Yield paragraphs, list items and other blocks as one line each, blank lines included.

    A line behind a citation is one of its own: the citation is for what stands before it.
    """
    held = ""
    by_lines = False
    for line in text.split("\n"):
        if _goes_on(held, line, by_lines=by_lines):
            held = f"{held} {line.strip()}"
            continue
        if held or line:
            yield held
        by_lines = bool(line.strip()) and (by_lines or bool(_LINE_CITED.search(held)))
        held = line
    yield held


def _goes_on(held: str, line: str, *, by_lines: bool) -> bool:
    """Return whether a line belongs to the paragraph before it.

    `by_lines` says that a line of the paragraph ended in a citation without a full stop.
    """
    if not held.strip() or not line.strip() or _stands_alone(held) or _begins_block(line):
        return False
    if _ENDS_CITED.search(held) or _LABEL.match(line):
        return False
    return not by_lines or line.lstrip()[0].islower()


def _begins_block(line: str) -> bool:
    return bool(_LIST_MARK.match(line)) or _stands_alone(line)


def _stands_alone(line: str) -> bool:
    return any(one.match(line) for one in (_HEADING, _IS_TABLE, _CODE_ALONE))


class _Line:
    """One block of the text, read in order: its sentences are added to the whole."""

    def __init__(self, marked: MarkedText, line: str, cited: CitedText) -> None:
        self._marked = marked
        self._cited = cited
        self.source = line
        self._parts: list[tuple[str, AnswerSentence | None]] = []
        self._prefix = ""
        self._read()

    def _read(self) -> None:
        line = self.source
        if _CODE_ALONE.match(line):
            self._add_code(line)
        elif _is_heading(line) or not _HAS_WORD.search(PLACEHOLDER.sub(_word_of, line)):
            self._add_unjudged(line)
        elif _IS_TABLE.match(line):
            self._add(line.strip())
        else:
            prefix = _LIST_MARK.match(line)
            self._prefix = prefix[0] if prefix else ""
            for sentence in split_sentences(line[len(self._prefix) :]):
                self._add(sentence)

    def _add_unjudged(self, line: str) -> None:
        """Add what is no sentence; citations alone belong to the sentence before them."""
        numbers = _citations(line)
        if self._cited.sentences and numbers:
            _extend(self._cited.sentences[-1], numbers)
        elif _is_heading(line):
            self._parts.append((self._marked.restore(line), None))
        if not numbers:
            self._parts = [(self._marked.restore(line), None)]

    def _add_code(self, line: str) -> None:
        before = self._cited.sentences[-1].citations if self._cited.sentences else []
        self._append(self._marked.restore(line), list(before))

    def _add(self, sentence: str) -> None:
        shown = self._marked.restore(sentence)
        numbers = _citations(sentence)
        if not _HAS_WORD.search(shown):
            if numbers and self._cited.sentences:
                _extend(self._cited.sentences[-1], numbers)
            self._parts.append((shown, None))
            return
        self._append(shown, numbers)

    def _append(self, text: str, numbers: list[int]) -> None:
        one = AnswerSentence(text=text, citations=numbers, supported=bool(numbers))
        self._cited.sentences.append(one)
        self._parts.append((text, one))

    def is_gone(self) -> bool:
        """Return whether nothing is left of a line that was not blank."""
        return bool(self.source.strip()) and not any(text for text, _ in self._parts)

    def become_head(self) -> None:
        """Let this row of a table be its head, which needs no citation."""
        for text, sentence in self._parts:
            if sentence is not None and not sentence.supported:
                self._cited.sentences.remove(sentence)
                self._parts = [(text, None)]

    def written(self) -> str:
        """Return the line with its marks."""
        shown = [_shown(text, sentence) for text, sentence in self._parts if text]
        return f"{self._prefix}{' '.join(shown)}".rstrip()


def _tell_table_heads(lines: list[_Line]) -> None:
    for line, following in pairwise(lines):
        if _IS_TABLE.match(line.source) and re.fullmatch(r"[\s|:-]*-[\s|:-]*", following.source):
            line.become_head()


def _shown(text: str, sentence: AnswerSentence | None) -> str:
    if sentence is None:
        return text
    marks = "".join(f"[{number}]" for number in sentence.citations) or UNSUPPORTED_MARK
    if text.startswith(("```", "~~~")):
        return text if sentence.supported else f"{text}\n{marks}"
    if _IS_TABLE.match(text):
        return f"{text[:-1].rstrip()} {marks} |"
    return f"{text} {marks}"


def _is_heading(line: str) -> bool:
    """Return whether this is a heading and no claim in the form of one."""
    is_short = len(line.split()) <= _MAX_HEADING_WORDS
    return bool(_HEADING.match(line)) and is_short and not _ENDS_OPEN.search(line)


def _extend(sentence: AnswerSentence, numbers: list[int]) -> None:
    sentence.citations = list(dict.fromkeys([*sentence.citations, *numbers]))
    sentence.supported = bool(sentence.citations)


def _citations(text: str) -> list[int]:
    """Return the numbers that the text cites, in order, none twice."""
    named = [one[2].split(",") for one in PLACEHOLDER.finditer(text) if one[1] == "C"]
    return list(dict.fromkeys(int(number) for numbers in named for number in numbers))


def _word_of(placeholder: re.Match[str]) -> str:
    return "" if placeholder[1] == "C" else "word"
