"""The stems of words."""

from __future__ import annotations

import threading
from typing import Final, cast

from .languages import LANGUAGE_NAMES, LANGUAGES, Language


class _Stems(dict[str, str]):
    """A cache of the Snowball stems of words.

    It is cleared at 2**14 words and has none of more than 40 characters: 3 MiB, 8 MiB if all are
    long. Each thread has its own stemmer, since stemmers are not safe for threads.
    """

    _MOST = 1 << 14
    _LONGEST = 40

    def __init__(self, language: Language) -> None:
        super().__init__()
        self._language: Language = language
        self._own = threading.local()

    def __missing__(self, word: str) -> str:
        stem = self._stem(word)
        if len(word) <= self._LONGEST:
            if len(self) >= self._MOST:
                self.clear()
            self[word] = stem
        return stem

    def _stem(self, word: str) -> str:
        try:
            stem = self._own.stem
        except AttributeError:
            from Stemmer import Stemmer

            stem = self._own.stem = Stemmer(LANGUAGE_NAMES[self._language], 0).stemWord
        return cast("str", stem(word))


STEMS: Final[dict[Language, _Stems]] = {language: _Stems(language) for language in LANGUAGES}
"""By language and word."""
