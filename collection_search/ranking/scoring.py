"""Scores of pages for a question; `threshold` selects the pages to ingest.

`embedding_rank_score = 0.6 * embedding score + 0.4 * heuristic score`, each 0-100, and the points
of a tenant's own rules. It orders pages and decides on ingestion, so it has the same meaning in
every pool: no score depends on the best page. `bands` has the share of relevant pages that was
measured at each score, `explanation` lists what a score is the sum of.

The profile `literal` is the raw arithmetic: cosine times 100, heuristics that sum to 75.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from .explanation import explain_score
from .heuristics import LITERAL, PageText, PageWords, Points, measure_points
from .lexicon import question_terms
from .preferences import EMBEDDING_SHARE, NO_PREFERENCE, PagePreference, Preferences
from .similarity import LexicalSimilarity
from .weighed_page import ScoreBasis, WeighedPage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .lexicon import Term

__all__ = [
    "DENSE",
    "LEXICAL",
    "Calibration",
    "PageText",
    "Scored",
    "WordScores",
    "forget_pools",
    "rank",
    "rank_pool",
    "score_words",
]

Profile: TypeAlias = Literal["default", "literal"]

HEURISTIC_SHARE: Final = 1 - EMBEDDING_SHARE
_EXACT: Final = 6
"""Decimals of what enters the score, so that it can be computed again from its explanation."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The map from a similarity to the probability that a page is relevant, per kind of model.

    `unrelated` and `related` are the model's median similarities of such pairs; on its scale they
    become 0 and 1.
    """

    scale: Literal["lexical", "dense"]
    similarity: float
    """Weight of the model's similarity on that scale; 0 without a model."""
    wording: float
    """Weight of the lexical similarity."""
    constant: float
    unrelated: float = 0.0
    related: float = 1.0
    reason: str = field(default="", repr=False, compare=False)
    """Why words are compared although there is a model."""

    def probability(self, similarity: float, wording: float) -> float:
        """Return 0-1, from the model's similarity and the lexical one.

        >>> [round(LEXICAL.probability(0.0, wording), 2) for wording in (0.0, 0.1, 0.3)]
        [0.1, 0.47, 0.98]
        """
        placed, alike = self.inputs(similarity, wording)
        x = self.similarity * placed + self.wording * alike + self.constant
        return 0.5 * (1 + math.tanh(x / 2))  # 1 / (1 + e**-x) without overflow

    def inputs(self, similarity: float, wording: float) -> tuple[float, float]:
        """Return the model's similarity as it is weighed, on its own scale, and the lexical one.

        >>> DENSE.inputs(DENSE.related, 0.12345678)
        (1.0, 0.123457)
        """
        placed = (similarity - self.unrelated) / (self.related - self.unrelated)
        return round(min(max(placed, -0.5), 1.5), _EXACT), round(wording, _EXACT)


# Fitted on labelled pools, real search results among them (dense: vectors of all-MiniLM-L6-v2);
# `python benchmarks/fit_scoring.py PATH_TO_POOLS` fits anew and prints these two lines.
LEXICAL: Final = Calibration("lexical", similarity=0.0, wording=20.62, constant=-2.17)
DENSE: Final = Calibration(
    "dense", similarity=4.88, wording=14.86, constant=-5.42, unrelated=0.14, related=0.6
)


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of one page for the question."""

    index: int
    """Position in the pages that were ranked."""
    embedding_rank_score: float
    """0-100; orders the pages and decides on ingestion."""
    embedding_similarity: float
    """As the model or the comparison of words gave it, -1 to 1."""
    heuristic_score: float
    """0-100; in the profile `literal` 0-75."""
    weighed: WeighedPage
    """What the score was made from."""

    @property
    def explanation(self) -> dict[str, Any]:
        """The addends of the score with their weights, and a sentence; JSON-plain."""
        return explain_score(self.weighed)


def rank(
    question: str,
    pages: Sequence[PageText],
    *,
    similarities: Sequence[float] | None = None,
    profile: Profile = "default",
    limit: int = 20,
    calibration: Calibration | None = None,
    model: str | None = None,
    preferences: Preferences | None = None,
) -> list[Scored]:
    """Return the best pages, by score, then by URL; those that may not be ingested come last.

    `similarities` are a model's cosines, one per page; NaN marks a page without an embedding and
    counts 0. Without them words are compared. `calibration` belongs to the model of the
    similarities; default: `DENSE`, without a model `LEXICAL`. `LEXICAL` compares words even where
    similarities of an unknown scale are given. `model` is the name in the explanations.
    `preferences` are what a tenant's own rules make of the pages.

    >>> pages = [PageText("Tea", "How to brew tea.", "https://a.example/tea"),
    ...          PageText("Tasks", "How to cancel a running task.", "https://a.example/task")]
    >>> [(each.index, each.embedding_rank_score > 60) for each in rank("Cancel a task", pages)]
    [(1, True), (0, False)]
    """
    return rank_pool(
        score_words(question, pages, profile=profile),
        similarities=similarities,
        limit=limit,
        calibration=calibration,
        model=model,
        preferences=preferences,
    )


class WordScores(NamedTuple):
    """Pages with their scores by words, before a model's similarities are known."""

    pages: tuple[PageText, ...]
    wording: tuple[float, ...]
    """Lexical similarity per page, 0 to 1."""
    parts: tuple[Points, ...]
    """Heuristics per page."""
    is_literal: bool
    terms: tuple[Term, ...]
    """The words of the question."""


