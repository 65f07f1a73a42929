"""What became of the pages of a ticket."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.contracts.ingestion import RowState, RowStatus, TicketStatus
from collection_search.tools.coverage.ingestion_coverage import ingestion_coverage

STATES = get_args(RowState)


def status(*states: RowState) -> TicketStatus:
    rows = [
        RowStatus(
            url=f"https://example.com/{n}",
            title=f"Page {n}",
            state=state,
            error="http_404: gone" if state in {"dead", "retired"} else None,
        )
        for n, state in enumerate(states)
    ]
    return TicketStatus(
        ticket_id="ticket-1",
        collection="docs",
        count=len(rows),
        stored=states.count("stored"),
        pending=states.count("waiting") + states.count("working"),
        to_fetch=states.count("to_fetch"),
        failed=states.count("dead"),
        retired=states.count("retired"),
        rows=rows,
    )


def test_success_ratio_failed_and_pending_count() -> None:
    """`_k_verify_coverage` of the specification; a vanished page counts as failed."""
    found = ingestion_coverage(
        status("stored", "stored", "dead", "retired", "to_fetch"), is_done=False
    )
    counts = {key: found[key] for key in ("count", "stored", "failed", "pending")}  # type: ignore[literal-required]
    assert counts == {"count": 5, "stored": 2, "failed": 2, "pending": 1}
    assert (found["success_ratio"], found["timed_out"]) == (0.4, True)


def test_every_page_that_is_not_stored_is_listed_with_its_reason() -> None:
    """In the order of the ticket."""
    found = ingestion_coverage(status("dead", "stored", "retired", "waiting"), is_done=True)
    assert [(page["url"][-1], page["state"], page["reason"]) for page in found["unstored"]] == [
        ("0", "failed", "http_404: gone"),
        ("2", "retired", "http_404: gone"),
        ("3", "pending", None),
    ]
    assert found["timed_out"] is False


def test_a_ticket_without_pages_is_a_success() -> None:
    """Nothing is missing."""
    assert ingestion_coverage(status(), is_done=True)["success_ratio"] == 1


@given(st.lists(st.sampled_from(STATES), max_size=30))
def test_the_counts_add_up(states: list[RowState]) -> None:
    """Each page is stored, failed or pending, and listed unless it is stored."""
    found = ingestion_coverage(status(*states), is_done=True)
    assert found["stored"] + found["failed"] + found["pending"] == found["count"] == len(states)
    assert len(found["unstored"]) == found["count"] - found["stored"]
    assert found["success_ratio"] == pytest.approx(
        states.count("stored") / len(states) if states else 1, abs=1e-4
    )
