"""What a result's title, snippet and address say about its worth, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from .lexicon import language_of, question_terms, stem_set

TITLE_POINTS: Final = 30
SNIPPET_POINTS: Final = 25
COVERAGE_POINTS: Final = 20
URL_POINTS: Final = 20

_PENALTIES: Final = {
    segment: points
    for points, segments in (
        (10, "login log-in signin sign-in signup sign-up register account auth"),
        (10, "cart checkout warenkorb shop product products produkt produkte"),
        (5, "tag tags category kategorie archive archives search suche"),
    )
    for segment in segments.split()
}
"""Points that a segment of the path costs."""
_SOCIAL: Final = ("facebook.com", "instagram.com", "linkedin.com", "tiktok.com", "x.com")
_SOCIAL_PENALTY: Final = 10
_DEEP: Final = 6
_DEEP_PENALTY: Final = 5
_LONG_QUERY: Final = 60
_LONG_QUERY_PENALTY: Final = 5


class Page(NamedTuple):
    """One search result, as far as it is judged."""

    title: str
    snippet: str
    url: str


@dataclass(frozen=True, slots=True)
class Parts:
    """The points of one page for one question."""

    title: float
    """0-30: share of the question in the title."""
    snippet: float
    """0-25: length and form of the snippet."""
    coverage: float
    """0-20: share of the question anywhere in title, snippet or address."""
    url: float
    """0 to -20: addresses that seldom hold an answer."""
    matched: tuple[str, ...]
    """The words of the question that the page has."""

    @property
    def total(self) -> float:
        """The plain sum, 0-75."""
        return max(0.0, self.title + self.snippet + self.coverage + self.url)

    @property
    def relevance(self) -> float:
        """Title and coverage on a scale of 0-100, less the penalty of the address.

        The snippet's points are left out: over labelled pools they order pages no better than
        chance does.
        """
        earned = (self.title + self.coverage) / (TITLE_POINTS + COVERAGE_POINTS)
        return max(0.0, 100 * earned + self.url)


@lru_cache(maxsize=4096)
def judge(question: str, page: Page, *, by_rarity: bool = True) -> Parts:
    """Return the points of a page.

    `by_rarity`: rare words of the question count more than common ones, and a page without a
    title is judged by its snippet alone; otherwise every word counts the same.

    >>> parts = judge("cancel a task", Page("Task", "How to cancel it.", "https://a.example/task"))
    >>> parts.title, parts.snippet, parts.coverage, parts.url, parts.matched
    (10.0, 10, 20.0, 0, ('cancel', 'task'))
    """
    asked = {term: term.rarity if by_rarity else 1.0 for term in question_terms(question)}
    weight = sum(asked.values()) or 1
    language = language_of(question)
    in_title = stem_set(page.title, language)
    found = in_title | stem_set(f"{page.snippet} {_readable(page.url)}", language)
    matched = tuple(term for term in asked if term.stem in found)
    coverage = sum(asked[term] for term in matched) / weight
    titled = sum(asked[term] for term in matched if term.stem in in_title) / weight
    return Parts(
        title=TITLE_POINTS * (coverage if by_rarity and not in_title else titled),
        snippet=snippet_quality(page.snippet),
        coverage=COVERAGE_POINTS * coverage,
        url=url_penalty(page.url),
        matched=tuple(term.word for term in matched),
    )


def snippet_quality(snippet: str) -> int:
    """Return 0-25: 5, 12 or 20 points by length, 5 more for a sentence's punctuation.

    >>> snippet_quality(""), snippet_quality("Too short"), snippet_quality("A sentence. " * 9)
    (0, 5, 25)
    """
    text = snippet.strip()
    if not text:
        return 0
    length = len(text)
    points = 5 if length < 40 else 12 if length < 80 else 20  # noqa: PLR2004 - the specified steps
    return points + (5 if re.search(r"[.!?]", text) else 0)


def url_penalty(url: str) -> int:
    """Return 0 to -20: log-in, social, shop and listing pages, deep paths, long query strings.

    >>> url_penalty("https://docs.example/guide"), url_penalty("https://a.example/login?next=/x")
    (0, -10)
    """
    try:
        address = urlsplit(url)
    except ValueError:
        return -URL_POINTS
    segments = [part.partition(".")[0].lower() for part in address.path.split("/") if part]
    site = ".".join((address.hostname or "").split(".")[-2:])
    penalty = (
        sum(_PENALTIES.get(segment, 0) for segment in segments)
        + _SOCIAL_PENALTY * (site in _SOCIAL)
        + _DEEP_PENALTY * (len(segments) > _DEEP)
        + _LONG_QUERY_PENALTY * (len(address.query) > _LONG_QUERY)
    )
    return -min(penalty, URL_POINTS)


def _readable(url: str) -> str:
    """Return host and path: their words often name the subject, those of a query string seldom."""
    return url.partition("://")[2].partition("?")[0]
