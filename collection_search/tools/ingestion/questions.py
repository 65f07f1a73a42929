"""Stores the questions that fill a collection, and whether the collection answers them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from ...contracts.collection import LastCoverage
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.collection import QuestionRecord, TenantScope
    from ...contracts.coverage import Coverage

logger = logging.getLogger(__name__)


async def record_question(
    context: SearchContext, scope: TenantScope, record: QuestionRecord
) -> None:
    """Store the question with the collection; a failure is logged only.

    A host with its own trigger and without a store does that itself.
    """
    if context.trigger is not None and context.store is None:
        return
    provider = context.provider if isinstance(context.provider, str) else None
    try:
        store = await context.storage()
        asked = record.model_copy(update={"provider": provider})
        await offload(store.collections.remember_question, scope, asked)
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "the question could not be remembered", error)


async def question_record(
    context: SearchContext, scope: TenantScope, question: str
) -> QuestionRecord | None:
    """Return what the collection remembers of the question. Raises StoreError."""
    store = await context.storage()
    records = await offload(store.collections.questions, scope)
    return next((record for record in records if record.question == question), None)


async def record_coverage(
    context: SearchContext, scope: TenantScope, question: str, coverage: Coverage
) -> None:
    """Store the result with a question that is remembered; a failure is logged only."""
    last = LastCoverage(
        query_count=len(coverage["queries"]),
        gaps=coverage["gaps"],
        best_scores={one["query"]: one["best_score"] for one in coverage["queries"]},
        verified_at=time.time(),
    )
    try:
        if (record := await question_record(context, scope, question)) is not None:
            store = await context.storage()
            verified = record.model_copy(update={"coverage": last})
            await offload(store.collections.remember_question, scope, verified)
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "the coverage could not be remembered", error)
