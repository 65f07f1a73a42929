"""Pages that criteria or rules refuse: only a person takes them, and that is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import QualityThresholdError
from ...ranking.preferences import refusal_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...contracts.state import RankedResult


def is_refused(page: Mapping[str, Any]) -> bool:
    """Return whether the criteria refuse a result or candidate; False without criteria.

    >>> is_refused({"criteria": {"refused": True}}), is_refused({"url": "https://a.example"})
    (True, False)
    """
    return bool((page.get("criteria") or {}).get("refused"))


def reason_against(page: Mapping[str, Any]) -> str:
    """Return why a result or candidate is not taken unless a person names it; blank if it may be.

    The run's criteria refuse it, or the tenant's own rules do.

    >>> reason_against({"criteria": {"refused": True, "reason": "It names no price."}})
    'It names no price.'
    >>> reason_against({"explanation": {"refused": "the host spam.example is blocked"}})
    'the host spam.example is blocked'
    >>> reason_against({"criteria": {"refused": False, "reason": ""}, "explanation": {}})
    ''
    """
    if is_refused(page):
        return str(page["criteria"].get("reason") or "the criteria refuse it")
    return refusal_of(page)


def eligible_positions(results: Sequence[RankedResult]) -> list[int]:
    """Return the positions of the results that neither the criteria nor the rules refuse.

    Raises QualityThresholdError where they refuse all of them.
    """
    eligible = [n for n, result in enumerate(results) if not reason_against(result)]
    if results and not eligible:
        raise QualityThresholdError(
            f"{_refusing(results)} refuse all {len(results)} results. The best one:"
            f" {reason_against(results[0]).rstrip('.')}. Change what refuses them, ask more"
            " precisely, or choose the pages by hand."
        )
    return eligible


def refusal_provenance(result: RankedResult, *, approved_by: str) -> dict[str, Any]:
    """Return the verdicts and the refusal by rules as the page's provenance keeps them.

    Nothing where there is neither. Only a person takes a refused page: its provenance names who.
    """
    overruled = {"overruled_by": approved_by}
    facts: dict[str, Any] = {}
    if (criteria := result.get("criteria")) is not None:
        facts["criteria"] = {**criteria, **(overruled if criteria["refused"] else {})}
    if refused := refusal_of(result):
        facts["rules"] = {"refused": refused, **overruled}
    return facts


def _refusing(results: Sequence[RankedResult]) -> str:
    by_criteria = [is_refused(result) for result in results]
    if all(by_criteria):
        return "the criteria"
    return "the criteria and the rules" if any(by_criteria) else "the rules"
