"""What a tenant's own rules make of the pages of a pool, beside the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from ..text.urls import host_of
from .heuristics import CALIBRATED, COVERAGE_POINTS, TITLE_POINTS, URL_POINTS, Factors
from .languages.guess import guess_language

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from ..contracts.heuristic_rules import HeuristicRules, OwnWeights, PageLanguage
    from .heuristics import PageText

AdjustmentName: TypeAlias = Literal["trusted_host", "freshness", "language"]

EMBEDDING_SHARE: Final = 0.6
"""Share of the embedding score; the heuristic score has the rest."""

LANGUAGE_GUESSES: Final[Mapping[PageLanguage, str]] = {
    "ar": "Arabic",
    "bn": "Bengali",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "he": "Hebrew",
    "hi": "Devanagari",
    "hy": "Armenian",
    "ja": "Japanese",
    "ka": "Georgian",
    "ko": "Korean",
    "ru": "Cyrillic",
    "ta": "Tamil",
    "th": "Thai",
    "zh": "Chinese",
}
"""How `guess_language` calls the language, or its script."""
_SAME_LETTERS: Final = {"Chinese", "Japanese"}


class Adjustment(NamedTuple):
    """Points that a page gains or loses beside the question."""

    name: AdjustmentName
    points: float
    reason: str
    """Half a sentence for people, such as "its host belongs to python.org"."""


class PagePreference(NamedTuple):
    """What the rules make of one page."""

    adjustments: tuple[Adjustment, ...] = ()
    refused: str = ""
    """Why the page may not be ingested without a person's decision; blank where it may."""


NO_PREFERENCE: Final = PagePreference()


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the rules make of the pages of one pool."""

    pages: Sequence[PagePreference]
    """One per page, in order."""
    embedding_share: float = EMBEDDING_SHARE
    factors: Factors = CALIBRATED
    """Those of the profile `default`; `literal` keeps its own."""


def judge_preferences(
    rules: HeuristicRules, pages: Sequence[PageText], dates: Sequence[date | None], *, today: date
) -> Preferences:
    """Return what the rules make of the pages; `dates` are the days of their publication.

    A day that is unknown or lies in the future counts nothing. Of a page's own words only the
    language counts, and only where it is clear.
    """
    blocked, trusted = frozenset(rules.blocked_hosts), frozenset(rules.trusted_hosts)

    def judged(page: PageText, published: date | None) -> PagePreference:
        host = host_of(page.url.lower())
        if domain := matching_domain(host, blocked):
            return PagePreference(refused=f"the host {domain} is blocked")
        found = [
            _trust(rules, matching_domain(host, trusted)),
            _freshness(rules, published, today),
            _language(rules, page),
        ]
        return PagePreference(tuple([each for each in found if each and each.points]))

    found = [judged(page, day) for page, day in zip(pages, dates, strict=True)]
    if rules.weights is None:
        return Preferences(found)
    return Preferences(found, rules.weights.embedding_share, _factors(rules.weights))


def matching_domain(host: str, domains: Collection[str]) -> str:
    """Return the narrowest of the domains that the host is or lies below; blank for none.

    >>> matching_domain("docs.python.org", {"python.org"})
    'python.org'
    >>> matching_domain("docs.python.org.evil.example", {"python.org", "docs.python.org"})
    ''
    """
    while host and host not in domains:
        host = host.partition(".")[2]
    return host


def refusal_of(result: Mapping[str, Any]) -> str:
    """Return why a ranked page may not be ingested without a person's decision; blank if it may.

    >>> refusal_of({"explanation": {"refused": "the host spam.example is blocked"}})
    'the host spam.example is blocked'
    >>> refusal_of({"explanation": {}})
    ''
    """
    return str(result.get("explanation", {}).get("refused", ""))


def _factors(weights: OwnWeights) -> Factors:
    whole = weights.title + weights.coverage
    return Factors(
        title=100 * weights.title / (whole * TITLE_POINTS),
        snippet=0.0,
        coverage=100 * weights.coverage / (whole * COVERAGE_POINTS),
        url=weights.address / URL_POINTS,
    )


def _trust(rules: HeuristicRules, domain: str) -> Adjustment | None:
    if not domain:
        return None
    return Adjustment("trusted_host", rules.trusted_points, f"the host {domain} is trusted")


def _freshness(rules: HeuristicRules, published: date | None, today: date) -> Adjustment | None:
    days = rules.freshness_days
    if days is None or published is None or (age := (today - published).days) < -1:
        return None  # a day of tomorrow may be today's elsewhere
    points = rules.freshness_points if age <= days else -rules.freshness_points
    side = "within" if age <= days else "before"
    return Adjustment("freshness", points, f"it was published {side} the last {days} days")


def _language(rules: HeuristicRules, page: PageText) -> Adjustment | None:
    if rules.language is None:
        return None
    wanted = LANGUAGE_GUESSES[rules.language]
    found = guess_language(f"{page.title} {page.snippet}")
    if found in (None, wanted) or {found, wanted} == _SAME_LETTERS:
        return None
    return Adjustment("language", -rules.language_points, f"it is not in {wanted}")