def score_words(
    question: str, pages: Sequence[PageText], *, profile: Profile = "default"
) -> WordScores:
    """Return what `rank_pool` needs beside a model's similarities; the last 8 pools are remembered.

    This is the larger part of the work, and may run at the same time as a model's request.
    """
    return _score_words(question, tuple(pages), profile == "literal")


def forget_pools() -> None:
    """Clear the cache of `score_words`, for a measurement."""
    _score_words.cache_clear()


@lru_cache(maxsize=8)
def _score_words(question: str, pages: tuple[PageText, ...], is_literal: bool) -> WordScores:  # noqa: FBT001
    read = [PageWords.of(page) for page in pages]
    by_rarity = not is_literal
    wording = LexicalSimilarity(by_rarity=by_rarity).of_words(
        question, [[*each.title, *each.snippet] for each in read]
    )
    parts = measure_points(question, pages, read, by_rarity=by_rarity)
    return WordScores(pages, tuple(wording), tuple(parts), is_literal, question_terms(question))


def rank_pool(
    pool: WordScores,
    *,
    similarities: Sequence[float] | None = None,
    limit: int = 20,
    calibration: Calibration | None = None,
    model: str | None = None,
    preferences: Preferences | None = None,
) -> list[Scored]:
    """Return the best of the judged pages; `rank` is both steps in one."""
    pages, n = pool.pages, len(pool.pages)
    given = preferences or Preferences((NO_PREFERENCE,) * n)
    measured = pool.wording if similarities is None else similarities
    for name, values in (("similarities", measured), ("preferences", given.pages)):
        if len(values) != n:
            raise ValueError(f"{len(values)} {name} for {n} pages: give one each")
    scale = calibration or (LEXICAL if similarities is None else DENSE)
    basis = (
        ScoreBasis(None, EMBEDDING_SHARE, LITERAL, pool.terms, model)
        if pool.is_literal
        else ScoreBasis(scale, given.embedding_share, given.factors, pool.terms, model)
    )
    weighed = [
        _weighed(place, pool, float(measured[place]), basis, given.pages[place])
        for place in range(n)
    ]
    best = heapq.nsmallest(
        limit, weighed, key=lambda each: (each.is_refused, -each.score, pages[each.place].url)
    )
    return [
        Scored(
            each.place,
            embedding_rank_score=each.score,
            embedding_similarity=round(each.similarity, 4),
            heuristic_score=round(each.heuristic, 2),
            weighed=each,
        )
        for each in best
    ]


def _weighed(
    place: int, pool: WordScores, cosine: float, basis: ScoreBasis, preference: PagePreference
) -> WeighedPage:
    """Combine both sides: on calibrated scales, or raw when there is no calibration."""
    parts, wording = pool.parts[place], pool.wording[place]
    is_failed = not math.isfinite(cosine)
    similarity = 0.0 if is_failed else round(min(max(cosine, -1.0), 1.0), _EXACT)
    if is_failed:
        embedding = 0.0
    elif basis.calibration:
        embedding = 100 * basis.calibration.probability(similarity, wording)
    else:
        embedding = 100 * similarity
    heuristic = parts.score(basis.factors)
    score = basis.share * embedding + (1 - basis.share) * heuristic
    if preference.adjustments:
        score += math.fsum(each.points for each in preference.adjustments)
    score = 0.0 if preference.refused else round(min(max(score, 0.0), 100.0), 2)
    return WeighedPage(
        place, score, similarity, wording, embedding, heuristic, is_failed, parts, preference, basis
    )
