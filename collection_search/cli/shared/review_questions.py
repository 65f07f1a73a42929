"""The questions of an interactive review."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ...errors import InputError
from ...text.counted import counted
from .review_decision import PENDING, build_decision, parse_choice, refused_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...contracts.review import Gate
    from .terminal import Screen


def is_interactive(screen: Screen) -> bool:
    """Return whether a person can be asked."""
    return not screen.as_json and sys.stdin.isatty() and sys.stdout.isatty()


def ask_decision(
    gate: Gate, visible: Sequence[int], screen: Screen, *, approver: str | None
) -> Mapping[str, Any]:
    """Return what the person decides; an empty first answer leaves the review open."""
    chosen = _ask_numbers(gate, visible, screen)
    if chosen is None:
        return PENDING
    added = _ask_urls(screen)
    comment = _ask("Comment (may be empty)")
    decision = build_decision(
        gate.candidates, chosen, added=added, comment=comment, approver=approver
    )
    by = f" as {decision['approver']}" if decision["approver"] else ""
    count = len(chosen) + len(added)
    task = f"Ingest {counted(count, 'page')}" if count else "Reject all"
    return decision if typer.confirm(f"{task}{by}?", default=True, err=True) else PENDING


def _ask_numbers(gate: Gate, visible: Sequence[int], screen: Screen) -> list[int] | None:
    while answer := _ask("Approve (numbers such as 1,3-5, all, none; empty: decide later)"):
        try:
            return parse_choice(
                answer,
                count=len(gate.candidates),
                visible=visible,
                refused=refused_numbers(gate.candidates),
            )
        except InputError as error:
            screen.note(str(error))
    return None


def _ask_urls(screen: Screen) -> list[str]:
    from ...text.urls import normalize_url

    urls: list[str] = []
    while answer := _ask("Add a URL (empty: no more)"):
        try:
            urls.append(normalize_url(answer))
        except InputError as error:
            screen.note(str(error))
    return urls


def _ask(question: str) -> str:
    answer: str = typer.prompt(question, default="", show_default=False, err=True)
    return answer.strip()
