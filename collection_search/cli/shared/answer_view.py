"""An answer on the screen: what a model wrote, and the pages that say so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...contracts.answer import UNSUPPORTED_MARK
from ...text.counted import counted
from .page_block import PageBlock, group_pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...contracts.answer import AnswerSentence
    from ...contracts.collection import Passage
    from .terminal import Screen

MAX_ROWS: Final = 8
"""Rows below the address of the best page, and of others about as good."""
FEW_ROWS: Final = 4
"""Rows below the address of any other page."""
_AS_GOOD: Final = 5.0
"""Points by which a page about as good may score less."""
_CLOSEST: Final = 3
"""Pages that are named where nothing answers."""
_NUMBER: Final = re.compile(rf"\[\d+\]|{re.escape(UNSUPPORTED_MARK)}")


class CollectionAnswer(NamedTuple):
    """What a collection says about a question."""

    passages: Sequence[Passage]
    """Best first."""
    answering: Sequence[Passage]
    """Those that stand above the level of an answer."""
    sentences: Sequence[AnswerSentence] = ()
    """What a model wrote."""
    answer: dict[str, Any] | None = None
    """The model's answer as JSON; None where no model was asked."""
    message: str | None = None
    """Why a model that was asked gave no answer, or that its answer is cut off."""


def show_found(
    question: str, collection: str, found: CollectionAnswer, screen: Screen, *, full: bool = False
) -> None:
    """Print the written answer and its sources, or which pages are closest to one."""
    if found.sentences:
        show_answer(found.sentences, screen)
    if found.message:
        screen.rows(screen.wrap(f"Note: {found.message}"))
        screen.line()
    if found.sentences:
        screen.line("Sources", style="bold")
    if found.answering:
        show_sources(question, _sources(found), screen, full=full)
        if more := len(found.passages) - len(found.answering):
            passages = counted(more, "passage")
            screen.line(f"Left out, since too far from the question to answer it: {passages}.")
    elif found.passages:
        screen.line(f"Nothing in {collection!r} answers this. Closest pages:")
        if full:
            show_sources(question, found.passages, screen, full=True)
            return
        for page in group_pages(found.passages)[:_CLOSEST]:
            PageBlock(question, page, screen).print_head()


def _sources(found: CollectionAnswer) -> Sequence[Passage]:
    """Return the passages that a written answer cites, else all that answer."""
    cited = {number for sentence in found.sentences for number in sentence.citations}
    return [one for one in found.answering if one.n in cited] or found.answering


def show_answer(sentences: Iterable[AnswerSentence], screen: Screen) -> None:
    """Print a written answer: each sentence with its numbers, or with a mark where it has none."""
    paragraphs: list[list[str]] = [[]]
    for sentence in sentences:
        cited = "".join(f"[{number}]" for number in sentence.citations)
        mark = cited if sentence.supported else UNSUPPORTED_MARK
        first, *others = sentence.text.strip().splitlines() or [""]
        if others:  # code or a table
            paragraphs += [[line] for line in (first, *others)]
            paragraphs += [[mark], []]
        else:
            paragraphs[-1].append(f"{first} {mark}")
    for paragraph in filter(None, paragraphs):
        screen.rows(screen.wrap(" ".join(paragraph), bold=_numbers))
    screen.line()


def _numbers(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _NUMBER.finditer(text)]


def show_sources(
    question: str, passages: Sequence[Passage], screen: Screen, *, full: bool = False
) -> None:
    """Print one block a page: title, address and the few best lines, or with `full` all of them."""
    pages = group_pages(passages)
    for page in pages:
        is_as_good = page.passages[0].score >= pages[0].passages[0].score - _AS_GOOD
        block = PageBlock(question, page, screen)
        block.print_head()
        if full:
            block.print_whole()
        else:
            block.print_best(MAX_ROWS if is_as_good else FEW_ROWS)
        screen.line()
