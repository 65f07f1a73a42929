"""What counts as evidence: which passages answer a question, and which merely share its subject.

The evidence of a passage is 0-100 and absolute: no passage gains by others being worse, only how
rare a word is comes from the pool, too. At 50 a passage is as likely an answer as a near miss,
where half are. Three parts decide: the share of the question's words that the passage has, by
rarity, the calibrated similarity of the words, and that of a model.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from .lexicon import language_of, question_terms
from .scoring import Calibration, score_words
from .stemming import STEMS
from .tokenization import words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ..contracts.collection import Passage
    from .heuristics import PageText
    from .lexicon import Term

LEVEL: Final = 50.0
"""Evidence from which a passage counts as an answer."""

_IDENTIFIER: Final = re.compile(r"\w*[^\W_]_+[^\W_]\w*")
"""A name of code: where it is missing, its single words say little."""
_SHORTEST_PART: Final = 4
"""Characters of a word that is found inside a longer one."""
_USUAL: Final = 40
"""Characters of a stem whose parts are cached."""
_LEAST_PART: Final = 0.5
"""Share of a compound that has to be found before it counts."""
_PART_WEIGHT: Final = 0.8
"""What a compound counts of which all parts are found, but not the word itself."""


class EvidenceParts(NamedTuple):
    """What the evidence of a passage is made of, 0-1 each."""

    coverage: float
    """Share of the question's words, by rarity."""
    wording: float
    """The lexical similarity as a probability."""
    meaning: float
    """The model's similarity as a probability; the lexical one without a model."""


class EvidenceWeights(NamedTuple):
    """The logistic that makes evidence of the parts."""

    coverage: float
    wording: float
    meaning: float
    constant: float

    def evidence(self, parts: EvidenceParts) -> float:
        """Return 0-100.

        >>> few, most, every = (EvidenceParts(share, share, 0.0) for share in (0.4, 0.7, 1.0))
        >>> [round(BY_WORDS.evidence(parts)) for parts in (few, most, every)]
        [4, 54, 97]
        """
        x = math.fsum(map(operator.mul, self, (*parts, 1.0)))
        return 50 * (1 + math.tanh(x / 2))


# Fitted with and without the page that answers; `benchmarks/fit_evidence.py` fits anew.
WORDING: Final = Calibration("lexical", similarity=0.0, wording=13.39, constant=-0.57)
MEANING: Final = Calibration(
    "dense", similarity=3.72, wording=1.89, constant=-1.81, unrelated=0.15, related=0.56
)
"""A passage is longer than a search result and shares more words by chance, so the similarities
have another place on the scale than those of the gate."""
BY_WORDS: Final = EvidenceWeights(coverage=4.82, wording=6.12, meaning=0.0, constant=-7.49)
BY_MODEL: Final = EvidenceWeights(coverage=3.79, wording=4.88, meaning=3.15, constant=-8.0)
BY_MEANING: Final = EvidenceWeights(coverage=0.0, wording=0.0, meaning=6.62, constant=-4.61)
"""For a passage in another language than the question: a model alone can tell."""


def evidence_level() -> float:
    """Return the evidence from which a passage counts as an answer, 0-100.

    >>> evidence_level()
    50.0
    """
    return LEVEL


