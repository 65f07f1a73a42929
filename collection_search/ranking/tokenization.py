"""Words of a text in any script, folded."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from .scripts import divided, has_other_scripts, script_tokens

MAX_WORD_CHARS: Final = 100
"""German builds long words, but not this long."""

_WORD: Final = re.compile(r"[^\W_]+(?:\+\+|#(?!\w))?")
_WITH_SIGN: Final = re.compile(r"#(?<=[^\W_]#)|\+\+(?<=[^\W_]\+\+)")
"""The sign at the end of a word such as C#, and what may be one; before a heading it is none."""
_BEYOND: Final = re.compile("[^\0-\xff\u2000-\u206f\u20ac]")
"""What is neither Latin-1 nor punctuation."""
_COMPATIBLE: Final = dict.fromkeys(map(ord, "ªµº²³¹¼½¾"), "\0")
"""Latin-1 letters and digits of which NFKC makes others."""
_FOLDED: Final = (
    "".join([char.lower() if char.isalnum() else " " for char in map(chr, range(256))])
    .translate(_COMPATIBLE)
    .encode("latin-1")
)
"""Latin-1 in lower case, for `bytes.translate`."""


def words(text: str) -> list[str]:
    """Return the words and numbers in order, folded; `C++` and `C#` are words.

    Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese have pairs of neighbouring characters in
    place of words. Longer tokens than any word, such as encoded data, are left out.

    >>> words("What's new in C++, C# or Größe_2?")
    ['what', 's', 'new', 'in', 'cpp', 'csharp', 'or', 'grösse', '2']
    >>> words("Python入門")
    ['python', '入門']
    """
    folded = fold_latin(text)
    if folded is not None:
        found = folded.split()
        return _short(found) if has_long_word(folded) else found
    plain = normalized(text).casefold()
    found = divided(script_tokens(plain)) if has_other_scripts(plain) else _WORD.findall(plain)
    if "++" in plain or "#" in plain:
        found = [word.replace("++", "pp").replace("#", "sharp") for word in found]
    return _short(found)


def tokenize(plain: str) -> list[str]:
    """Return the words of a normalized text in order, as they are spelled, none of them divided.

    >>> tokenize("What's new in Python入門?")
    ['What', 's', 'new', 'in', 'Python入門']
    """
    return script_tokens(plain) if has_other_scripts(plain.casefold()) else _WORD.findall(plain)


def fold_latin(text: str) -> str | None:
    """Return the text with its words folded and spaces for all else, as long as it was, but for ß.

    None for a text that is more than Latin-1 and punctuation, or has a word such as C#: there
    `words` finds them, in three times the time.
    """
    if ("#" in text or "++" in text) and _WITH_SIGN.search(text):
        return None
    try:
        encoded = text.encode("latin-1")
    except UnicodeEncodeError as beyond:
        if _BEYOND.search(text, beyond.start):
            return None
        encoded = text.encode("latin-1", "replace")
    folded = encoded.translate(_FOLDED).decode("latin-1")
    return None if "\0" in folded else folded.replace("ß", "ss")


def has_long_word(folded: str) -> bool:
    """Return whether a text of `fold_latin` has a token that is longer than any word."""
    space = -1
    while len(folded) - space > MAX_WORD_CHARS + 1:
        space = folded.rfind(" ", space + 1, space + MAX_WORD_CHARS + 2)
        if space < 0:
            return True
    return False


def _short(found: list[str]) -> list[str]:
    if max(map(len, found), default=0) <= MAX_WORD_CHARS:
        return found
    return [word for word in found if len(word) <= MAX_WORD_CHARS]


def normalized(text: str) -> str:
    """Return the text in Unicode's form NFKC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
