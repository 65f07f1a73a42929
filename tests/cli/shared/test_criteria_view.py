"""Verdicts of a run on the terminal, and the numbers that "all" leaves out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.decided_reviews import open_gate

from collection_search.cli.shared.criteria_view import format_criteria, verdict_rows
from collection_search.cli.shared.review_decision import parse_choice, refused_numbers
from collection_search.cli.shared.review_file import write_review
from collection_search.cli.shared.review_view import format_candidate
from collection_search.tools.criteria.verdicts import unjudged_verdicts, weigh_verdicts

if TYPE_CHECKING:
    from pathlib import Path


def candidate(*, refused: bool) -> Any:
    verdicts = unjudged_verdicts(["It names a price"], "The text does not tell. " * 8)
    unclear: Any = "refuse" if refused else "keep"
    return {
        "url": "https://a.example/t",
        "title": "Tea",
        "snippet": "Tea.",
        "is_pdf": False,
        "in_collection": False,
        "embedding_rank_score": 70.0,
        "heuristic_score": 50.0,
        "explanation": {},
        "criteria": weigh_verdicts(verdicts, judged="result", unclear=unclear),
    }


@pytest.mark.parametrize("width", [80, 120, None])
def test_reasons_fit_the_line(width: int | None) -> None:
    """However long they are."""
    rows = list(verdict_rows(candidate(refused=True), width=width))
    assert rows[0].strip() == "criteria: 1 unclear (by the search result)"
    assert rows[1].strip().startswith("refused: It is unclear whether it meets")
    assert max(map(len, rows)) <= (width or 80)


def test_a_candidate_says_that_it_is_refused() -> None:
    """In its mark and with the reason; one that is kept has its verdicts alone."""
    refused, kept = (
        "\n".join(format_candidate(1, candidate(refused=one), threshold=60, width=80))
        for one in (True, False)
    )
    assert "[refused by the criteria]" in refused
    assert "refused: " in refused
    assert "refused" not in kept
    assert "criteria: 1 unclear" in kept


def test_all_leaves_out_what_is_refused() -> None:
    """A number takes it nevertheless."""
    refused = refused_numbers([candidate(refused=one) for one in (False, True, False)])
    assert refused == {2}
    visible = [1, 2, 3]
    assert parse_choice("all", count=3, visible=visible, refused=refused) == [1, 3]
    assert parse_choice("2", count=3, visible=visible, refused=refused) == [2]


def test_a_run_without_criteria_shows_nothing() -> None:
    """No line, no blank one."""
    assert list(format_criteria({"telemetry": {"nodes": {}}, "results": []})) == []
    assert list(verdict_rows({"url": "https://a.example"}, width=80)) == []


def test_all_leaves_out_blocked_hosts(tmp_path: Path) -> None:
    """In a choice and in a file, whose decision would take them otherwise."""
    blocked = candidate(refused=False) | {
        "url": "https://spam.example/",
        "explanation": {"refused": "the host spam.example is blocked"},
    }
    pdf = candidate(refused=False) | {"url": "https://a.example/pdf", "is_pdf": True}
    shown = [candidate(refused=False), blocked, pdf]
    assert refused_numbers(shown) == {2}
    path = tmp_path / "review.json"
    write_review(path, open_gate("g1", shown), [1, 2], {})
    assert json.loads(path.read_text())["decision"]["approved_urls"] == ["https://a.example/t"]
