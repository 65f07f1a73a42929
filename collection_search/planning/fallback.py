"""Search queries without a model, and the cleaning of those that a model proposes.

Web engines take 400 characters and 50 words at most; longer queries are cut at a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..errors import InvalidQueryError
from ..ranking.lexicon import language_of, terms
from ..text.clean import normalize_query
from .quality import MAX_QUERIES, MIN_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..ranking.languages import Language

MAX_CHARS: Final = 400
MAX_WORDS: Final = 50

_KEY_WORDS: Final = 12
_PURPOSE_WORDS: Final = 4
_PURPOSE_CHARS: Final = 100

_FORMS: Final = {
    "en": ("documentation", "guide", "examples", "reference", "tutorial"),
    "de": ("Dokumentation", "Anleitung", "Beispiele", "Referenz", "Einführung"),
}
"""Kinds of pages that are worth finding, by language of the question."""

_SAYS_NOTHING: Final = frozenset({
    "answer", "ask", "collection", "collections", "default", "demo", "general", "ingest",
    "ingestion", "none", "purpose", "query", "question", "research", "run", "search", "test",
    "testing", "web",
})  # fmt: skip
"""Words of a purpose that say nothing about the subject."""

_EDGES: Final = " \t\n\"'`,;!?…„“”‚‘’«»"  # noqa: RUF001 - typographic quotation marks
_ENGINE_COMMANDS = re.compile(
    r"\A(?:(?:!\S*|:[a-z]{2,3}(?:[-_][a-z]{2,4})?|<\d+)(?:\s+|$))+", re.IGNORECASE
)
"""SearXNG reads leading `!engine`, `:language` and `<seconds` as commands."""


def fallback_queries(question: str, *, purpose: str, count: int = MIN_QUERIES) -> list[str]:
    """Return `count` (1 to 5) different queries made from the question, always the same.

    The question itself, its key words, these with the purpose where it says something, and with
    kinds of pages such as a documentation or a guide, in the language of the question.

    >>> fallback_queries("How do I cancel an asyncio task?", purpose="collection_search")
    ['How do I cancel an asyncio task?', 'cancel asyncio task', 'cancel asyncio task documentation']
    """
    return query_variants(question, purpose=purpose)[:count]


def query_variants(question: str, *, purpose: str) -> list[str]:
    """Return all queries that are made from a question without a model: at least five.

    >>> query_variants("asyncio", purpose="search")[1:]
    ['asyncio documentation', 'asyncio guide', 'asyncio examples', 'asyncio reference', \
'asyncio tutorial']
    """
    return _different(_variants(question, purpose))


def subject_of(query: str) -> str:
    """Return the query without the kind of page that a variant ends with.

    >>> subject_of("asyncio documentation"), subject_of("asyncio timeout"), subject_of("Anleitung")
    ('asyncio', 'asyncio timeout', 'Anleitung')
    """
    subject, _, last = query.rpartition(" ")
    is_form = last.casefold() in {form.casefold() for forms in _FORMS.values() for form in forms}
    return subject if subject and is_form else query


def text_to_ask(query: str, questions: Iterable[str]) -> str:
    """Return what a collection is asked to learn whether it answers a query of the questions.

    The kind of page that a query ends with chose among pages of the web. It is left out, unless a
    question names it.

    >>> text_to_ask("asyncio guide", ["What is asyncio?"])
    'asyncio'
    >>> text_to_ask("write guide", ["How do I write a guide?"])
    'write guide'
    """
    subject = subject_of(query)
    kind = query[len(subject) :].strip().casefold()
    return query if any(kind in question.casefold() for question in questions) else subject


def complete_queries(
    proposed: Iterable[object],
    question: str,
    *,
    purpose: str,
    minimum: int = MIN_QUERIES,
    maximum: int = MAX_QUERIES,
) -> list[str]:
    """Return `minimum` to `maximum` (at most 5) queries: the usable proposals, then our own.

    Proposals that are no text, no query or a repetition are dropped, and commands to an engine.

    >>> complete_queries(["!g asyncio  cancel", "Asyncio cancel", 7], "asyncio", purpose="search")
    ['asyncio cancel', 'asyncio', 'asyncio documentation']
    """
    usable = usable_queries(proposed)
    if len(usable) >= minimum:
        return usable[:maximum]
    own = fallback_queries(question, purpose=purpose, count=minimum)
    return _different([*usable, *own])[:minimum]


def usable_queries(proposed: Iterable[object]) -> list[str]:
    """Return the proposals that can be searched for, cleaned, each once.

    >>> usable_queries(["!g asyncio  cancel", " ", "...", None])
    ['asyncio cancel']
    """
    queries = _different(text for text in proposed if isinstance(text, str))
    return _different(_ENGINE_COMMANDS.sub("", query) for query in queries)


def _variants(question: str, purpose: str) -> Iterator[str]:
    yield question
    key = _key_words(question) or question
    yield key
    if aim := _aim(purpose):
        yield _joined(key, aim)
    present = {word.casefold() for word in question.split()}
    for form in sorted(_FORMS[language_of(question)], key=lambda form: form.casefold() in present):
        yield _joined(key, form)


def _key_words(question: str) -> str:
    """Return the words that carry the question, as they are written there."""
    words = (word.strip(_EDGES).rstrip(".:") for word in question.split())
    return " ".join(_telling(words, language_of(question))[:_KEY_WORDS])


def _aim(purpose: str) -> str:
    """Return what a purpose such as `security_audit` adds to a query, or nothing."""
    text = re.sub(r"[\W_]+", " ", purpose)
    subject = [word for word in text.split() if word.casefold() not in _SAYS_NOTHING]
    return _cut(" ".join(_telling(subject, language_of(text))), _PURPOSE_CHARS, _PURPOSE_WORDS)


def _telling(words: Iterable[str], language: Language) -> list[str]:
    return [word for word in words if terms(word, language)]


def _joined(key: str, addition: str) -> str:
    """Return both texts as one query, with the key shortened where it is too long."""
    room = MAX_CHARS - len(addition) - 1
    return f"{_cut(key, room, MAX_WORDS - len(addition.split()))} {addition}"


def _different(texts: Iterable[str]) -> list[str]:
    """Return the valid texts as queries, each once regardless of case."""
    queries: dict[str, str] = {}
    for text in texts:
        try:
            query = normalize_query(_cut(text, MAX_CHARS, MAX_WORDS))
        except InvalidQueryError:
            continue
        queries.setdefault(query.casefold(), query)
    return list(queries.values())


def _cut(text: str, chars: int, words: int) -> str:
    left = text.split()[:words]
    while len(left) > 1 and len(" ".join(left)) > chars:
        left.pop()
    return " ".join(left)[:chars]
