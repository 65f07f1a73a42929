"""Choose among the acquired pages; each dropped page has a reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from .stage import StageRun, stage
from .staging import is_unwanted

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

    A short snippet drops only a found page without a text; a preselected page was already read.
    """
    chosen: list[AcquiredPage] = []
    dropped: list[DroppedPage] = []
    most = state["max_results"] if state["selection"] == "top_k" else len(state["candidates"])
    for page in state["candidates"]:
        if state["source"] == "search" and _is_thin(page, state["min_snippet_chars"]):
            dropped.append({"url": page["url"], "reason": "snippet_too_short"})
        elif is_unwanted(page, state.get("is_pdf")):
            reason: DropReason = "is_pdf" if page["is_pdf"] else "is_no_pdf"
            dropped.append({"url": page["url"], "reason": reason})
        elif len(chosen) >= most:
            dropped.append({"url": page["url"], "reason": "beyond_max_results"})
        else:
            chosen.append(page)
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
            "beyond_max_results_count": reasons["beyond_max_results"],
            "cost_usd": 0.0,
        },
    }


def _is_thin(page: AcquiredPage, chars: int) -> bool:
    return page["content_ref"] is None and len(page["snippet"]) < chars
