"""Choose among the acquired pages; each dropped page has a reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .stage import StageRun, stage
from .staging import is_unwanted, without_twins

if TYPE_CHECKING:
    from ..contracts.ingestion_state import (
        AcquiredPage,
        DroppedPage,
        DropReason,
        IngestionState,
        SelectUpdate,
    )


@stage("k_select")
async def select_candidates(state: IngestionState, _: StageRun) -> SelectUpdate:
    """Return the chosen pages, in order, and why the others were dropped.

    What cannot be chosen is dropped before the rest is cut to `max_results`. A short snippet drops
    only a found page without a text, and only found pages are compared with each other: somebody
    has looked at a preselected one.
    """
    is_found = state["source"] == "search"
    fit: list[AcquiredPage] = []
    dropped: list[DroppedPage] = []

    def drop(reason: DropReason, *pages: AcquiredPage) -> None:
        dropped.extend({"url": page["url"], "reason": reason} for page in pages)

    for page in state["candidates"]:
        if is_found and _is_thin(page, state["min_snippet_chars"]):
            drop("snippet_too_short", page)
        elif is_unwanted(page, state.get("is_pdf")):
            drop("is_pdf" if page["is_pdf"] else "is_no_pdf", page)
        else:
            fit.append(page)
    distinct, twins = without_twins(fit) if is_found else (fit, [])
    most = state["max_results"] if is_found or state["selection"] == "top_k" else len(distinct)
    chosen, beyond = distinct[:most], distinct[most:]
    drop("duplicate", *twins)
    drop("beyond_max_results", *beyond)
    reasons = Counter(page["reason"] for page in dropped)
    return {
        "candidates": chosen,
        "dropped": dropped,
        "outcome": state["outcome"] or (None if chosen else "no_candidates"),
        "flags": [],
        "telemetry": {
            "selection": state["selection"],
            "selected_count": len(chosen),
            "snippet_too_short_count": reasons["snippet_too_short"],
            "unwanted_kind_count": reasons["is_pdf"] + reasons["is_no_pdf"],
            "duplicate_count": reasons["duplicate"],
            "beyond_max_results_count": reasons["beyond_max_results"],
            "cost_usd": 0.0,
        },
    }


def _is_thin(page: AcquiredPage, chars: int) -> bool:
    return page["content_ref"] is None and len(page["snippet"]) < chars
