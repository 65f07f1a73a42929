"""Measures of a ranking, their intervals, thresholds and tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from collection_search.ranking.metrics import (
    Interval,
    Pool,
    best_score,
    bootstrap,
    by_bm25,
    by_cosine,
    by_score,
    by_search,
    derangement,
    format_table,
    ndcg,
    recall,
    reciprocal_rank,
)
from collection_search.ranking.scoring import DENSE, LEXICAL, PageText, rank

QUESTION = "How do I cancel a task?"
PAGES = [
    PageText("Tea", "How to brew green tea.", "https://a.example/tea"),
    PageText("Tasks", "How to cancel a running task.", "https://a.example/tasks"),
    PageText("Soup", "Potatoes and onions.", "https://a.example/soup"),
]
POOL = Pool(QUESTION, PAGES, [0, 1, 0], similarities=[0.9, 0.3, -0.1], places=[1, 2, 0])
EMPTY = Pool(QUESTION, [], [])


def scores(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_ndcg_weighs_grades_and_places() -> None:
    """Gains are 2**grade - 1, divided by log2(place + 1), against the best order."""
    reached = 1 + 3 / math.log2(3)
    possible = 3 + 1 / math.log2(3)
    assert ndcg(scores(2, 1, 0), [1, 2, 0]) == pytest.approx(reached / possible)
    assert ndcg(scores(1, 2, 0), [1, 2, 0]) == 1


def test_ndcg_ends_at_its_depth() -> None:
    """What comes behind counts nothing, and the best order is no longer than the depth."""
    assert ndcg(scores(2, 1), [0, 1], depth=1) == 0
    assert ndcg(scores(2, 1), [1, 1], depth=1) == 1


def test_missed_pages_lower_ndcg_and_recall() -> None:
    """A relevant page that the search did not find belongs to the best order and to the whole."""
    assert ndcg(scores(2, 1), [1, 0], missed=[1]) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert recall(scores(2, 1), [1, 0], missed=[1, 2, 1]) == 0.25


def test_recall_and_reciprocal_rank_look_at_the_first_pages_only() -> None:
    """A page behind the depth is not there; with a depth of 1 the latter is P@1."""
    grades = [0, 2, 1]
    assert recall(scores(3, 2, 1), grades, depth=2) == 0.5
    assert reciprocal_rank(scores(3, 2, 1), grades) == 0.5
    assert reciprocal_rank(scores(3, 2, 1), grades, depth=1) == 0
    assert reciprocal_rank(scores(2, 3, 1), grades, depth=1) == 1


@pytest.mark.parametrize("measure", [ndcg, recall, reciprocal_rank])
@pytest.mark.parametrize(("given", "grades"), [(scores(), []), (scores(2, 1), [0, 0])])
def test_without_a_relevant_page_every_measure_is_0(
    measure: object, given: np.ndarray, grades: list[int]
) -> None:
    """Also for a pool without a page; no division by zero."""
    assert measure(given, grades) == 0  # type: ignore[operator]


def test_equal_scores_keep_the_order_of_the_pool() -> None:
    """So that a shuffled pool gives a method no advantage."""
    assert reciprocal_rank(scores(1, 1, 1), [0, 0, 1]) == pytest.approx(1 / 3)


def test_by_score_is_the_ranking_of_the_package() -> None:
    """Scores in the order of the pool, by the calibration given; without one those of literal."""
    for calibration, dense, profile in (
        (LEXICAL, False, "default"),
        (None, False, "literal"),
        (DENSE, True, "default"),
        (None, True, "literal"),
    ):
        found = rank(
            QUESTION,
            PAGES,
            similarities=POOL.similarities if dense else None,
            profile=profile,  # type: ignore[arg-type]
        )
        expected = {each.index: each.embedding_rank_score for each in found}
        given = by_score(calibration, dense=dense)(POOL)
        assert dict(enumerate(given)) == expected


def test_the_rivals() -> None:
    """BM25 sees shared words only, the cosine is the model's, the search has its own order."""
    words = by_bm25(POOL)
    assert words[1] > 0
    assert list(words[[0, 2]]) == [0, 0]
    assert list(by_cosine(POOL)) == pytest.approx([90, 30, -10])
    assert list(np.argsort(-by_search(POOL))) == [2, 0, 1]


def test_bm25_stems_in_the_language_of_the_question() -> None:
    """A German plural is found by its singular."""
    pages = [PageText("", "Die Häuser der Stadt", ""), PageText("", "Der Tee in der Kanne", "")]
    found = by_bm25(Pool("Wo steht das Haus?", pages, [1, 0]))
    assert found[0] > found[1] == 0


@pytest.mark.parametrize(
    "method", [by_score(LEXICAL, dense=False), by_score(None, dense=True), by_bm25, by_search]
)
def test_an_empty_pool_has_no_scores(method: object) -> None:
    """Nothing was found: no score, and a best one that passes no threshold."""
    found = method(EMPTY)  # type: ignore[operator]
    assert found.shape == (0,)
    assert best_score(found) == -math.inf


@pytest.mark.slow
def test_the_interval_is_that_of_the_mean() -> None:
    """For a share of one half among 400 questions: 1.96 standard errors to either side."""
    found = bootstrap(np.tile([0.0, 1.0], 200))
    assert found.mean == 0.5
    assert found.low == pytest.approx(0.451, abs=0.005)
    assert found.high == pytest.approx(0.549, abs=0.005)
    assert bootstrap(np.tile([0.0, 1.0], 200)) == found


@pytest.mark.slow
def test_sets_weigh_the_same_whatever_their_size() -> None:
    """The mean over the sets, not over all questions together."""
    assert bootstrap(np.zeros(90), np.ones(10)) == Interval(0.5, 0.5, 0.5)


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("seed", range(5))
def test_a_derangement_leaves_nothing_in_its_place(n: int, seed: int) -> None:
    """Every question meets the pool of another one, and every pool is met once."""
    found = derangement(n, seed)
    assert sorted(found) == list(range(n))
    assert all(place != other for place, other in enumerate(found))


def test_a_table_lines_up_in_a_terminal_too() -> None:
    """All lines are equally long, and Markdown reads them as a table."""
    lines = format_table(["a", "b"], [["a long cell", "1"], ["x", "2"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1] == "| ----------- | --- |"
