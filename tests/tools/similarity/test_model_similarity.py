"""Several embedders say together what one would say on their common scale."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.ranking.scoring import DENSE, LEXICAL, PageText, rank_pool, score_words
from collection_search.tools.similarity.model_similarity import (
    ModelSimilarity,
    join_similarities,
    total_embedding_cost,
    total_tokens,
)

PAGES = [
    PageText("Tasks", "How a task is cancelled.", "https://a.example/1"),
    PageText("Timeouts", "A task ends after a timeout.", "https://a.example/2"),
    PageText("Soup", "Boil the water.", "https://a.example/3"),
]
QUESTION = "How is a task cancelled?"
LOW = replace(DENSE, unrelated=0.1, related=0.5)
HIGH = replace(DENSE, unrelated=0.7, related=0.9)
REFUSED = replace(LEXICAL, reason="the model tells no German apart")
COSINES = st.lists(st.floats(-1, 1), min_size=3, max_size=3)


def scores(*members: ModelSimilarity) -> list[tuple[int, float]]:
    joined = join_similarities(members)
    ranked = rank_pool(
        score_words(QUESTION, PAGES),
        similarities=joined.similarities,
        calibration=joined.calibration,
        model=joined.model,
    )
    return [(one.index, one.embedding_rank_score) for one in ranked]


def failed(name: str) -> ModelSimilarity:
    return ModelSimilarity(name, [math.nan] * 3, error="down")


@given(COSINES)
def test_an_ensemble_of_one_is_the_model_alone(cosines: list[float]) -> None:
    """To the last digit, with its own scale and name."""
    joined = join_similarities([ModelSimilarity("a", cosines, LOW)])
    assert joined.similarities == cosines
    assert (joined.calibration, joined.model, joined.mean_cosines) == (LOW, "a", None)


@given(COSINES)
def test_a_model_beside_itself_changes_nothing(cosines: list[float]) -> None:
    """Nor beside the same model on another scale."""
    raised = [0.65 + cosine / 2 for cosine in cosines]
    alone = scores(ModelSimilarity("a", cosines, LOW))
    for other in (ModelSimilarity("b", cosines, LOW), ModelSimilarity("b", raised, HIGH)):
        together = scores(ModelSimilarity("a", cosines, LOW), other)
        assert dict(together) == pytest.approx(dict(alone), abs=0.011)


@given(COSINES, COSINES)
def test_the_mean_lies_between(one: list[float], other: list[float]) -> None:
    """Each page's score is between those of both models; their order does not matter."""
    first, second = ModelSimilarity("a", one, LOW), ModelSimilarity("b", other, HIGH)
    together, alone = dict(scores(first, second)), [dict(scores(first)), dict(scores(second))]
    assert dict(scores(second, first)) == pytest.approx(together, abs=0.011)
    for page, score in together.items():
        low, high = sorted(each[page] for each in alone)
        assert low - 0.011 <= score <= high + 0.011
    joined = join_similarities([first, second])
    means = [(a + b) / 2 for a, b in zip(one, other, strict=True)]
    assert joined.mean_cosines == pytest.approx(means)
    assert joined.model == "a + b"


def test_who_failed_or_cannot_tell_is_left_out() -> None:
    """And who was too dear to be asked, or has no scale."""
    good = ModelSimilarity("a", [0.5, 0.3, 0.1], LOW)
    others = [
        failed("b"),
        ModelSimilarity("c", [0.9, 0.1, 0.9], REFUSED),
        ModelSimilarity("d", error="too dear"),
        ModelSimilarity("e", [0.9, 0.1, 0.9], LEXICAL),
    ]
    joined = join_similarities([*others, good])
    assert (joined.model, joined.similarities) == ("a", good.cosines)
    assert [each.counts for each in [*others, good]] == [False] * 4 + [True]
    assert [each.is_degraded for each in [*others, good]] == [True, False, True, True, False]


def test_a_page_that_one_model_lacks_has_the_other_s_similarity() -> None:
    """A page that none has is NaN."""
    one = ModelSimilarity("a", [0.5, math.nan, math.nan], LOW)
    other = ModelSimilarity("b", [0.9, 0.7, math.nan], HIGH)
    found = join_similarities([one, other]).similarities
    assert found is not None
    assert found[:2] == pytest.approx([0.7, 0.4])  # related and unrelated on the common scale
    assert math.isnan(found[2])


def test_words_decide_where_no_model_can_tell() -> None:
    """With the reason; a failed one beside it changes nothing."""
    refused = ModelSimilarity("a", calibration=REFUSED)
    for members in ([refused], [failed("b"), refused]):
        joined = join_similarities(members)
        assert (joined.similarities, joined.model) == (None, "a")
        assert joined.calibration is not None
        assert joined.calibration.reason == REFUSED.reason
    words = [
        (one.index, one.embedding_rank_score) for one in rank_pool(score_words(QUESTION, PAGES))
    ]
    assert scores(refused) == words


def test_where_all_failed_no_page_has_a_similarity() -> None:
    """Where none was asked, words are compared."""
    joined = join_similarities([failed("a"), failed("b")])
    assert joined.similarities is not None
    assert all(map(math.isnan, joined.similarities))
    assert join_similarities([ModelSimilarity("a", error="too dear")]).similarities is None
    assert join_similarities([]).similarities is None


def test_raw_cosines_have_their_mean() -> None:
    """In the profile `literal`, which has no scale."""
    joined = join_similarities(
        [ModelSimilarity("a", [0.5, 0.1, 0.0]), ModelSimilarity("b", [0.7, 0.1, 0.2])]
    )
    assert joined.similarities == pytest.approx([0.6, 0.1, 0.1])
    assert joined.calibration is None


def test_tokens_and_costs_are_summed() -> None:
    """Unknown where one is."""
    known = [
        ModelSimilarity("a", input_tokens=3, cost_usd=0.1),
        ModelSimilarity("b", input_tokens=4, cost_usd=0.2),
    ]
    assert (total_tokens(known), total_embedding_cost(known)) == (7, 0.3)
    known.append(ModelSimilarity("c", input_tokens=None, cost_usd=None))
    assert (total_tokens(known), total_embedding_cost(known)) == (None, None)
