"""Anchors: questions with pages that answer them, by which a model's scale is measured.

One file per language, three lines per anchor: question, title, snippet. A question and its own page
are a related pair, a question and any other page of its language an unrelated one.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ...contracts.embedded_text import titled_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LANGUAGES: Final = ("english", "german")


class Anchor(NamedTuple):
    """A question as people type it, and a search result that answers it."""

    question: str
    title: str
    snippet: str

    @property
    def page(self) -> str:
        """Title and snippet as one text, as a candidate of a run is embedded."""
        return titled_text(self.title, self.snippet)


@cache
def anchors() -> Mapping[str, Sequence[Anchor]]:
    """Return the anchors by language, read on first use.

    >>> [len(each) for each in anchors().values()]
    [32, 32]
    """
    return {language: _read(language) for language in LANGUAGES}


def anchor_texts() -> list[str]:
    """Return the texts to embed: per language the questions, then their pages."""
    return [
        text
        for each in anchors().values()
        for text in (*(anchor.question for anchor in each), *(anchor.page for anchor in each))
    ]


@cache
def anchors_version() -> str:
    """Return a hash of the anchors."""
    texts = [list(each) for each in anchors().values()]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def _read(language: str) -> tuple[Anchor, ...]:
    text = Path(__file__).with_name(f"{language}.txt").read_text("utf-8")
    return tuple(Anchor(*entry.splitlines()) for entry in text.strip().split("\n\n"))
