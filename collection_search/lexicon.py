"""Words, stems and their weight: what a search without a model reads from a text."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from .languages import english, german

Language: TypeAlias = Literal["en", "de"]

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

_VOCABULARY: Final = {"en": english, "de": german}
_SNOWBALL: Final = {"en": "english", "de": "german"}

MAX_WORD_CHARS: Final = 100
"""German builds long words, but not this long."""

_WORD: Final = re.compile(r"[^\W_]+(?:\+\+|#(?!\w))?")
_UMLAUT: Final = re.compile("[äöü]")
_HEAD: Final = 1_000
"""Characters that decide the language of a text."""
_MAX_TERMS: Final = 64
"""Terms of one full-text query: the rest of a very long question adds time, not results."""


class Term(NamedTuple):
    """A word that a question asks for."""

    word: str
    stem: str
    rarity: float
    """How much a match says: 1 very common, 2 common, 3 any other; 0.5 more for a name."""


def words(text: str) -> list[str]:
    """Return the words in order, folded; digits are kept, `C++` and `C#` are words.

    What is longer than any word, such as encoded data, is left out.

    >>> words("What's new in C++, C# or Größe_2?")
    ['what', 's', 'new', 'in', 'cpp', 'csharp', 'or', 'grösse', '2']
    """
    plain = _normal(text)
    found = _WORD.findall(plain.casefold())
    if "++" in plain or "#" in plain:
        found = [word.replace("++", "pp").replace("#", "sharp") for word in found]
    return [word for word in found if len(word) <= MAX_WORD_CHARS]


def language_of(text: str) -> Language:
    """Return the language that most of the words speak for; English when none does.

    >>> language_of("Wie breche ich eine Aufgabe ab?"), language_of("cancel a task")
    ('de', 'en')
    """
    english_votes, german_votes = _votes(text[:_HEAD])
    return "de" if german_votes > english_votes else "en"


def terms(text: str, language: Language | None = None) -> list[str]:
    """Return the words without stop words, in order, repeated as in the text.

    >>> terms("How do I cancel a task after a timeout?")
    ['cancel', 'task', 'timeout']
    """
    stop = _stop_words(language or language_of(text))
    return [word for word in words(text) if word not in stop]


def stems(text: str, language: Language | None = None) -> list[str]:
    """Return the Snowball stems of the terms, in order.

    >>> stems("Cancelling tasks"), stems("die Häuser der Städte")
    (['cancel', 'task'], ['haus', 'stadt'])
    """
    language = language or language_of(text)
    return [_stem(language, word) for word in terms(text, language)]


@lru_cache(maxsize=1024)
def question_terms(question: str) -> tuple[Term, ...]:
    """Return what a question asks for, one term per stem, in order, in the question's language.

    A question of stop words alone is asked for by these.

    >>> [(term.word, term.rarity) for term in question_terms("Which year did Tesla visit?")]
    [('year', 1.0), ('tesla', 3.5), ('visit', 1.0)]
    """
    language = language_of(question)
    stop = _stop_words(language)
    spelled = [
        (word, 0.5 if _is_name(token, first=position == 0) else 0.0)
        for position, token in enumerate(_WORD.findall(_normal(question)))
        for word in words(token)
    ]
    found: dict[str, Term] = {}
    for word, bonus in [each for each in spelled if each[0] not in stop] or spelled:
        stem = _stem(language, word)
        term = Term(word, stem, _levels(language).get(stem, 3) + bonus)
        found[stem] = max(found.get(stem, term), term, key=lambda each: each.rarity)
    return tuple(found.values())


def stem_set(text: str, language: Language) -> set[str]:
    """Return the stems of all words, stop words included.

    >>> sorted(stem_set("the cancelled tasks", "en"))
    ['cancel', 'task', 'the']
    """
    return {_stem(language, word) for word in words(text)}


def index_text(text: str) -> str:
    """Return what a full-text column stores for a text: its stems, joined by spaces.

    Made for FTS5 with the tokenizer `unicode61 remove_diacritics 2`.

    >>> index_text("Waiting for the cancelled tasks")
    'wait cancel task'
    """
    return " ".join(stems(text))


def match_query(question: str) -> str:
    """Return the FTS5 MATCH expression that finds any of the question's terms; '' without terms.

    Pages may be in another language than the question: unless it is clearly English, its terms
    are looked for as both languages stem them.

    >>> match_query("How are tasks cancelled?")
    '"task" OR "cancel"'
    """
    english_votes, german_votes = _votes(question[:_HEAD])
    language: Language = "de" if german_votes > english_votes else "en"
    stemmers = LANGUAGES if language == "de" or not english_votes else (language,)
    found = {_stem(each, word): None for word in terms(question, language) for each in stemmers}
    quoted = ('"' + stem.replace('"', '""') + '"' for stem in list(found)[:_MAX_TERMS])
    return " OR ".join(quoted)


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _is_name(token: str, *, first: bool) -> bool:
    """Tell a name, a number or a code from an ordinary word; German nouns count as names."""
    inner = token[1:]
    return (
        inner != inner.lower()
        or (token[0].isupper() and not first)
        or any(char.isdigit() for char in token)
    )


@lru_cache(maxsize=256)
def _votes(text: str) -> tuple[int, int]:
    """Count the words that speak for English and for German; stop words first, then all."""
    found = words(text)
    for_english, for_german = (
        sum(map(_own_stop_words(language).__contains__, found)) for language in LANGUAGES
    )
    for_german += sum(1 for word in found if _UMLAUT.search(word))
    if for_english != for_german:
        return for_english, for_german
    for_english, for_german = (
        sum(_stem(language, word) in _levels(language) for word in found) for language in LANGUAGES
    )
    return for_english, for_german


@cache
def _stop_words(language: Language) -> frozenset[str]:
    return frozenset(words(_VOCABULARY[language].STOP_WORDS))


@cache
def _own_stop_words(language: Language) -> frozenset[str]:
    others = (_stop_words(other) for other in LANGUAGES if other != language)
    return _stop_words(language).difference(*others)


@cache
def _levels(language: Language) -> dict[str, int]:
    """Map the stem of every listed word to its rarity."""
    vocabulary = _VOCABULARY[language]
    tiers = (vocabulary.STOP_WORDS, 1), (vocabulary.COMMON, 2), (vocabulary.VERY_COMMON, 1)
    return {_stem(language, word): level for tier, level in tiers for word in words(tier)}


_stemmers = threading.local()


@lru_cache(maxsize=1 << 16)
def _stem(language: Language, word: str) -> str:
    """Return the Snowball stem; each thread has its own stemmers, as they are not shareable."""
    stemmer = getattr(_stemmers, language, None)
    if stemmer is None:
        from Stemmer import Stemmer

        stemmer = Stemmer(_SNOWBALL[language], 0)
        setattr(_stemmers, language, stemmer)
    return cast("str", stemmer.stemWord(word))
