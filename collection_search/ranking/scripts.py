"""Words of scripts that write no spaces between words, or marks within them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_HAN: Final = (
    "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_KANA: Final = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL: Final = "\u1100-\u11ff\u3105-\u318e\ua960-\ua97f\uac00-\ud7ff"
_SOUTHEAST_ASIAN: Final = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46"  # Thai
    "\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"  # Lao
    "\u1000-\u102a\u103f\u1050-\u1055"  # Burmese
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
)
_JOINED: Final = f"{_HAN}{_KANA}{_HANGUL}{_SOUTHEAST_ASIAN}"
"""Letters of scripts whose words are not told apart by spaces. Korean words are, but carry
particles."""
_OTHER: Final = (
    "[\u0300-\u036f\u0400-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\u2de0-\u2dff\u302a-\u302f"
    f"\u3099\u309a\ua600-\uabff\ufb1d-\ufdff\ufe20-\ufe2f{_JOINED}]"
)
"""What a text has if its words are not simply letters between other characters, or have a stemmer
of their own script: Cyrillic and all that follows it."""
_POINTS: Final = (
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+"
)
"""Vowel points of Hebrew and Arabic, which most texts leave out, and Arabic's line filler."""
_LAST_MARK: Final = 0xAC00
"""Marks beyond it belong to no word of a living language in the basic plane."""
_HAN_CHAR: Final = f"[{_HAN}]"
_HAN_AT_END: Final = f"(?<=[{_JOINED}])[{_HAN}](?![{_JOINED}])"
_HIRAGANA: Final = "[\u3041-\u309f]+"

_compiled: Final = cache(re.compile)
"""Most questions and pages need none of these patterns, which take long to compile."""


class _Patterns(NamedTuple):
    word: re.Pattern[str]
    part: re.Pattern[str]
    """A run of joined letters, or what stands between two."""
    letter: re.Pattern[str]
    """A joined letter with its marks."""
    mark: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    marks = "".join(
        mark
        for mark in map(chr, range(0x300, _LAST_MARK))
        if unicodedata.category(mark) in {"Mn", "Mc"}
    )
    letter = f"[{_JOINED}][{marks}]*"
    return _Patterns(
        word=re.compile(rf"[^\W_](?:(?!_)[\w{marks}])*(?:\+\+|#(?!\w))?"),
        part=re.compile(f"(?P<joined>(?:{letter})+)|[^{_JOINED}]+"),
        letter=re.compile(letter),
        mark=re.compile(f"[{marks}]"),
    )


def has_other_scripts(text: str) -> bool:
    """Return whether the words of a text (NFKC, case folded) are those of `script_tokens`.

    >>> has_other_scripts("Größe"), has_other_scripts("富士山"), has_other_scripts("деревья")
    (False, True, True)
    """
    return not text.isascii() and _compiled(_OTHER).search(text) is not None


def script_tokens(text: str) -> list[str]:
    """Return the words of a text (NFKC) with their marks; joined letters are not divided yet.

    >>> script_tokens("हिन्दी में")
    ['हिन्दी', 'में']
    """
    return _patterns().word.findall(_compiled(_POINTS).sub("", text))


def divided(tokens: Iterable[str]) -> list[str]:
    """Return each two neighbours of the tokens' joined letters, and their other parts as they are.

    >>> divided(["富士山", "python入門", "茶"])
    ['富士', '士山', 'python', '入門', '茶']
    >>> divided(["ที่นี่"])
    ['ที่นี่']
    """
    patterns = _patterns()
    found: list[str] = []
    for token in tokens:
        for part in patterns.part.finditer(token):
            letters: str | list[str] = part[0]
            if part["joined"] is None or len(letters) == 1:
                found.append(part[0])
                continue
            if patterns.mark.search(part[0]):
                letters = patterns.letter.findall(part[0])
            found += map(add, letters[:-1], letters[1:]) if len(letters) > 1 else letters
    return found


def last_characters(text: str) -> list[str]:
    """Return the Chinese characters that begin no pair of `divided`, since nothing follows them.

    >>> last_characters("緑茶。茶")
    ['茶']
    """
    return _compiled(_HAN_AT_END).findall(text)


def is_character(word: str) -> bool:
    """Return whether the word is a single Chinese character, a word by itself."""
    return len(word) == 1 and _compiled(_HAN_CHAR).match(word) is not None


def is_grammar(word: str) -> bool:
    """Return whether a part of a Japanese text says little about a subject: it is in Hiragana."""
    return _compiled(_HIRAGANA).fullmatch(word) is not None
