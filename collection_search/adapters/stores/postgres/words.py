"""Stems as PostgreSQL's full-text search has them: lexemes with positions and weights."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from ....ranking.scripts import is_character

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_POSITION: Final = 16_383
"""PostgreSQL's own limit."""
MAX_PLACES: Final = 255
"""Positions of one lexeme that PostgreSQL stores."""
MAX_BYTES: Final = 2_000
"""A longer lexeme is refused."""
_BETWEEN: Final = {chr(code): "" for code in range(0x300, 0x370)}
"""Accents of Latin letters, which are left out; all else that is of no word divides words."""

_ASCII: Final = {code: " " for code in range(128) if not chr(code).isalnum()}


def lexemes(stems: str) -> list[str]:
    """Return the words of stems in order, without the accents of Latin letters.

    >>> lexemes("wait c++ café")
    ['wait', 'c', 'cafe']
    """
    if stems.isascii():  # ten times as fast
        return [word for word in stems.lower().translate(_ASCII).split() if len(word) <= MAX_BYTES]
    plain = unicodedata.normalize("NFKD", stems.lower())
    kept = "".join(one if _is_of_word(one) else _BETWEEN.get(one, " ") for one in plain)
    return [word for word in kept.split() if len(word.encode()) <= MAX_BYTES]


def _is_of_word(char: str) -> bool:
    """Return whether a character is a letter, a digit, or a mark that is no Latin accent."""
    is_mark = unicodedata.category(char) in {"Mc", "Mn"}
    return char.isalnum() or (is_mark and char not in _BETWEEN)


def to_tsvector(title: Iterable[str], body: Iterable[str]) -> str:
    """Return the literal of a tsvector; the words of the title have weight A.

    >>> to_tsvector(["tea"], ["hot", "tea"])
    "'hot':2 'tea':1A,3"
    """
    places: defaultdict[str, list[str]] = defaultdict(list)
    marked = [*((word, "A") for word in title), *((word, "") for word in body)]
    for position, (word, weight) in enumerate(marked, start=1):
        if len(places[word]) < MAX_PLACES:
            places[word].append(f"{min(position, MAX_POSITION)}{weight}")
    return " ".join(f"'{word}':{','.join(places[word])}" for word in sorted(places))


def index_stems(title: str, body: str) -> tuple[str, int]:
    """Return the literal of a chunk's tsvector, and the number of its words.

    >>> index_stems("tea", "hot tea")
    ("'hot':2 'tea':1A,3", 3)
    """
    titled, said = lexemes(title), lexemes(body)
    return to_tsvector(titled, said), len(titled) + len(said)


class StemQuery(NamedTuple):
    """The search for a stem."""

    words: list[str]
    """A stem of several words is a phrase."""
    is_prefix: bool
    """A Chinese character finds the pairs that begin with it."""

    @classmethod
    def of(cls, stem: str) -> StemQuery:
        """Return the search for a stem.

        >>> StemQuery.of("node.js").text
        "'node' <-> 'js'"
        """
        return cls(lexemes(stem), is_character(stem))

    @property
    def text(self) -> str:
        """Return the literal of a tsquery; empty where no word is left of the stem."""
        end = ":*" if self.is_prefix else ""
        return " <-> ".join(f"'{word}'{end}" for word in self.words)

    def times(self, of_words: Mapping[str, float]) -> float:
        """Return how often a chunk with these words has the stem."""
        if self.is_prefix:
            found = (times for word, times in of_words.items() if word.startswith(self.words[0]))
            return sum(found)
        return min(of_words.get(word, 0.0) for word in self.words)
