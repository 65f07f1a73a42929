"""Ingestions of chosen pages, and the tickets that tell how they go."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field

from ...contracts.collection import TenantScope
from ...contracts.search import Name, NormalizedUrl
from ...errors import IngestError, InputError
from ...graphs.universal_ingestion import UniversalIngestionGraph
from ...nodes.receipts import build_record
from ...runtime.concurrency import offload
from ...text.question_mask import is_masked
from ...text.timestamps import iso_time
from ...text.urls import url_key
from ...tools.ingest import engine_for
from ...tools.ingestion.page_payers import paid_rules
from ...tools.ingestion.questions import record_question
from ..access import Caller, IsAllowed, Reviewer, Viewer  # noqa: TC001 - FastAPI reads it
from ..places import HiddenPlaces, Places  # noqa: TC001
from ..runs.current import Runs  # noqa: TC001
from ..sse import KEEP_ALIVE, KEEP_ALIVE_S, stream_events, write_event
from .runs import find_run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ...contracts.ingestion import RowStatus, TicketStatus
    from ...contracts.server_run import ServerRun
    from ..runs.manager import RunManager

router = APIRouter(tags=["ingestions"])

MAX_URLS: Final = 1000
LOOK_S: Final = 0.5
"""Interval between two looks at a ticket; workers of other processes may do its work."""


class IngestionOrder(BaseModel):
    """Pages to ingest, by hand or from the results of a run."""

    model_config = ConfigDict(extra="forbid")

    collection: Name
    urls: list[NormalizedUrl] = Field(min_length=1, max_length=MAX_URLS)
    run_id: str | None = Field(
        default=None, description="The run that found them: their texts and provenance are kept."
    )


@router.post("/ingestions", status_code=201)
async def start_ingestion(
    order: IngestionOrder, caller: Reviewer, runs: Runs, places: HiddenPlaces
) -> dict[str, Any]:
    """Return the ticket of the started ingestion."""
    run = None if order.run_id is None else await find_run(runs, caller, order.run_id)
    choices = {} if run is None else run.choices
    run_id = f"run-{uuid.uuid4().hex}" if run is None else run.run_id
    context = await runs.context_of(caller.tenant, choices, run_id=run_id)
    given = {
        "source": "preselected",
        "mode": "acquire_and_ingest",
        "selection": "all",
        "collection_scope": order.collection,
        "preselected_results": _pages(order, run, approved_by=caller.user, run_id=run_id),
    }
    output = await UniversalIngestionGraph(context).arun(given)
    receipt = output["ingestion"]
    if receipt is None or receipt["ticket"] is None:
        cause = receipt["error"] if receipt else None
        raise IngestError(cause["message"] if cause else "There are no pages to ingest.")
    if run is not None and run.output is not None:
        asked = {**run.given, "strategy": run.output["strategy"]}
        record = build_record(asked, map(url_key, order.urls), is_reviewed=True)
        if not any(map(is_masked, (record.question, record.purpose, *record.criteria))):
            await record_question(context, TenantScope(caller.tenant, order.collection), record)
    return view_ticket(await _find_ticket(runs, caller, receipt["ticket"]), places)


@router.get("/tickets/{ticket_id}")
async def show_ticket(
    ticket_id: str, caller: Viewer, runs: Runs, places: HiddenPlaces
) -> dict[str, Any]:
    """Return how the pages of a ticket stand."""
    return view_ticket(await _find_ticket(runs, caller, ticket_id), places)


@router.get("/tickets/{ticket_id}/events", response_class=Response)
async def ticket_events(
    ticket_id: str, caller: Viewer, runs: Runs, is_allowed: IsAllowed, places: HiddenPlaces
) -> Response:
    """Send each new status of a ticket until its pages are done."""
    await _find_ticket(runs, caller, ticket_id)
    statuses = _follow_ticket(runs, caller, ticket_id, places)
    return stream_events(statuses, is_allowed, places)


@router.post("/tickets/{ticket_id}/retry")
async def retry_ticket(
    ticket_id: str, caller: Reviewer, runs: Runs, places: HiddenPlaces
) -> dict[str, Any]:
    """Queue the failed pages of the ticket again, and return the ticket."""
    status = await _find_ticket(runs, caller, ticket_id)
    context = await runs.context_of(caller.tenant)
    store, scope = await context.storage(), TenantScope(caller.tenant, status.collection)
    await offload(store.ledger.retry_failed, scope, rules=paid_rules(context), ticket=ticket_id)
    await offload((await engine_for(context)).start)
    return view_ticket(await _find_ticket(runs, caller, ticket_id), places)


def view_ticket(status: TicketStatus, places: Places) -> dict[str, Any]:
    """Return a ticket as JSON, without the `places`."""
    return {
        "ticket_id": status.ticket_id,
        "collection": status.collection,
        "count": status.count,
        "stored": status.stored,
        "failed": status.failed,
        "retired": status.retired,
        "pending": status.left(fetch=True),
        "done": status.left(fetch=True) == 0,
        "documents": [_view_row(row, places) for row in status.rows],
    }


def _view_row(row: RowStatus, places: Places) -> dict[str, Any]:
    until = row.put_off_until
    return {
        "url": row.url,
        "title": row.title,
        "state": row.state,
        "attempts": row.attempts,
        "error": None if row.error is None else places.hide(row.error),
        "change": row.change,
        "put_off_until": None if until is None else iso_time(until),
    }


async def _find_ticket(runs: RunManager, caller: Caller, ticket_id: str) -> TicketStatus:
    """Return a ticket of the caller's tenant. Raises HTTPException with status 404."""
    ledger = (await (await runs.context_of(caller.tenant)).storage()).ledger
    status = await offload(ledger.status, caller.tenant, ticket_id)
    if status is None:
        raise HTTPException(404, f"There is no ticket {ticket_id!r}.")
    return status


async def _follow_ticket(
    runs: RunManager, caller: Caller, ticket_id: str, places: Places
) -> AsyncGenerator[str, None]:
    before, quiet_s = None, 0.0
    while not runs.changes.is_closed:
        status = await _find_ticket(runs, caller, ticket_id)
        shown = view_ticket(status, places)
        if shown != before:
            before, quiet_s = shown, 0.0
            yield write_event("status", shown)
        if shown["done"]:
            yield write_event("end", shown)
            return
        await asyncio.sleep(LOOK_S)
        quiet_s += LOOK_S
        if quiet_s >= KEEP_ALIVE_S:
            quiet_s = 0.0
            yield KEEP_ALIVE


def _pages(
    order: IngestionOrder, run: ServerRun | None, *, approved_by: str, run_id: str
) -> list[dict[str, Any]]:
    """Return the pages with their provenance. Raises InputError for one that the run has not."""
    shared: dict[str, Any] = {"approved_by": approved_by, "run_id": run_id}
    if run is None:
        return [{"url": url, "provenance": shared} for url in order.urls]
    shared["question"] = run.question
    found = {url_key(page["url"]): page for page in run.pages}
    pages = []
    for url in order.urls:
        page = found.get(url_key(url))
        if page is None:
            raise InputError(f"The run has no result {url!r}. Leave run_id out to ingest it alone.")
        pages.append({**page, "provenance": {**shared, "rank": page.get("rank")}})
    return pages
