"""The language of a text, guessed from its script and its stop words; no guess where unsure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from . import LANGUAGE_NAMES, LANGUAGES, vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import Language

_HEAD: Final = 2_000
"""Characters that are looked at."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_SCRIPTS: Final = {
    "ARABIC": "Arabic",
    "ARMENIAN": "Armenian",
    "BENGALI": "Bengali",
    "CJK": "Chinese",
    "CYRILLIC": "Cyrillic",
    "DEVANAGARI": "Devanagari",
    "GEORGIAN": "Georgian",
    "GREEK": "Greek",
    "HANGUL": "Korean",
    "HEBREW": "Hebrew",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "TAMIL": "Tamil",
    "THAI": "Thai",
}
"""The language, or the script of several, by the first word of its letters' Unicode names."""
_SAME_LETTERS: Final = {"Chinese", "Japanese"}
"""A short Japanese text may have Chinese letters alone."""
_LETTERS: Final = 4
"""Letters that a guess by script needs."""
_MAX_LETTERS: Final = 0.5
"""Share of the letters that one script needs; a technical text has Latin names in it."""
_STOP_WORDS: Final = 2
"""Stop words of its own that a guess between languages in Latin letters needs."""
_SHARE: Final = 0.15
"""Share of the words that these need."""
_LEAD: Final = 3
"""How many times as many as of any other language."""
_FIRST_NON_LATIN: Final = "\u0250"


def guess_language(text: str) -> str | None:
    """Return the language's name in English, or None where the text does not tell.

    Of the languages in Latin letters it knows English and German. The script decides on the others,
    so that the name may be that of a script.

    >>> guess_language("How do I cancel a task?"), guess_language("Wie breche ich das ab?")
    ('English', 'German')
    >>> guess_language("asyncio timeout"), guess_language("Как отменить задачу asyncio?")
    (None, 'Cyrillic')
    """
    head = unicodedata.normalize("NFKC", text[:_HEAD])
    if head.isascii():
        return _by_stop_words(head)
    letters = Counter(_SCRIPTS.get(_script(char), "") for char in head if char.isalpha())
    if letters["Japanese"]:
        letters["Japanese"] += letters.pop("Chinese", 0)
    others = {name: count for name, count in letters.items() if name}
    name = max(others, key=others.__getitem__, default="")
    if not name or others[name] < _LETTERS:
        return _by_stop_words(head)
    return name if others[name] > _MAX_LETTERS * letters.total() else None


def find_language_gap(question: str, texts: Sequence[str]) -> tuple[str, str] | None:
    """Return the question's language and the texts' one, where these are clearly different.

    None where a text is in the question's language, or where the guesses are few.

    >>> english = ["This is how you cancel a task.", "The loop runs it until it is done."]
    >>> find_language_gap("Wie breche ich eine Aufgabe ab?", english)
    ('German', 'English')
    >>> find_language_gap("Wie breche ich eine Aufgabe ab?", [*english, "Das ist eine Aufgabe."])
    """
    asked = guess_language(question)
    if asked is None or not texts:
        return None
    found: Counter[str] = Counter()
    for text in texts:
        language = guess_language(text)
        if language == asked or {asked, language} == _SAME_LETTERS:
            return None
        if language is not None:
            found[language] += 1
    (other, count), *_ = found.most_common(1) or [("", 0)]
    return (asked, other) if 2 * count >= len(texts) else None


def _by_stop_words(text: str) -> str | None:
    words = [word.casefold() for word in _WORD.findall(text)]
    votes = {
        language: sum(word in _own_words(language) for word in words) for language in LANGUAGES
    }
    best = max(LANGUAGES, key=lambda language: votes[language])
    others = max(count for language, count in votes.items() if language != best)
    needed = max(_STOP_WORDS, _SHARE * len(words), _LEAD * others)
    return LANGUAGE_NAMES[best].capitalize() if votes[best] >= needed else None


@cache
def _own_words(language: Language) -> frozenset[str]:
    """Return the stop words of a language that no other one has."""
    others = {w for other in LANGUAGES if other != language for w in _stop_words(other)}
    return frozenset(_stop_words(language) - others)


def _stop_words(language: Language) -> set[str]:
    return set(vocabulary(language).stop_words.split())


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    """Return the script of a letter."""
    return "" if char < _FIRST_NON_LATIN else unicodedata.name(char, "").partition(" ")[0]
