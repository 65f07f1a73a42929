"""What the anchors say of a model, per language."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.errors import ModelError
from collection_search.ranking.anchors import anchor_texts
from collection_search.ranking.model_scale import (
    MIN_SEPARATION,
    ModelScale,
    Separation,
    measure_scale,
    roc_auc,
)
from collection_search.ranking.scoring import LEXICAL
from collection_search.testing import ScriptedEmbedder

SURE = Separation(1.0, MIN_SEPARATION)
UNSURE = Separation(0.99, MIN_SEPARATION - 0.01)
FINITE = st.floats(-1, 1)


def spread(unrelated: float, related: float) -> np.ndarray:
    """Return vectors of the anchors whose cosines are these for every pair of either kind."""
    vectors = np.zeros((128, 129), np.float32)
    for start in (0, 64):
        for n in range(32):
            question, page = vectors[start + n], vectors[start + 32 + n]
            question[start + n], page[start + n] = 1, related - unrelated
            question[-1], page[-1] = 1, unrelated
    return vectors


def test_medians_are_of_own_and_other_pages_of_a_language() -> None:
    """Each language counts the same, whatever its cosines."""
    vectors = spread(0.25, 0.75)
    found = measure_scale(vectors)
    assert (found.unrelated, found.related) == (0.25, 0.75)
    vectors[64:96] *= 0.5
    found = measure_scale(vectors)
    assert (found.unrelated, found.related) == (0.1875, 0.5625)
    assert set(found.separations.values()) == {Separation(1.0, 99.0)}


def test_a_random_model_separates_nothing() -> None:
    """Its AUC is near one half, its distance near 0, whatever the other language does."""
    vectors = np.random.default_rng(1).standard_normal((128, 256))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[:64] = np.pad(spread(0.1, 0.6)[:64], ((0, 0), (0, 127)))
    found = measure_scale(vectors)
    assert found.can_tell("english")
    assert not found.can_tell("german")
    assert found.separations["german"].auc == pytest.approx(0.5, abs=0.15)
    assert found.separations["german"].distance < 1


@pytest.mark.parametrize("count", [0, 127, 129])
def test_vectors_of_other_texts_are_refused(count: int) -> None:
    """None can be missing, none can be too many."""
    with pytest.raises(ModelError, match=f"128 .* {count}"):
        measure_scale(np.ones((count, 2), np.float32))


@pytest.mark.parametrize(
    ("medians", "useful"),
    [((0.1, 0.5), True), ((-0.2, 0.1), True), ((0.5, 0.5), False), ((0.5, math.nan), False)],
)
def test_medians_have_to_be_apart(medians: tuple[float, float], useful: bool) -> None:
    """Else dividing by their distance would make any score."""
    scale = ModelScale(*medians, {"english": SURE, "german": SURE})
    assert scale.tells_apart is useful
    assert scale.can_tell("german") is useful


def test_the_language_of_the_question_decides() -> None:
    """At the line a model is used, below it is not, and the reason names the language."""
    scale = ModelScale(0.1, 0.6, {"english": UNSURE, "german": SURE})
    assert scale.calibration_for("Wie breche ich eine Aufgabe ab?") == scale.dense
    refused = scale.calibration_for("How do I cancel a task?")
    assert refused == LEXICAL
    assert (
        refused.reason
        == "the model tells related from unrelated English texts no better than words do"
    )


def test_hashed_words_are_no_model() -> None:
    """They find pages no better than words do: the double says so where a test asks for it."""
    vectors = asyncio.run(ScriptedEmbedder(tells=()).embed(anchor_texts())).vectors
    found = measure_scale(vectors)
    assert not any(map(found.can_tell, ("english", "german")))


@given(st.lists(FINITE, min_size=1), st.lists(FINITE, min_size=1))
def test_the_auc_counts_pairs(higher: list[float], lower: list[float]) -> None:
    """Those in order, and half of the ties."""
    wins = sum((a > b) + 0.5 * (a == b) for a in higher for b in lower)
    found = roc_auc(np.array(higher), np.array(lower))
    assert found == pytest.approx(wins / len(higher) / len(lower))
    assert roc_auc(np.array(lower), np.array(higher)) == pytest.approx(1 - found)
