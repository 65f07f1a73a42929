"""The words of each supported language, as data: one file per language.

A file has three lists of words, each under a line of explanation. They come from general knowledge
of the languages, not from a labelled set, so that the benchmark's sets remain unseen. A new
language is one file and its two names here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

Language: TypeAlias = Literal["en", "de"]

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
LANGUAGE_NAMES: Final[dict[Language, str]] = {"en": "english", "de": "german"}
"""As the files and the Snowball stemmers are called."""


class Vocabulary(NamedTuple):
    """Words of a language, separated by white space, by how much they say about a subject."""

    stop_words: str
    common: str
    very_common: str


@cache
def vocabulary(language: Language) -> Vocabulary:
    """Return the words of a language, read on first use."""
    path = Path(__file__).with_name(f"{LANGUAGE_NAMES[language]}.txt")
    lists = path.read_text("utf-8").split("\n\n")
    return Vocabulary(*(words.partition("\n")[2] for words in lists))
