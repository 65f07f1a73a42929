"""A decision about a review, from the words of a command line."""

from __future__ import annotations

import getpass
import re
from typing import TYPE_CHECKING, Any, Final

from ...errors import InputError
from ...tools.criteria.refused_pages import reason_against

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...contracts.review import ReviewCandidate

PENDING: Final[Mapping[str, Any]] = {"status": "pending"}
_RANGE: Final = re.compile(r"(\d+)(?:\s*-\s*(\d+))?", re.ASCII)


def visible_numbers(candidates: Sequence[ReviewCandidate], *, pdf: bool | None) -> list[int]:
    """Return the numbers, from 1, of the candidates that are shown: PDFs, others, or all."""
    numbered = enumerate(candidates, start=1)
    return [number for number, one in numbered if pdf is None or one["is_pdf"] is pdf]


def refused_numbers(candidates: Sequence[ReviewCandidate]) -> set[int]:
    """Return the numbers, from 1, of the candidates that criteria or rules refuse."""
    return {number for number, one in enumerate(candidates, start=1) if reason_against(one)}


def parse_choice(
    text: str, *, count: int, visible: Sequence[int], refused: Collection[int] = ()
) -> list[int]:
    """Return the chosen numbers of `count` candidates, ascending.

    `all` are the `visible` ones without those that are `refused`, which only their numbers choose.
    Raises InputError, also for a number that is not visible.

    >>> parse_choice("1, 3-4", count=5, visible=[1, 2, 3, 4, 5])
    [1, 3, 4]
    >>> parse_choice("all", count=5, visible=[2, 5]), parse_choice("none", count=5, visible=[])
    ([2, 5], [])
    """
    parts = [part.strip() for part in text.lower().split(",")]
    if parts == ["none"]:
        return []
    if parts == ["all"]:
        require_visible(visible)
        return [number for number in visible if number not in refused]
    chosen: set[int] = set()
    for part in parts:
        chosen.update(_parse_numbers(part, count))
    if hidden := sorted(chosen.difference(visible)):
        named = ", ".join(map(str, hidden))
        raise InputError(f"Not shown because of --pdf or --no-pdf: {named}. Leave the option out.")
    return sorted(chosen)


def require_visible(visible: Sequence[int]) -> None:
    """Raise InputError where no candidate is shown."""
    if not visible:
        raise InputError("No candidate is shown: leave out --pdf or --no-pdf, or use --reject.")


def _parse_numbers(part: str, count: int) -> range:
    """Return the numbers of `4` or `3-5`. Raises InputError."""
    if not part:
        raise InputError("A number is missing: give all, none, or numbers such as 1,3-5.")
    if part in ("all", "none"):
        raise InputError(f"{part!r} stands alone: give all, none, or numbers such as 1,3-5.")
    if not (match := _RANGE.fullmatch(part)):
        raise InputError(f"{part!r} is no number: give all, none, or numbers such as 1,3-5.")
    first, last = int(match[1]), int(match[2] or match[1])
    if not (1 <= first <= count and 1 <= last <= count):
        raise InputError(f"{part!r} is not possible: the candidates are 1 to {count}.")
    if first > last:
        raise InputError(f"{part!r} is in the wrong order: write {last}-{first}.")
    return range(first, last + 1)


def build_decision(
    candidates: Sequence[ReviewCandidate],
    chosen: Sequence[int],
    *,
    added: Sequence[str] = (),
    comment: str | None = None,
    approver: str | None = None,
) -> dict[str, Any]:
    """Return the decision that ingests the chosen numbers and the added pages, and no others."""
    status = "partial"
    if not chosen and not added:
        status = "rejected"
    elif len(chosen) == len(candidates) and candidates:
        status = "approved"
    return {
        "status": status,
        "approved_urls": [candidates[number - 1]["url"] for number in chosen],
        "added_urls": list(added),
        "comment": comment or None,
        "approver": approver or login_name(),
    }


def login_name() -> str | None:
    """Return the name of the user of this machine, None where the system has none."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # which one depends on system and version
        return None
