"""The report of an evaluation, and its picture."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from collection_search.ranking.metrics import Interval
from collection_search.ranking.scoring import DENSE, LEXICAL
from collection_search.tools.evaluation.findings import Difference, Evaluation, Figures
from collection_search.tools.evaluation.report import Environment, build_report, draw_curves
from collection_search.tools.evaluation.selection_findings import (
    ReliabilityBand,
    SelectionFindings,
    TradeOffPoint,
)

HALF = Interval(0.5, 0.4, 0.6)
GATE = SelectionFindings(
    ingested=9,
    precision=HALF,
    recall=HALF,
    served=HALF,
    empty_pools=0,
    empty_let_through=None,
    off_topic_let_through=Interval(0.25, 0.2, 0.3),
    bands=[ReliabilityBand(60.0, 70.0, 10, 5, HALF)],
    trade_off=[TradeOffPoint(60, 0.5, 0.75), TradeOffPoint(95, None, 0.0)],
)
WORDS = Figures("lexical, default", HALF, HALF, HALF, HALF, HALF, GATE, 5.25, 7.0)
ORDER = Figures("search order", HALF, HALF, HALF, HALF, None, None, 0.0, 0.0)
FOUND = Evaluation(
    dataset="small",
    split="test",
    pages=5,
    questions=4,
    questions_in_split=9,
    has_given_pools=False,
    answerable=3,
    relevant_pages=6,
    relevant_pages_found=4,
    relevant_pages_unknown=0,
    unjudged_pages=0,
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


def markdown(found: Evaluation) -> str:
    return build_report(found, HERE).to_markdown()


def test_it_says_where_and_on_what() -> None:
    """Environment, sizes, how pools were made and how much they hold."""
    text = markdown(FOUND)
    assert text.startswith("# Ranking of small\n\n- 2026-11-21; Python 3.13.1, numpy 2.4.6; Linux")
    assert "5 pages; 4 of the 9 questions judged in test\n" in text
    assert "pools of up to 40 pages (title and 240 characters), found by full text\n" in text
    assert "3 questions (75%) have a relevant page in their pool; 4 of 6 relevant pages" in text
    assert "1 searches came back empty-handed" in text
    assert "not in the corpus" not in text
    assert "no judgement" not in text
    assert "embedded" not in text


def test_given_pools_are_told_as_such() -> None:
    """With the pages that nobody has judged."""
    text = markdown(replace(FOUND, has_given_pools=True, unjudged_pages=7))
    assert "- given pools: nothing was searched\n" in text
    assert "7 pages have no judgement and count as not relevant" in text
    assert "full text" not in text.partition("## Order")[0]


def test_the_tables_hold_every_figure() -> None:
    """Missing figures are a dash; a method without thresholds is in the first table only."""
    order, differences, ingested, reliability = markdown(FOUND).split("\n## ")[1:]
    half = "0.500 [0.400, 0.600]"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in order.splitlines()]
    assert ["lexical, default", half, half, half, half, "5.2 / 7.0"] in rows
    assert ["search order", half, "-", half, half, "0.0 / 0.0"] in rows
    assert "| lexical, default - BM25 | 0.100 [-0.050, 0.200] |" in differences
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in ingested.splitlines()]
    assert ["lexical, default", half, half, half, "-", "0.250 [0.200, 0.300]", "9"] in rows
    assert "search order" not in ingested
    assert reliability.startswith("Reliability: lexical, default\n")
    assert f"| 60-70 | 10    | 5        | {half} |" in reliability


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
    text = markdown(dense)
    assert "found by full text and nearness in turn" in text
    assert (
        "openai:m embedded 400 of the pages for $0.001000; one rank costs about $0.000100" in text
    )
    assert "median cosine 0.15 of unrelated and 0.56 of related pairs" in text
    unknown = markdown(replace(dense, cost_usd=None, calibration=LEXICAL))
    assert "median cosine" not in unknown
    assert "openai:m embedded 400 of the pages; the price is not known" in unknown
    assert "openai:m embedded 400 of the pages\n" in markdown(replace(dense, cost_usd=0.0))


def test_the_picture_shows_both_curves() -> None:
    """Bands with their intervals, thresholds with a precision; a method without a gate is absent."""
    picture = ET.fromstring(draw_curves(FOUND))
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Reliability", "Precision and recall at thresholds", "lexical, default", "60"} <= {
        *texts
    }
    assert "95" not in texts
    assert "search order" not in texts


def test_a_bar_in_a_name_ends_no_cell() -> None:
    """Neither does a line end."""
    text = markdown(replace(FOUND, methods=[replace(WORDS, method="a|b\nc")]))
    assert "| a\\|b c |" in text
