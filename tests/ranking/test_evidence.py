"""Evidence tells a passage that answers from one that merely shares the subject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.contracts.collection import Passage
from collection_search.ranking.evidence import (
    BY_MEANING,
    BY_MODEL,
    BY_WORDS,
    EvidenceParts,
    EvidenceWeights,
    answering,
    evidence_level,
    measure_evidence,
    share_covered,
)
from collection_search.ranking.heuristics import PageText
from collection_search.ranking.lexicon import question_terms
from collection_search.ranking.scoring import DENSE, LEXICAL

SHARES = st.floats(0, 1)
TEXTS = st.text("abcdefgh ÄÖÜß.-_", max_size=60)
NETWORK = PageText(
    "Networks of containers",
    "A container that is attached to a network of its own finds others by their names. The bridge"
    " that Docker creates by itself does not resolve names.",
    "https://docs.example/network",
)
HEALTH = PageText(
    "Health checks of containers",
    "Docker runs the command of HEALTHCHECK inside the container and calls it unhealthy after three"
    " failures in a row. The interval is thirty seconds by default.",
    "https://docs.example/health",
)


def passage(score: float, evidence: float | None) -> Passage:
    return Passage(n=1, url="", title="", text="", score=score, evidence=evidence)


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("How often does Docker run a health check?", HEALTH),
        ("HEALTHCHECK", HEALTH),
        ("Docker healthcheck interval default", HEALTH),
        ("docker container name resolution network", NETWORK),
    ],
)
def test_a_page_of_the_same_subject_is_no_answer(question: str, right: PageText) -> None:
    """What both say of Docker and containers answers neither question."""
    wrong = NETWORK if right is HEALTH else HEALTH
    found = dict(zip((right, wrong), measure_evidence(question, [right, wrong]), strict=True))
    assert found[right] >= evidence_level() > found[wrong]
    assert measure_evidence(question, [wrong])[0] < evidence_level()


def test_one_word_is_enough_of_a_question() -> None:
    """Its only word is there or is not."""
    there, missing = measure_evidence("max_slot_wal_keep_size", [
        PageText("Slots", "The setting max_slot_wal_keep_size bounds the log.", ""),
        PageText("Slots", "A slot keeps segments of the log.", ""),
    ])  # fmt: skip
    assert there >= evidence_level() > missing


def test_german_words_are_found_by_stem_and_in_compounds() -> None:
    """Inflected, or with its parts in the text."""
    page = PageText("Fristen", "Die gesetzlichen Fristen einer Kündigung betragen vier Wochen.", "")
    for question in ("Welche Frist gilt bei einer Kündigung?", "gesetzliche Kündigungsfristen"):
        assert measure_evidence(question, [page])[0] >= evidence_level()


def test_a_model_finds_an_answer_in_another_language() -> None:
    """Words cannot tell there; in the question's own language a near cosine alone is no answer."""
    question = "How long is the notice period?"
    german = PageText("", "Die gesetzliche Frist einer Kündigung beträgt vier Wochen.", "")
    english = PageText("", "Employees who leave are paid for the days that remain.", "")
    found = measure_evidence(
        question, [german, english], similarities=[0.6, 0.6], calibration=DENSE
    )
    assert found[0] >= evidence_level() > found[1]
    assert measure_evidence(question, [german])[0] < evidence_level()


def test_words_decide_where_the_scale_of_a_model_is_lost() -> None:
    """As in the score."""
    pages = [HEALTH, NETWORK]
    question = "Docker healthcheck"
    lost = measure_evidence(question, pages, similarities=[0.9, 0.9], calibration=LEXICAL)
    assert lost == measure_evidence(question, pages)


def test_a_question_of_common_words_alone_has_evidence() -> None:
    """Stop words are its terms, then."""
    assert 0 <= measure_evidence("what is it", [HEALTH])[0] <= 100


def test_answering_keeps_the_order_and_the_border() -> None:
    """At the level is enough; without evidence the score decides."""
    level = evidence_level()
    found = [passage(90, level - 0.01), passage(10, level), passage(level, None), passage(49, None)]
    assert answering(found) == [found[1], found[2]]
    assert answering([]) == []


@given(st.lists(st.tuples(SHARES, st.none() | SHARES)))
def test_answering_returns_a_part_in_order(rows: list[tuple[float, float | None]]) -> None:
    """Again asked, it keeps all."""
    found = [passage(100 * score, None if e is None else 100 * e) for score, e in rows]
    kept = answering(found)
    places = iter(found)
    assert all(any(one is each for each in places) for one in kept)
    assert answering(kept) == kept


@given(st.sampled_from([BY_WORDS, BY_MODEL, BY_MEANING]), SHARES, SHARES, SHARES, SHARES)
def test_evidence_grows_with_each_part(
    weights: EvidenceWeights, coverage: float, wording: float, meaning: float, more: float
) -> None:
    """And stays within 0 and 100."""
    parts = EvidenceParts(coverage, wording, meaning)
    before = weights.evidence(parts)
    assert 0 <= before <= 100
    for name, share in parts._asdict().items():
        assert weights.evidence(parts._replace(**{name: max(share, more)})) >= before


@given(TEXTS, st.frozensets(st.text("abcdefgh", min_size=1, max_size=12), max_size=8))
def test_coverage_is_a_share_and_grows_with_the_text(question: str, stems: frozenset[str]) -> None:
    """All of the question's stems make it 1."""
    terms = question_terms(question)
    share = share_covered(terms, stems)
    assert 0 <= share <= share_covered(terms, stems | {"abcdefgh"}) + 1e-9 <= 1 + 2e-9
    whole = share_covered(terms, stems | {term.stem for term in terms})
    assert whole == pytest.approx(1.0 if terms else 0.0)


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_any_text_has_evidence(question: str, texts: list[str]) -> None:
    """One number per passage, whatever it says."""
    found = measure_evidence(question, [PageText("", text, "") for text in texts])
    assert len(found) == len(texts)
    assert all(0 <= one <= 100 for one in found)
