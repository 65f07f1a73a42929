"""The types of corpus pages and of their sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """A page with address and title, and the part of its text that is on this machine."""

    url: str
    title: str
    text: str
    weight: float = 1.0
    """Factor of its relevance: below 1 if the text is only a part of what the address offers."""


Reader: TypeAlias = Callable[[], CorpusPage | None]
"""Returns one page, or None if this machine has no text of it."""


@dataclass(frozen=True, slots=True)
class KeyedReader:
    """A reader whose page stays the same as long as its key does; it is read once for each."""

    key: str
    read: Reader

    def __call__(self) -> CorpusPage | None:
        """Return the page."""
        return self.read()


ReadProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished pages or files, and with the total."""


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A source of pages."""

    fingerprint: str
    """A text that changes whenever the pages may have changed."""
    readers: Callable[[], Sequence[Reader]]
