"""Start the ingestion of staged pages."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..contracts.collection import QuestionRecord, TenantScope
from ..contracts.ingestion import IngestionRequest, Priority
from ..errors import CollectionSearchError, QualityThresholdError
from ..runtime.concurrency import offload
from ..runtime.failure_log import log_failure
from ..text.question_mask import QuestionMask
from ..text.redaction import error_message
from ..tools.ingest import staged_items
from ..tools.ingestion.questions import record_question
from ..tools.ingestion.refreshed_request import fit_request
from .receipts import build_failed_receipt, build_receipt, mask_asked
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.ingestion_state import IngestionState, StartUpdate

logger = logging.getLogger(__name__)


@stage("k_ingest")
async def ingest_candidates(state: IngestionState, run: StageRun) -> StartUpdate:
    """Return the ticket of the started ingestion, or why there is none: the pages stay staged."""
    request = _request(state, run)
    try:
        if run.context.page_choice.is_refresh and state["query"]:
            request = await fit_request(run.context, request, state["query"])
    except QualityThresholdError as error:  # nobody needs what was staged
        await _close_session(state, run)
        return _failed({**state, "session_id": None}, run, error)
    try:
        trigger = await run.context.ledger_trigger()
        ticket = await trigger.trigger(request)
    except Exception as error:  # noqa: BLE001 - a host's trigger may raise anything
        return _failed(state, run, error)
    await _close_session(state, run)
    if state["source"] == "search" and state["query"]:
        record = QuestionRecord(
            question=state["query"],
            purpose="universal_ingestion",
            auto_ingest_top_k=state["max_results"],
            is_pdf=state.get("is_pdf"),
            url_keys=[item.url_key for item in request.items],
            is_reviewed=run.context.page_choice.is_reviewed,
        )
        await record_question(run.context, request.scope, record)
    return {
        "session_id": None,
        "ingestion": build_receipt(request, ticket),
        "outcome": "ingestion_started",
        "flags": [],
        "telemetry": {"count": ticket.count, "ticket": ticket.ticket_id, "cost_usd": 0.0},
    }


def _request(state: IngestionState, run: StageRun) -> IngestionRequest:
    masks = QuestionMask(state["query"] or "")
    shared = run.context.provenance(run.ids, approved_by="universal_ingestion")
    if state["query"]:
        shared["question"] = state["query"]
    items = [
        mask_asked(item, masks)
        for rank, page in enumerate(state["candidates"], start=1)
        for item in staged_items([page], {**shared, "rank": rank})
        if run.context.page_choice.allows(item.url_key)
    ]
    question = items[0].provenance.get("question") if items else None
    return IngestionRequest(
        scope=TenantScope(run.context.tenant(), state["collection_scope"]),
        items=items,
        question=question if isinstance(question, str) else None,
        run_id=run.ids["run_id"],
        trace_id=run.ids["trace_id"],
        known="keep" if run.context.asks_anew else "renew",  # a refresh fetches them itself
        priority=Priority.REFRESH if run.context.asks_anew else Priority.INTERACTIVE,
    )


async def _close_session(state: IngestionState, run: StageRun) -> None:
    """Delete the session, whose pages the ledger has now; one that stays does no harm."""
    try:
        store = await run.context.storage()
        await offload(store.staging.close_session, run.context.tenant(), str(state["session_id"]))
    except CollectionSearchError as error:
        log_failure(logger, "a staged session could not be closed", error)


def _failed(state: IngestionState, run: StageRun, error: Exception) -> StartUpdate:
    message = error_message(error)
    logger.error("the ingestion could not be started", extra={**run.ids, "cause": message})
    return {
        "session_id": state["session_id"],
        "ingestion": build_failed_receipt(state["collection_scope"], error, run),
        "outcome": "acquired",
        "flags": ["ingestion_failed"],
        "telemetry": {"count": 0, "error": message, "cost_usd": 0.0},
    }
