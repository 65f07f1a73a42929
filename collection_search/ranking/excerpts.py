"""The sentences and lines of a passage that answer a question best, and the words that match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ..text.sentences import split_parts
from .lexicon import language_of, question_terms, stems
from .stemming import STEMS
from .tokenization import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..text.sentences import Part
    from .languages import Language

_WORD: Final = re.compile(r"[^\W_]+(?:\+\+|#(?!\w))?")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FROM_HEADING: Final = 0.5
"""Share of a word's weight that counts where only the line above has the word."""
_CODE: Final = 0.8
_NAME: Final = 0.6
"""Factors of the score of a block of code and of a line of code: a sentence says more."""
_FEW_WORDS: Final = 4
_TERSE: Final = 0.6
"""Factor of the score of a part with fewer words: it may name the subject, but says nothing."""
_REPEATING: Final = 0.6
"""Factor of the score of a part that hardly has a word beyond the question's and the title's."""
_NEW_WORDS: Final = 2
_HEADING: Final = 0.5
"""Factor of the score of a line above others: it comes with them."""
_LONG: Final = 600
"""Characters from which on a part loses half of its score to shorter ones."""
_WORTHWHILE: Final = 0.5
"""Share of the best part's score that another one needs."""
_NEXT: Final = 0.8
"""Share of a part's score that the part after it gets at least: sentences refer to each other."""
_REFERRING: Final = frozenset(
    {
        *("it", "this", "that", "these", "those", "they", "such", "otherwise", "then"),
        *("es", "dies", "diese", "dieser", "dieses", "sie", "sonst", "dann"),
    }
)
"""First words of sentences that go on about the subject of the one before."""
_SUBJECT: Final = 1.1
"""Factor of the score of a sentence that begins with a word of the question: it is about that."""
_SUBJECT_WORDS: Final = 3
_ANNOUNCING: Final = 0.8
"""Factor of the score of a sentence that ends in a colon: what it announces comes after it."""


class Excerpt(NamedTuple):
    """A part of a passage: `text[start:end]`."""

    start: int
    end: int
    is_code: bool
    score: float
    """Share of the question's words, by weight, that it has; 0 to 1."""
    sections: tuple[tuple[int, str], ...] = ()
    """The headings in the text that it stands below, outermost first, with their levels."""
    heading: tuple[int, int] | None = None
    """The line of code that it is indented below, such as a function's signature."""


class _Scored(NamedTuple):
    position: int
    part: Part
    score: float


def best_excerpts(
    question: str, text: str, *, title: str = "", section: str = "", chars: int = 320
) -> list[Excerpt]:
    """Return the parts that answer the question best, in order of the text.

    At least one where the text has a word, and others up to about `chars` characters in total.
    A part is a whole sentence, row or block of code: nothing is cut. `title` is what the reader
    sees above the parts, `section` the headings above the text's beginning.

    >>> text = "Queues are fast. Tasks can be cancelled by cancel(). Tea is hot."
    >>> [text[one.start : one.end] for one in best_excerpts("Cancel a task", text, chars=40)]
    ['Tasks can be cancelled by cancel().']
    """
    parts = split_parts(text)
    chosen: dict[int, _Scored] = {}
    left = chars
    for one in sorted(_scores(question, text, parts, title, section), key=lambda each: -each.score):
        size = one.part.end - one.part.start
        best = next(iter(chosen.values()), one)
        if chosen and (size > left or one.score < _WORTHWHILE * best.score):
            continue
        chosen[one.position] = one
        left -= size
    owners = {each.part.heading for each in chosen.values()}
    return [
        Excerpt(
            one.part.start,
            one.part.end,
            is_code=one.part.is_code,
            score=one.score,
            sections=_sections(text, parts, one.part),
            heading=_signature(parts, one.part),
        )
        for one in sorted(chosen.values(), key=lambda each: each.position)
        if one.position not in owners
    ]


def matched_spans(question: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of the words of a text that the question has too, in any form.

    >>> matched_spans("cancel a task", "Tasks are cancelled")
    [(0, 5), (10, 19)]
    """
    language = language_of(text)
    wanted = {STEMS[language][term.word] for term in question_terms(question)}
    return [
        found.span()
        for found in _WORD.finditer(text)
        if any(STEMS[language][word] in wanted for word in words(found[0]))
    ]


def _scores(
    question: str, text: str, parts: Sequence[Part], title: str, section: str
) -> list[_Scored]:
    language = language_of(text)
    shown = {*stems(title, language)}
    weights = {STEMS[language][t.word]: t.rarity for t in question_terms(question)}
    total = sum(weights.values()) or 1.0
    stated = [_stems(text[part.start : part.end], language) for part in parts]
    own = [stems_of & weights.keys() for stems_of in stated]
    outside = _stems(section, language) & weights.keys()
    scored: list[_Scored] = []
    before, heading = 0.0, None
    headings = {part.heading for part in parts}
    for position, part in enumerate(parts):
        content = text[part.start : part.end]
        above = _above(parts, own, part, outside) - own[position]
        points = _sum(weights, own[position]) + _FROM_HEADING * _sum(weights, above)
        found = words(content)
        begins = _stems(" ".join(found[:_SUBJECT_WORDS]), language)
        factor = _factor(content, found, is_code=part.is_code)
        factor *= _SUBJECT if begins & weights.keys() else 1.0
        factor *= _REPEATING if len(stated[position] - weights.keys() - shown) < _NEW_WORDS else 1.0
        factor *= _HEADING if position in headings or part.level else 1.0
        score = min(points / total * factor, 1.0)
        if heading == part.heading and (own[position] or {*found[:1]} & _REFERRING):
            score = max(score, _NEXT * before)
        scored.append(_Scored(position, part, score))
        before, heading = score, part.heading
    return scored


def _factor(content: str, found: Sequence[str], *, is_code: bool) -> float:
    """Return by what a part's score is multiplied for its form."""
    factor = 1 / (1 + len(content) / _LONG)
    if len(found) < _FEW_WORDS:
        return factor * _TERSE
    if is_code:
        return factor * (_CODE if "\n" in content else _NAME)
    return factor * (_ANNOUNCING if content.endswith(":") else 1.0)


def _above(
    parts: Sequence[Part], own: Sequence[set[str]], part: Part, outside: set[str]
) -> set[str]:
    """Return the question's words in the headings of a part."""
    found: set[str] = set()
    level = part.level
    while part.heading is not None:
        found |= own[part.heading]
        part = parts[part.heading]
        level = level or part.level
    return found if level else found | outside


def _sum(weights: Mapping[str, float], chosen: Iterable[str]) -> float:
    return sum(weights[stem] for stem in chosen)


def _stems(text: str, language: Language) -> set[str]:
    """Return the stems of a part, of the words inside a name such as `TaskGroup` too."""
    return {*stems(text, language), *stems(_CAMEL.sub(" ", text), language)}


def _sections(text: str, parts: Sequence[Part], part: Part) -> tuple[tuple[int, str], ...]:
    """Return the marked headings of a part, outermost first, with their levels."""
    found: list[tuple[int, str]] = []
    while part.heading is not None:
        part = parts[part.heading]
        if part.level:
            found.append((part.level, text[part.start : part.end].rstrip("# ")))
    return tuple(reversed(found))


def _signature(parts: Sequence[Part], part: Part) -> tuple[int, int] | None:
    """Return the nearest heading that is code."""
    while part.heading is not None:
        part = parts[part.heading]
        if part.is_code:
            return part.start, part.end
    return None
