"""Ingest the best results by their score, without asking a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import QualityThresholdError
from ..ranking.threshold import select_for_ingestion
from ..tools.ingestion.questions import record_question
from .receipts import (
    build_ingestion_request,
    build_receipt,
    build_record,
    end_without_ingestion,
    ranked_items,
    run_provenance,
)
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.state import CollectionSearchState
    from ..contracts.updates import IngestUpdate


@stage("k_auto_ingest")
async def auto_ingest(state: CollectionSearchState, run: StageRun) -> IngestUpdate:
    """Return the ticket of the started ingestion, or why none was started."""
    results = state["results"]
    try:
        chosen, threshold = select_for_ingestion(
            [result["embedding_rank_score"] for result in results],
            min_score=state["auto_ingest_min_score"],
            top_k=state["auto_ingest_top_k"],
        )
    except QualityThresholdError as error:
        return end_without_ingestion(state, run, "auto_ingest_failed_quality_threshold", error)
    shared = run_provenance(run, approved_by="auto_ingest")
    shared |= {"question": state["question"], "threshold": threshold}
    items = ranked_items([results[index] for index in chosen], state["candidates"], shared)
    request = build_ingestion_request(state, run, items)
    try:
        trigger = await run.context.ingestion_trigger()
        ticket = await trigger.trigger(request)
    except Exception as error:  # noqa: BLE001 - a host's trigger may raise anything
        return end_without_ingestion(state, run, "auto_ingest_trigger_failed", error)
    await record_question(run.context, request.scope, build_record(state, request))
    return {
        "ingestion": build_receipt(request, ticket, threshold=threshold),
        "outcome": "auto_ingest_triggered",
        "flags": [],
        "telemetry": {
            "count": ticket.count,
            "threshold": threshold,
            "ticket": ticket.ticket_id,
            "cost_usd": 0.0,
        },
    }
