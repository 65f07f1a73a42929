"""What is said of a decided review, and its exit code."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.cli.shared.exit_codes import ExitCode
from collection_search.cli.shared.review_outcome import (
    format_outcome,
    review_steps,
    review_verdict,
)

REVIEW = {
    "gate_id": "g",
    "status": "partial",
    "approved_urls": ["https://a.example/"],
    "added_urls": [],
    "approver": "ann",
    "decided_by": "person",
    "comment": None,
}
RECEIPT = {"ticket": "t", "count": 3, "collection": "tea", "error": None}
UNSTORED = {"url": "https://b.example/", "title": "", "state": "failed", "reason": "gone"}


def ingested(stored: int, failed: int = 0, pending: int = 0) -> dict[str, Any]:
    unstored = [UNSTORED] * failed
    counts = {"stored": stored, "failed": failed, "pending": pending, "count": 3}
    return {**counts, "ticket": "t", "unstored": unstored}


def output(ingestion: dict[str, Any] | None, *, gaps: tuple[str, ...] = (), **more: Any) -> Any:
    queries = [{"query": "Which tea?", "answered": True}]
    queries += [{"query": gap, "answered": False} for gap in gaps]
    return {
        "outcome": "coverage_incomplete" if gaps else "coverage_verified",
        "question": "Which tea?",
        "search": {"errors": []},
        "flags": [],
        "review": REVIEW,
        "ingestion": RECEIPT,
        "coverage": {"ingestion": ingestion, "queries": queries, "gaps": list(gaps)},
        "request": None,
    } | more


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (output(ingested(3)), ExitCode.DONE),
        (output(ingested(2, failed=1)), ExitCode.INGESTION_FAILED),
        (output(ingested(2, pending=1)), ExitCode.INGESTION_FAILED),
        (output(ingested(3), gaps=("green tea",)), ExitCode.NOTHING_FOUND),
        (output(ingested(2, failed=1), gaps=("green tea",)), ExitCode.INGESTION_FAILED),
        (
            output(ingested(2, failed=1), request={"gate_id": "g2", "round": 2}),
            ExitCode.DONE,
        ),
        (
            output(None) | {"outcome": "review_rejected", "coverage": None, "ingestion": None},
            ExitCode.DONE,
        ),
    ],
)
def test_the_exit_code(ended: Any, code: ExitCode) -> None:
    """5 for pages that are missing, 3 for gaps, 0 for a rejection and for a further review."""
    found, complaint = review_verdict(ended, fetches=True)
    assert found == code
    assert (complaint is None) == (code == ExitCode.DONE)


def test_the_summary() -> None:
    """The decision in force, the pages with the reasons of those that failed, and the gaps."""
    lines = list(format_outcome(output(ingested(2, failed=1), gaps=("green tea",)), width=60))
    assert lines == [
        "Decision: partial by ann: 1 candidate approved",
        "Collection tea: 2 of 3 pages stored, 1 failed",
        "pages  why, what to do, and where",
        "-----  ---------------------------------------------------",
        "    1  the page is gone",
        "       Look for its new address and add that.",
        "       https://b.example/",
        "Coverage: 1 of 2 queries answered",
        "  gap: green tea",
    ]


@pytest.mark.parametrize(
    ("ended", "options", "command"),
    [
        (
            output(ingested(3)),
            {"tenant": "acme"},
            "ask 'Which tea?' --collection tea --tenant acme",
        ),
        (output(ingested(3)), {"server": "http://a.example"}, None),
        (output(ingested(0, failed=3)), {}, None),
        (
            output(ingested(0, failed=3), request={"gate_id": "g2", "round": 2}),
            {"provider": "brave"},
            "review g2 --provider brave",
        ),
    ],
)
def test_the_next_command(ended: Any, options: dict[str, str], command: str | None) -> None:
    """The next review comes before a question; an empty collection is not asked."""
    steps = list(review_steps(ended, collection="tea", options=options))
    assert steps[1:] == ([f"  collection-search {command}"] if command else [])
