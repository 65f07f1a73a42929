"""Stems as PostgreSQL's full-text search has them: lexemes with positions and weights."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_POSITION: Final = 16_383
"""PostgreSQL's own limit."""
MAX_PLACES: Final = 255
"""Positions of one lexeme that PostgreSQL stores."""
MAX_BYTES: Final = 2_000
"""A longer lexeme is refused."""


def lexemes(stems: str) -> list[str]:
    """Return the words of stems, without marks, in order.

    >>> lexemes("wait c++ café")
    ['wait', 'c', 'cafe']
    """
    plain = unicodedata.normalize("NFKD", stems.lower())
    kept = "".join(one if one.isalnum() else " " for one in plain if not unicodedata.combining(one))
    return [word for word in kept.split() if len(word.encode()) <= MAX_BYTES]


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


def to_tsquery(stem: str) -> str:
    """Return the query for a stem; one of several words is a phrase.

    >>> to_tsquery("node.js")
    "'node' <-> 'js'"
    """
    return " <-> ".join(f"'{word}'" for word in lexemes(stem))
