"""One entry of the corpus: a page that exists under its address, with the text known of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """A page: its address, its title, and what is known of its text."""

    url: str
    title: str
    text: str
    weight: float = 1.0
    """Factor of its relevance: below 1 where the address stands for more than this text."""


Reader: TypeAlias = Callable[[], CorpusPage | None]
"""Reads one page when called; None when there is no text of it on this machine."""

ReadProgress: TypeAlias = Callable[[int, int], None]
"""Called with what is done and the whole, in pages or files."""


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """Where pages come from."""

    fingerprint: str
    """Changes whenever the pages may have changed."""
    readers: Callable[[], Sequence[Reader]]
