"""Stage the chosen pages, to be ingested now or later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.collection import TenantScope
from ..runtime.concurrency import offload
from .stage import StageRun, stage

if TYPE_CHECKING:
    from ..contracts.ingestion_state import IngestionOutcome, IngestionState, StageUpdate


@stage("k_stage")
async def stage_candidates(state: IngestionState, run: StageRun) -> StageUpdate:
    """Return the staged session; one that is ingested again stays as it is. Raises StoreError."""
    session_id = state["session_id"]
    if session_id is None:
        store = await run.context.storage()
        scope = TenantScope(run.context.tenant(), state["collection_scope"])
        pages = list(state["candidates"])
        facts = {key: state[key] for key in ("source", "mode", "query")} | run.ids
        session_id = await offload(store.staging.open_session, scope, pages, facts)
    outcome: IngestionOutcome | None = "acquired" if state["mode"] == "acquire_only" else None
    return {
        "session_id": session_id,
        "outcome": outcome,
        "flags": [],
        "telemetry": {
            "session_id": session_id,
            "staged_count": len(state["candidates"]),
            "cost_usd": 0.0,
        },
    }