def answering(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages that answer the question of which they were retrieved, in order.

    Where no evidence was measured, the score decides.

    >>> from collection_search.contracts.collection import Passage
    >>> found = [Passage(n=1, url="", title="", text="", score=80, evidence=41),
    ...          Passage(n=2, url="", title="", text="", score=60, evidence=50)]
    >>> [passage.n for passage in answering(found)]
    [2]
    """
    level = evidence_level()
    return [passage for passage in passages if evidence_of(passage) >= level]


def evidence_of(passage: Passage) -> float:
    """Return the evidence of a passage, 0-100: its score where none was measured."""
    return passage.score if passage.evidence is None else passage.evidence


def measure_evidence(
    question: str,
    pages: Sequence[PageText],
    *,
    similarities: Sequence[float] | None = None,
    calibration: Calibration | None = None,
    places: Sequence[int] | None = None,
) -> list[float]:
    """Return the evidence of each passage, 0-100, in order; `snippet` is its whole text.

    `similarities` and `calibration` are those of `scoring.rank`, except that every similarity is a
    number. With `places` only the passages there are measured, in that order, among all of them.

    >>> from collection_search.ranking.heuristics import PageText
    >>> pages = [PageText("Tea", "How to brew tea.", ""),
    ...          PageText("Tasks", "How to cancel a running task.", "")]
    >>> [evidence >= evidence_level() for evidence in measure_evidence("Cancel a task", pages)]
    [False, True]
    """
    places = range(len(pages)) if places is None else places
    parts = measure_parts(
        question, pages, similarities=similarities, calibration=calibration, places=places
    )
    if similarities is None or (calibration or MEANING).scale == "lexical":
        return [BY_WORDS.evidence(each) for each in parts]
    language = language_of(question)
    found = []
    for place, each in zip(places, parts, strict=True):
        evidence = BY_MODEL.evidence(each)
        if language_of(pages[place].snippet) != language:
            evidence = max(evidence, BY_MEANING.evidence(each))
        found.append(evidence)
    return found


def measure_parts(
    question: str,
    pages: Sequence[PageText],
    *,
    similarities: Sequence[float] | None = None,
    calibration: Calibration | None = None,
    places: Sequence[int] | None = None,
) -> list[EvidenceParts]:
    """Return the parts of each passage's evidence, as `measure_evidence` reads them."""
    pool = score_words(question, pages)
    scale = passage_scale(calibration, is_dense=similarities is not None)
    measured = [0.0] * len(pages) if similarities is None else similarities
    terms, stem_of = question_terms(question), STEMS[language_of(question)]
    identifiers = _IDENTIFIER.findall(question.casefold())
    found = []
    for place in range(len(pages)) if places is None else places:
        page, alike = pages[place], pool.wording[place]
        stems = {*map(stem_of.__getitem__, {*words(page.title), *words(page.snippet)})}
        doubted = _doubted(identifiers, page, stem_of) if identifiers else frozenset()
        own = WORDING.probability(0.0, alike)
        model = scale.probability(measured[place], alike)
        found.append(EvidenceParts(share_covered(terms, stems, doubted), own, model))
    return found


def _doubted(
    identifiers: Sequence[str], page: PageText, stem_of: Mapping[str, str]
) -> Collection[str]:
    """Return the stems of the identifiers that the page does not have as a whole."""
    text = f"{page.title}\n{page.snippet}".casefold()
    missing = [each for each in identifiers if each not in text]
    return {stem_of[word] for each in missing for word in words(each)}


def passage_scale(calibration: Calibration | None, *, is_dense: bool) -> Calibration:
    """Return the scale of passages: its place is their own, its medians are the model's.

    `is_dense` decides where no calibration is given.
    """
    if calibration is None:
        return MEANING if is_dense else WORDING
    if calibration.scale == "lexical":
        return WORDING
    return replace(MEANING, unrelated=calibration.unrelated, related=calibration.related)


def share_covered(
    terms: Sequence[Term], stems: AbstractSet[str], doubted: Collection[str] = ()
) -> float:
    """Return the share of the terms among the stems, weighed by rarity, 0-1; 0 without terms.

    A compound counts in part when its parts are there, or a compound of which it is a part.
    `doubted` are stems of which a match counts half.

    >>> terms = question_terms("Kündigungsfrist")
    >>> found = ({"kundigungsfrist"}, {"kundigung"}, {"tee"})
    >>> [round(share_covered(terms, stems), 2) for stems in found]
    [1.0, 0.48, 0.0]
    """
    whole = math.fsum(term.rarity for term in terms)
    joined = "\n".join(stems)
    found = math.fsum(
        term.rarity * _presence(term.stem, stems, joined) * (0.5 if term.stem in doubted else 1.0)
        for term in terms
    )
    return found / whole if whole else 0.0


def _presence(stem: str, stems: AbstractSet[str], joined: str) -> float:
    """Return 1 for a stem that is there, less where only parts of it are, 0-1.

    `joined` is all stems with something between them: most are no part of any.
    """
    if stem in stems:
        return 1.0
    if len(stem) < _SHORTEST_PART:
        return 0.0
    share, covered = 0.0, bytearray(len(stem))
    parts = _usual_parts(stem) if len(stem) <= _USUAL else _parts(stem)
    for part in parts & stems:
        place = stem.find(part)
        covered[place : place + len(part)] = b"\1" * len(part)
    if len(stem) > _SHORTEST_PART and stem in joined:
        share = len(stem) / min(len(other) for other in stems if stem in other)
    share = max(share, sum(covered) / len(stem))
    return _PART_WEIGHT * share if share >= _LEAST_PART else 0.0


def _parts(stem: str) -> frozenset[str]:
    """Return the strings of at least four characters that a stem has inside."""
    return frozenset(
        stem[start:end]
        for start in range(len(stem))
        for end in range(start + _SHORTEST_PART, len(stem) + 1)
        if end - start < len(stem)
    )


_usual_parts = lru_cache(maxsize=256)(_parts)
"""Caches those of the last stems: usually 1 MiB, 14 MiB if all have 40 characters."""
