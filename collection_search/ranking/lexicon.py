"""Stems of a text and weights of its words, for search without a model."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain, filterfalse, repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from .languages import LANGUAGES, Language, vocabulary
from .scripts import has_other_scripts, is_character, is_grammar, last_characters
from .stemming import STEMS, UNSTEMMED
from .tokenization import fold_latin, has_long_word, normalized, tokenize, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

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
        for position, token in enumerate(tokenize(normalized(question)))
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
    folded = fold_latin(text) if text.isascii() else None
    if folded is not None and not has_long_word(folded):
        return " ".join(_stems_of_ascii(folded))
    plain = normalized(text)
    tails = last_characters(plain) if has_other_scripts(plain) else ()
    return " ".join([*stems(text), *tails])


def _stems_of_ascii(folded: str) -> Iterator[str]:
    """Yield what `stems` returns of an ASCII text; its words are found once, not for its language.

    It is as long as the text, so that the text's head is its own.
    """
    head, rest = folded[:_HEAD].split(), folded[_HEAD:].split()
    language = _language_of_ascii(head)
    if rest and folded[_HEAD - 1] != " " != folded[_HEAD]:  # one word is in both
        rest[0] = head.pop() + rest[0]
    is_stop = _stop_words(language).__contains__
    return map(STEMS[language].__getitem__, filterfalse(is_stop, chain(head, rest)))


def _language_of_ascii(head: Collection[str]) -> Language:
    """Return the language that has most votes; most texts have none for German."""
    english, german = _own_stop_words()
    if german.isdisjoint(head) and not english.isdisjoint(head):
        return "en"
    return _language(*_votes_of(head, has_umlauts=False))


def index_changes(text: str) -> bool:
    """Return whether `index_text` of this text is another than before version 3 of the database."""
    return has_other_scripts(normalized(text).casefold())


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
    plain = normalized(text).casefold()
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
def _own_stop_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the stop words that only English has, and those that only German has."""
    english, german = (_stop_words(language) for language in LANGUAGES)
    return english - german, german - english


@cache
def _voters() -> dict[str, int]:
    """Return the vote of each stop word that one of the languages has: 1 or `_GERMAN_VOTE`."""
    english, german = _own_stop_words()
    return dict.fromkeys(english, 1) | dict.fromkeys(german, _GERMAN_VOTE)


@cache
def _levels(language: Language) -> dict[str, int]:
    """Return the rarity of every listed word, by its stem."""
    stop_words, common, very_common = vocabulary(language)
    tiers = (stop_words, 1), (common, 2), (very_common, 1)
    return {STEMS[language][word]: level for tier, level in tiers for word in words(tier)}
