"""The stems of words."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, cast

from .languages import LANGUAGE_NAMES, LANGUAGES, Language

if TYPE_CHECKING:
    from collections.abc import Callable

_CYRILLIC: Final = "\u0400"
_SCRIPTS: Final = (
    (_CYRILLIC, "\u052f", "russian"),
    ("\u0620", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
)
"""First and last letter of scripts with a stemmer, whatever the language of the rest."""
UNSTEMMED: Final = "\u0980"
"""The first letter of the scripts after these, which have no stemmer."""


class _Stems(dict[str, str]):
    """A cache of the Snowball stems of words.

    It is cleared at 2**15 words and has none of more than 40 characters: 6 MiB, 16 MiB if all are
    long. Each thread has its own stemmer, since stemmers are not safe for threads.
    """

    _MAX_WORDS = 1 << 15
    _LONGEST = 40

    def __init__(self, language: Language) -> None:
        super().__init__()
        self._language: Language = language
        self._own = threading.local()

    def __missing__(self, word: str) -> str:
        stem = self._stem(word)
        if len(word) <= self._LONGEST:
            if len(self) >= self._MAX_WORDS:
                self.clear()
            self[word] = stem
        return stem

    def _stem(self, word: str) -> str:
        if word < _CYRILLIC:
            return self._stemmer(LANGUAGE_NAMES[self._language])(word)
        for first, last, algorithm in _SCRIPTS:
            if first <= word[0] <= last:
                return self._stemmer(algorithm)(word)
        return word

    def _stemmer(self, algorithm: str) -> Callable[[str], str]:
        known: dict[str, Callable[[str], str]] = self._own.__dict__
        if algorithm not in known:
            from Stemmer import Stemmer

            known[algorithm] = cast("Callable[[str], str]", Stemmer(algorithm, 0).stemWord)
        return known[algorithm]


STEMS: Final[dict[Language, _Stems]] = {language: _Stems(language) for language in LANGUAGES}
"""By language and word."""
