"""The report of an evaluation."""

from __future__ import annotations

from dataclasses import replace

from collection_search.ranking.metrics import Interval
from collection_search.ranking.scoring import DENSE, LEXICAL
from collection_search.tools.evaluation.evaluation import Difference, Evaluation, Figures
from collection_search.tools.evaluation.report import Environment, format_findings

HALF = Interval(0.5, 0.4, 0.6)
WORDS = Figures("lexical, default", HALF, HALF, HALF, HALF, HALF, HALF, None, 5.25, 7.0)
ORDER = Figures("search order", HALF, HALF, HALF, HALF, None, None, None, 0.0, 0.0)
FOUND = Evaluation(
    dataset="small",
    split="test",
    pages=5,
    questions=4,
    questions_in_split=9,
    answerable=3,
    relevant_pages=6,
    relevant_pages_found=4,
    relevant_pages_unknown=0,
    off_topic_pools=12,
    model=None,
    embedded_texts=0,
    embedded_pages=0,
    input_tokens=0,
    cost_usd=0.0,
    calibration=None,
    methods=[WORDS, ORDER],
    differences=[Difference("lexical, default", "BM25", Interval(0.1, -0.05, 0.2))],
)
HERE = Environment("2026-11-21", "3.13.1", "Linux x86_64", 2, {"numpy": "2.4.6"})


def test_it_says_where_and_on_what() -> None:
    """Environment, sizes, how pools were made and how much they hold."""
    text = format_findings(FOUND, HERE)
    assert text.startswith("# Ranking of small\n\n2026-11-21; Python 3.13.1, numpy 2.4.6; Linux")
    assert "5 pages; 4 of the 9 questions of the split test" in text
    assert "pools of up to 40 pages (title and 240 characters), found by full text\n" in text
    assert "3 questions (75%) have a relevant page in their pool; 4 of 6 relevant pages" in text
    assert "not in the corpus" not in text
    assert "embedded" not in text


def test_the_tables_hold_every_figure() -> None:
    """Missing figures are a dash; a method without thresholds is not in their table."""
    ranking, differences, thresholds = format_findings(FOUND, HERE).split("\n## ")[1:]
    half = "0.500 [0.400, 0.600]"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ranking.splitlines()]
    assert ["lexical, default", half, half, half, half, "5.2 / 7.0"] in rows
    assert ["search order", half, "-", half, half, "0.0 / 0.0"] in rows
    assert "| lexical, default - BM25 | 0.100 [-0.050, 0.200] |" in differences
    assert f"| lexical, default | {half}" in thresholds
    assert "search order" not in thresholds


def test_a_model_is_told_with_its_price() -> None:
    """Altogether and for one rank of 40 pages; a price that is not known is not guessed."""
    dense = replace(
        FOUND,
        model="openai:m",
        embedded_texts=410,
        embedded_pages=400,
        cost_usd=0.001,
        calibration=replace(DENSE, unrelated=0.15, related=0.56),
    )
    text = format_findings(dense, HERE)
    assert "found by full text and nearness in turn" in text
    assert (
        "openai:m embedded 400 of the pages for $0.001000; one rank costs about $0.000100" in text
    )
    assert "median cosine 0.15 of unrelated and 0.56 of related pairs" in text
    unknown = format_findings(replace(dense, cost_usd=None, calibration=LEXICAL), HERE)
    assert "median cosine" not in unknown
    assert "openai:m embedded 400 of the pages; the price is not known" in unknown


def test_relevant_pages_outside_the_corpus_are_told() -> None:
    """They lower every figure."""
    assert "2 relevant pages are not in" in format_findings(
        replace(FOUND, relevant_pages_unknown=2), HERE
    )


def test_the_environment_is_that_of_this_process() -> None:
    """Versions of what figures depend on, in one line and without a path of this machine."""
    here = Environment()
    assert {"collection-search", "numpy", "PyStemmer", "SQLite"} == here.packages.keys()
    assert f"Python {here.python}" in here.line()
    assert "/" not in here.line()
