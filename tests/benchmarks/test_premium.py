"""The premium benchmark's judge is as good as it says, and its figures count what they name."""

from __future__ import annotations

import math

import pytest
from support.benchmark_modules import benchmark

from collection_search.planning.quality import QUALITY
from collection_search.ports import JudgedPage

premium = benchmark("premium")
PAGE = JudgedPage("t", "x", "https://a.example/")


def ranked(*pages: tuple[float, bool]) -> object:
    scores, relevant = zip(*pages, strict=True)
    return premium.Ranked("Q", [PAGE] * len(pages), scores, relevant, sum(relevant))


@pytest.mark.parametrize("right", [0.0, 0.7, 1.0])
def test_the_judge_is_right_with_its_probability(right: float) -> None:
    """About relevant and other pages alike; it uses all four grades."""
    judge, hits, grades = premium.ScriptedJudge(right), 0, set()
    band = QUALITY["premium"].judged_band
    assert band is not None
    one = ranked(*[(60.0, n % 2 == 0) for n in range(band.max_pages)])
    for _ in range(200):
        given = judge.grades(one)
        assert len(given) == band.max_pages
        grades |= set(map(int, given.values()))
        hits += sum((grade >= 2) == one.relevant[place] for place, grade in given.items())  # type: ignore[attr-defined]
    assert hits / (200 * band.max_pages) == pytest.approx(right, abs=0.03)
    assert grades == {0, 1, 2, 3}


def test_the_figures_follow_the_products_rule() -> None:
    """Nobody: two pages pass at 50, one of them relevant. A perfect judge corrects both."""
    own = [ranked((62.0, False), (51.0, True), (46.0, True)), ranked((55.0, False))]
    nobody = premium.Figures.of(premium.ScriptedJudge(None), own, own[1:])
    assert (nobody.precision, nobody.recall, nobody.served) == (0.25, 0.5, 1.0)
    assert (nobody.empty, nobody.off_topic) == (1.0, 1.0)
    perfect = premium.Figures.of(premium.ScriptedJudge(1.0), own, own[1:])
    assert (perfect.precision, perfect.recall, perfect.served) == (1.0, 1.0, 1.0)
    assert (perfect.empty, perfect.off_topic) == (0.0, 0.0)


def test_a_figure_that_nothing_counts_for_is_a_dash() -> None:
    """A set without an empty-handed question has no share of them."""
    figures = premium.Figures.of(premium.ScriptedJudge(1.0), [ranked((90.0, True))], [])
    assert math.isnan(figures.empty)
    assert figures.cells() == ["1.000", "1.000", "1.000", "-", "-"]
