"""Words of a text, their stems and their weights, for search without a model."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import chain, filterfalse, repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from .languages import LANGUAGES, Language, vocabulary
from .scripts import (
    divided,
    has_other_scripts,
    is_character,
    is_grammar,
    last_characters,
    script_tokens,
)
from .stemming import STEMS, UNSTEMMED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

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
_UMLAUT: Final = re.compile("[äöü]")
_UMLAUTS: Final = ("aä", "oö", "uü")
_HEAD: Final = 1_000
"""Characters that decide the language of a text."""
_GERMAN_VOTE: Final = 1 << 20
"""More than the words of a head, so that both numbers of votes are counted as one."""
_BEYOND_LATIN: Final = "\u0250"
_LATIN_WORD: Final = re.compile("[a-z0-9\u00df-\u024f]+")
_USUAL: Final = 500  # characters of a question whose terms are cached
_MAX_TERMS: Final = 64  # more of them in one full-text query add time, not results


class Term(NamedTuple):
    """A search word of a question."""

    word: str
    stem: str
    rarity: float
    """How much a match says: 1 very common, 2 common, 3 any other; 0.5 more for a name."""


def words(text: str) -> list[str]:
    """Return the words and numbers in order, folded; `C++` and `C#` are words.

    Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese have pairs of neighbouring characters in
    place of words. Longer tokens than any word, such as encoded data, are left out.

    >>> words("What's new in C++, C# or Größe_2?")
    ['what', 's', 'new', 'in', 'cpp', 'csharp', 'or', 'grösse', '2']
    >>> words("Python入門")
    ['python', '入門']
    """
    folded = _folded_latin(text)
    if folded is not None:
        found = folded.split()
        return _short(found) if _has_long_word(folded) else found
    plain = _normal(text).casefold()
    found = divided(script_tokens(plain)) if has_other_scripts(plain) else _WORD.findall(plain)
    if "++" in plain or "#" in plain:
        found = [word.replace("++", "pp").replace("#", "sharp") for word in found]
    return _short(found)


def language_of(text: str) -> Language:
    """Return the language of most words, English in doubt.

    >>> language_of("Wie breche ich eine Aufgabe ab?"), language_of("cancel a task")
    ('de', 'en')
    """
    return _language(*_votes(text[:_HEAD]))


def _language(english_votes: int, german_votes: int) -> Language:
    return "de" if german_votes > english_votes else "en"


def terms(text: str, language: Language | None = None) -> list[str]:
    """Return the words without stop words, in order, repeated as in the text.

    >>> terms("How do I cancel a task after a timeout?")
    ['cancel', 'task', 'timeout']
    """
    stop = _stop_words(language or language_of(text))
    return [*filterfalse(stop.__contains__, words(text))]


def stems(text: str, language: Language | None = None) -> list[str]:
    """Return the Snowball stems of the terms, in order.

    >>> stems("Cancelling tasks"), stems("die Häuser der Städte")
    (['cancel', 'task'], ['haus', 'stadt'])
    """
    language = language or language_of(text)
    known, wanted = STEMS[language], terms(text, language)
    if text.isascii():
        return [*map(known.__getitem__, wanted)]
    return [known[word] if word < UNSTEMMED else word for word in wanted]


def question_terms(question: str) -> tuple[Term, ...]:
    """Return the terms of a question, one per stem, in order, in the question's language.

    A question of stop words alone has these as its terms.

    >>> [(term.word, term.rarity) for term in question_terms("Which year did Tesla visit?")]
    [('year', 1.0), ('tesla', 3.5), ('visit', 1.0)]
    """
    return _usual_terms(question) if len(question) <= _USUAL else _question_terms(question)


def _question_terms(question: str) -> tuple[Term, ...]:
    language = language_of(question)
    stop, levels, stems_of = _stop_words(language), _levels(language), STEMS[language]
    spelled = [
        (word, 0.5 if _is_name(token, first=position == 0) else 0.0)
        for position, token in enumerate(_tokens(_normal(question)))
        for word in words(token)
    ]
    found: dict[str, Term] = {}
    for word, bonus in [each for each in spelled if each[0] not in stop] or spelled:
        stem = stems_of[word]
        term = Term(word, stem, levels.get(stem, 1 if is_grammar(word) else 3) + bonus)
        found[stem] = max(found.get(stem, term), term, key=lambda each: each.rarity)
    return tuple(found.values())


_usual_terms = lru_cache(maxsize=128)(_question_terms)
"""Caches the last questions: some 200 KiB, 8 MiB if all are long."""


def find_stems(wanted: Collection[str], language: Language, among: Iterable[str]) -> dict[str, str]:
    """Return the words among others that have a wanted stem, each with it.

    >>> find_stems({"task", "timeout"}, "en", ["the", "cancelled", "tasks"])
    {'tasks': 'task'}
    """
    known = STEMS[language]
    if any(stem >= _BEYOND_LATIN for stem in wanted):
        return {word: stem for word in among if (stem := known[word]) in wanted}
    # both stemmers keep a word's first letter, but for the dots of an umlaut
    initials = {stem[0] for stem in wanted}
    initials.update([umlaut for letter, umlaut in _UMLAUTS if letter in initials])
    return {word: stem for word in among if word[0] in initials and (stem := known[word]) in wanted}


def index_text(text: str) -> str:
    """Return the stems of a text, joined by spaces, for a full-text column.

    Made for FTS5 with the tokenizer `unicode61 remove_diacritics 2`, to which marks are parts of
    words.

    >>> index_text("Waiting for the cancelled tasks")
    'wait cancel task'
    """
    folded = _folded_latin(text) if text.isascii() else None
    if folded is not None and not _has_long_word(folded):
        return " ".join(_stems_of_ascii(folded))
    plain = _normal(text)
    tails = last_characters(plain) if has_other_scripts(plain) else ()
    return " ".join([*stems(text), *tails])


def _stems_of_ascii(folded: str) -> Iterator[str]:
    """Yield what `stems` returns of an ASCII text; its words are found once, not for its language.

    It is as long as the text, so that the text's head is its own.
    """
    head, rest = folded[:_HEAD].split(), folded[_HEAD:].split()
    language = _language(*_votes_of(head, has_umlauts=False))
    if rest and folded[_HEAD - 1] != " " != folded[_HEAD]:  # one word is in both
        rest[0] = head.pop() + rest[0]
    is_stop = _stop_words(language).__contains__
    return map(STEMS[language].__getitem__, filterfalse(is_stop, chain(head, rest)))


def index_changes(text: str) -> bool:
    """Return whether `index_text` of this text is another than before version 3 of the database."""
    return has_other_scripts(_normal(text).casefold())


def match_query(question: str) -> str:
    """Return the FTS5 MATCH expression of the question's terms; '' without terms.

    >>> match_query("How are tasks cancelled?")
    '"task" OR "cancel"'
    """
    return match_any(question_stems(question))


def match_any(wanted: Iterable[str]) -> str:
    """Return the FTS5 MATCH expression that finds any of the stems; '' without stems."""
    return " OR ".join(map(_quoted, wanted))


def question_stems(question: str) -> list[str]:
    """Return the stems of the question's first terms, each once.

    Pages may be in another language than the question: unless it is clearly English, its terms
    are stemmed for both languages.
    """
    language, (english_votes, _) = language_of(question), _votes(question[:_HEAD])
    stemmers = LANGUAGES if language == "de" or not english_votes else (language,)
    found = {STEMS[each][word]: None for word in terms(question, language) for each in stemmers}
    return list(found)[:_MAX_TERMS]


def _quoted(stem: str) -> str:
    """Return a stem for FTS5; a Chinese character finds the pairs that begin with it."""
    quoted = '"' + stem.replace('"', '""') + '"'
    return f"{quoted}*" if is_character(stem) else quoted


def _tokens(plain: str) -> list[str]:
    return script_tokens(plain) if has_other_scripts(plain.casefold()) else _WORD.findall(plain)


def _folded_latin(text: str) -> str | None:
    """Return the words folded, with spaces for all else; None where `_WORD` has to find them.

    Most texts are Latin-1 except for punctuation: this takes a third of the time.
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


