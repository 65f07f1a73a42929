"""The criteria of a run as text: what their judgement took, and the verdicts of each page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from ...text.counted import counted
from ...text.money import round_usd
from .terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_INDENT: Final = " " * 5
_NODE: Final = "k_check_criteria"
_WIDTH: Final = 80


def format_criteria(output: Mapping[str, Any]) -> Iterator[str]:
    """Yield the criteria and what their judgement took; nothing for a run without any."""
    if (facts := output["telemetry"]["nodes"].get(_NODE)) is None:
        return
    by = f", judged by {facts['model']}" if facts["model"] else ""
    yield f"Criteria{by}:"
    yield from list_criteria(output["results"])
    yield f"  {format_judgement(facts)}"


def list_criteria(pages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the numbered criteria of results or candidates; nothing without any."""
    judged = next((page["criteria"]["verdicts"] for page in pages if "criteria" in page), ())
    yield from (f"  {n}  {printable(one['criterion'])}" for n, one in enumerate(judged, start=1))


def format_judgement(facts: Mapping[str, Any]) -> str:
    """Return how many pages were judged, in how many calls, and at what cost.

    >>> facts = {"page_count": 8, "call_count": 2, "refused_count": 3, "unclear_count": 1}
    >>> format_judgement(facts | {"cost_usd": 0.0016, "cost_per_page_usd": 0.0002})
    '8 pages in 2 calls, $0.0016 ($0.0002 a page); 3 refused, 1 unclear'
    >>> format_judgement(facts | {"call_count": 1, "cost_usd": None, "not_judged_count": 2})
    '8 pages in 1 call, price not known; 3 refused, 1 unclear, 2 not judged'
    """
    pages, calls = facts["page_count"], facts["call_count"]
    price = ", price not known"
    if (cost := facts["cost_usd"]) is not None:
        amounts = (round_usd(usd) for usd in (cost, facts["cost_per_page_usd"]))
        price = ", {} ({} a page)".format(*amounts) if cost else ""
    counts = [
        f"{count} {what}"
        for what, name in (
            ("refused", "refused_count"),
            ("unclear", "unclear_count"),
            ("not judged", "not_judged_count"),
            ("known from before", "cached_count"),
        )
        if (count := facts.get(name))
    ]
    said = f"{counted(pages, 'page')} in {counted(calls, 'call')}{price}"
    return "; ".join(filter(None, [said, ", ".join(counts) or "none refused"]))


def verdict_rows(page: Mapping[str, Any], *, width: int | None) -> Iterator[str]:
    """Yield the verdicts of a result or candidate and why it is refused; nothing without criteria.

    >>> verdicts = [{"verdict": "yes"}, {"verdict": "no"}]
    >>> told = {"judged": "result", "verdicts": verdicts, "refused": True, "reason": "No price."}
    >>> for row in verdict_rows({"criteria": told}, width=80):
    ...     print(row)
         criteria: 1 yes, 2 no (by the search result)
         refused: No price.
    """
    if not (told := page.get("criteria")):
        return
    words = (f"{n} {one['verdict']}" for n, one in enumerate(told["verdicts"], start=1))
    by = "the search result" if told["judged"] == "result" else "the page's text"
    yield f"{_INDENT}criteria: {', '.join(words)} (by {by})"
    if told["refused"]:
        said = printable(f"refused: {told['reason']}")
        yield from textwrap.wrap(
            said, width or _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT
        )
