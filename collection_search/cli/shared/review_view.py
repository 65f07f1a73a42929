"""Reviews as text: the list of open ones, and the candidates of one."""

from __future__ import annotations

import textwrap
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ...ranking.preferences import refusal_of
from ...ranking.score_text import format_score
from ...text.counted import counted
from ...text.timestamps import iso_time
from ...tools.criteria.refused_pages import is_refused
from .criteria_view import verdict_rows
from .run_summary import judged_line
from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...contracts.review import Gate, ReviewCandidate

_INDENT: Final = " " * 5
TITLE_COLUMN: Final = 12
"""Columns before a candidate's title."""
_LEAST_WIDTH: Final = 40
_REASON_LINES: Final = 4
_SNIPPET_LINES: Final = 2
_POLICIES: Final = {
    "approve": "then what reaches the threshold is approved",
    "reject": "then it is rejected",
    "keep_pending": "it stays open after that",
}
_HOSTS: Final = {"process": "on this machine", "server": "on a LangGraph server"}


def list_review(gate: Gate) -> dict[str, Any]:
    """Return a review as one JSON-plain row of the list."""
    return {
        "gate_id": gate.gate_id,
        "question": gate.question,
        "collection": gate.collection,
        "round": gate.round,
        "candidate_count": len(gate.candidates),
        "deadline": iso_time(gate.deadline),
        "deadline_policy": gate.policy,
        "is_overdue": gate.is_overdue(time.time()),
        "host": gate.host,
        "thread_id": gate.thread_id,
    }


def format_reviews(gates: Sequence[Gate]) -> Iterator[str]:
    """Yield three lines for each open review: its id, its question, until when it is open."""
    for gate in gates:
        candidates = counted(len(gate.candidates), "candidate")
        in_round = f", round {gate.round}" if gate.round > 1 else ""
        yield f"{gate.gate_id}  {gate.collection}, {candidates}{in_round} ({_HOSTS[gate.host]})"
        yield f"  {gate.question}"
        yield f"  {format_deadline(gate)}"


def format_deadline(gate: Gate) -> str:
    """Return until when an open review can be decided, and what happens then."""
    until = f"{datetime.fromtimestamp(gate.deadline, UTC):%Y-%m-%d %H:%M} UTC"
    if gate.is_overdue(time.time()):
        return f"overdue since {until}: the policy {gate.policy} decides at the next sweep"
    return f"open until {until}, {_POLICIES[gate.policy]}"


def format_candidate(
    number: int, candidate: ReviewCandidate, *, threshold: float, width: int
) -> Iterator[str]:
    """Yield a candidate's number, score, title and marks, then its address, reasons and snippet."""
    score = candidate["embedding_rank_score"]
    marks = [
        mark
        for mark, is_set in (
            ("PDF", candidate["is_pdf"]),
            ("already in collection", candidate["in_collection"]),
            ("below threshold", score < threshold),
            ("host blocked", bool(refusal_of(candidate))),
            ("refused by the criteria", is_refused(candidate)),
        )
        if is_set
    ]
    shown = format_score(score, beside=threshold)
    yield f"{number:>3}  {shown:>5}  {candidate['title']}" + "".join(
        f"  [{mark}]" for mark in marks
    )
    yield _INDENT + candidate["url"]
    yield from _wrapped(candidate["explanation"].get("sentence", ""), width, _REASON_LINES)
    room = max(width, _LEAST_WIDTH) - len(_INDENT)
    yield from (_INDENT + line for line in judged_line(candidate, room))
    yield from verdict_rows(candidate, width=width)
    yield from _wrapped(candidate["snippet"], width, _SNIPPET_LINES)


def _wrapped(text: str, width: int, lines: int) -> Iterator[str]:
    room = max(width, _LEAST_WIDTH) - len(_INDENT)
    for line in textwrap.wrap(printable(text), room, max_lines=lines, placeholder=" …"):
        yield _INDENT + line