def _has_long_word(folded: str) -> bool:
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


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _is_name(token: str, *, first: bool) -> bool:
    """Return whether a word is a name, a number or a code; German nouns count as names."""
    inner = token[1:]
    return (
        inner != inner.lower()
        or (token[0].isupper() and not first)
        or (not token.isalpha() and any(char.isdigit() for char in token))
    )


@lru_cache(maxsize=256)
def _votes(text: str) -> tuple[int, int]:
    """Return what `_votes_of` does; the last 256 texts of 1,000 characters take at most 2 MiB."""
    plain = _normal(text).casefold()
    found = _LATIN_WORD.findall(plain) if has_other_scripts(plain) else words(text)
    return _votes_of(found, has_umlauts=not text.isascii())


def _votes_of(found: Collection[str], *, has_umlauts: bool) -> tuple[int, int]:
    """Return the number of English and of German words; stop words first, then all."""
    for_german, for_english = divmod(sum(map(_voters().get, found, repeat(0))), _GERMAN_VOTE)
    if has_umlauts:
        for_german += sum(1 for word in found if _UMLAUT.search(word))
    if for_english != for_german:
        return for_english, for_german
    for_english, for_german = (
        sum(STEMS[language][word] in _levels(language) for word in found) for language in LANGUAGES
    )
    return for_english, for_german


@cache
def _stop_words(language: Language) -> frozenset[str]:
    return frozenset(words(vocabulary(language).stop_words))


@cache
def _voters() -> dict[str, int]:
    """Return the vote of each stop word that one of the languages has: 1 or `_GERMAN_VOTE`."""
    english, german = (_stop_words(language) for language in LANGUAGES)
    return dict.fromkeys(english - german, 1) | dict.fromkeys(german - english, _GERMAN_VOTE)


@cache
def _levels(language: Language) -> dict[str, int]:
    """Return the rarity of every listed word, by its stem."""
    stop_words, common, very_common = vocabulary(language)
    tiers = (stop_words, 1), (common, 2), (very_common, 1)
    return {STEMS[language][word]: level for tier, level in tiers for word in words(tier)}
