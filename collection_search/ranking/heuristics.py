"""Scores of a result by its title, snippet and address, without a model."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from .lexicon import find_stems, language_of, question_terms
from .tokenization import words

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE_POINTS: Final = 30
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


class PageText(NamedTuple):
    """The parts of a search result that are scored."""

    title: str
    snippet: str
    url: str


class PageWords(NamedTuple):
    """The words of a page, read once for all comparisons."""

    title: list[str]
    snippet: list[str]
    address: list[str]
    """Words of host and path; those of a query string seldom name the subject."""

    @classmethod
    def of(cls, page: PageText) -> PageWords:
        """Return the words of the page.

        >>> PageWords.of(PageText("Tasks", "Cancel it.", "https://a.example/task?q=x"))
        PageWords(title=['tasks'], snippet=['cancel', 'it'], address=['a', 'example', 'task'])
        """
        address = page.url.partition("://")[2].partition("?")[0]
        return cls(words(page.title), words(page.snippet), words(address))


class Factors(NamedTuple):
    """What a point of each part adds to the heuristic score."""

    title: float
    snippet: float
    coverage: float
    url: float


CALIBRATED: Final = Factors(title=2.0, snippet=0.0, coverage=2.0, url=1.0)
"""Title and coverage on a scale of 0-100, less the penalty of the address.

The snippet's points do not count: over labelled pools they order pages no better than chance.
"""
LITERAL: Final = Factors(title=1.0, snippet=1.0, coverage=1.0, url=1.0)
"""The plain sum, 0-75."""


class Points(NamedTuple):
    """The points of one page for one question."""

    title: float
    """0-30: share of the question in the title; 0 without a title."""
    snippet: float
    """0-25: length and form of the snippet."""
    coverage: float
    """0-20: share of the question anywhere in title, snippet or address."""
    url: float
    """0 to -20: addresses that seldom contain an answer."""
    matched: tuple[str, ...]
    """The words of the question that occur in the page."""
    untitled: float = 0.0
    """0-30: share of the question in the text; in place of `title` for a page without one."""
    titled: int = 0
    """How many of the matched words stand in the title."""

    def earned(self, factors: Factors) -> float:
        """Return the heuristic score before the address counts."""
        titled = factors.title * (self.title + self.untitled)
        return titled + factors.snippet * self.snippet + factors.coverage * self.coverage

    def score(self, factors: Factors) -> float:
        """Return the heuristic score; an address costs no more than the page has earned."""
        return max(0.0, self.earned(factors) + factors.url * self.url)

    @property
    def total(self) -> float:
        """The heuristic score of the profile `literal`, 0-75."""
        return self.score(LITERAL)

    @property
    def relevance(self) -> float:
        """The heuristic score of the calibrated scales, 0-100."""
        return self.score(CALIBRATED)


def measure_points(
    question: str, pages: Sequence[PageText], read: Sequence[PageWords], *, by_rarity: bool = True
) -> list[Points]:
    """Return the points of each page, in order; `read` are the pages' words.

    `by_rarity`: rare words of the question count more than common ones, and a page without a
    title is scored by its snippet alone; otherwise every word counts the same.

    >>> page = PageText("Task", "How to cancel it.", "https://a.example/task")
    >>> (points,) = measure_points("cancel a task", [page], [PageWords.of(page)])
    >>> points.title, points.snippet, points.coverage, points.url, points.matched
    (10.0, 10, 20.0, 0, ('cancel', 'task'))
    """
    terms = question_terms(question)
    asked = [(term.stem, term.word, term.rarity if by_rarity else 1.0) for term in terms]
    weight = sum([rarity for _, _, rarity in asked]) or 1
    every = set(chain.from_iterable(chain.from_iterable(read)))
    stem_of = find_stems({stem for stem, _, _ in asked}, language_of(question), every)
    known = stem_of.keys()
    judged = []
    for page, (title, snippet, address) in zip(pages, read, strict=True):
        in_title = {stem_of[word] for word in known & title}
        found = in_title | {stem_of[word] for word in (known & snippet) | (known & address)}
        matched = [each for each in asked if each[0] in found]
        coverage = sum([rarity for _, _, rarity in matched]) / weight
        titled = sum([rarity for stem, _, rarity in matched if stem in in_title]) / weight
        judged.append(
            Points(
                TITLE_POINTS * titled,
                snippet_quality(page.snippet),
                COVERAGE_POINTS * coverage,
                url_penalty(page.url),
                tuple([word for _, word, _ in matched]),
                TITLE_POINTS * coverage if by_rarity and not title else 0.0,
                len(in_title),
            )
        )
    return judged


def snippet_quality(snippet: str) -> int:
    """Return 0-25: 5, 12 or 20 points by length, 5 more for a sentence's punctuation.

    >>> snippet_quality(""), snippet_quality("Too short"), snippet_quality("A sentence. " * 9)
    (0, 5, 25)
    """
    text = snippet.strip()
    if not (length := len(text)):
        return 0
    points = 5 if length < 40 else 12 if length < 80 else 20  # noqa: PLR2004 - the specified steps
    return points + (5 if "." in text or "!" in text or "?" in text else 0)


def url_penalty(url: str) -> int:
    """Return 0 to -20: log-in, social, shop and listing pages, deep paths, long query strings.

    >>> url_penalty("https://docs.example/guide"), url_penalty("https://a.example/login?next=/x")
    (0, -10)
    """
    try:
        host, path, query = _split(url)
    except ValueError:
        return -URL_POINTS
    segments = [segment for segment in path.split("/") if segment]
    penalty = sum([_PENALTIES.get(segment.partition(".")[0], 0) for segment in segments])
    if host.endswith(_SOCIAL) and ".".join(host.split(".")[-2:]) in _SOCIAL:
        penalty += _SOCIAL_PENALTY
    if len(segments) > _DEEP:
        penalty += _DEEP_PENALTY
    if len(query) > _LONG_QUERY:
        penalty += _LONG_QUERY_PENALTY
    return -min(penalty, URL_POINTS)


def _split(url: str) -> tuple[str, str, str]:
    """Return host, path and query in lower case; raises ValueError for what is no URL."""
    plain = url.lower()
    if plain.startswith(("https://", "http://")) and url.isascii() and url.isprintable():
        rest, _, query = plain.partition("#")[0].partition("?")
        host, _, path = rest.partition("://")[2].partition("/")
        if "@" not in host and ":" not in host and "[" not in host and "]" not in host:
            return host, path, query
    address = urlsplit(url)
    return address.hostname or "", address.path.lower(), address.query
