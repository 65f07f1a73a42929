"""Stores the questions that fill a collection, and whether the collection answers them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from ...contracts.collection import LastCoverage
from ...contracts.page_choice import PageChoice
from ...ports.description import describe
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure
from ...settings.provider_choice import choose_provider
from ...text.question_mask import QuestionMask

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...context import SearchContext
    from ...contracts.collection import QuestionRecord, TenantScope
    from ...contracts.coverage import Coverage
    from ...ports import GateStore

logger = logging.getLogger(__name__)

_REVIEWS: Final = 1000
"""The last decisions that are looked at for questions of earlier versions."""


async def record_question(
    context: SearchContext, scope: TenantScope, record: QuestionRecord
) -> None:
    """Store the question with the collection; a failure is logged only.

    A host with its own trigger and without a store does that itself.
    """
    if context.trigger is not None and context.store is None:
        return
    try:
        store = await context.storage()
        asked = record.model_copy(update=await _asked_of(context))
        began = context.page_choice.asked_at
        if began is None:
            await offload(store.collections.remember_question, scope, asked)
        else:
            await offload(store.collections.refresh_question, scope, asked, asked_at=began)
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "the question could not be remembered", error)


async def _asked_of(context: SearchContext) -> dict[str, Any]:
    """Return the provider as a record has it, so that a refresh asks no other one.

    What is replayed from a file was asked of nobody now.
    """
    given = context.provider
    if given is None and context.cassette is None:
        given, _ = await choose_provider(context.using(), None)
    if given is None or isinstance(given, str):
        return {"provider": given, "is_provider_live": False}
    adapter = (await context.search_provider()).adapter
    return {"provider": describe(adapter).info.name, "is_provider_live": True}


async def record_review(context: SearchContext, scope: TenantScope, question: str) -> None:
    """Note with a question that is remembered that a review has decided about its pages.

    So a refresh brings no others. A failure is logged only.
    """
    try:
        store = await context.storage()
        amend = store.collections.amend_question
        await offload(amend, scope, question, {"is_reviewed": True})
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "the review could not be remembered", error)


def choose_pages(
    gates: GateStore, scope: TenantScope, record: QuestionRecord, stored: Iterable[str]
) -> PageChoice:
    """Return the pages that a question may bring when it is asked again. Blocks.

    A reviewed one brings no new page; `stored` are those of the collection. Raises StoreError.
    """
    if record.is_reviewed is None:
        shown = _shown_question(record)
        decided = gates.decided(scope.tenant_id, collection=scope.collection, limit=_REVIEWS)
        is_reviewed = any(gate.question == shown for gate in decided)
        record = record.model_copy(update={"is_reviewed": is_reviewed})
    return build_choice(record, stored)


def build_choice(record: QuestionRecord, stored: Iterable[str]) -> PageChoice:
    """Return the pages that a question may bring; `stored` are those of the collection."""
    approved = frozenset((*record.url_keys, *stored)) if record.is_reviewed else None
    return PageChoice(approved, frozenset(record.removed), record.last_asked_at)


async def named_records(
    context: SearchContext, scope: TenantScope, question: str
) -> list[QuestionRecord]:
    """Return the remembered questions that a text names: as they were asked or as they are shown.

    Raises StoreError.
    """
    store = await context.storage()
    records = await offload(store.collections.questions, scope)
    return [one for one in records if question in (one.question, _shown_question(one))]


def masks_of(records: Iterable[QuestionRecord]) -> QuestionMask:
    """Return the mask of what was asked by these questions."""
    return QuestionMask(*(text for one in records for text in (one.question, one.purpose)))


def shown_record(record: QuestionRecord) -> QuestionRecord:
    """Return a question as people see it: its secrets are masked, those of its queries too."""
    masks, last = masks_of([record]), record.coverage
    shown = record.model_copy(update=masks.mask(record.model_dump(exclude={"coverage"})))
    if last is None:
        return shown
    scores = {masks.mask(query): score for query, score in last.best_scores.items()}
    update = {"gaps": masks.mask(last.gaps), "best_scores": scores}
    return shown.model_copy(update={"coverage": last.model_copy(update=update)})


def _shown_question(record: QuestionRecord) -> str:
    shown: str = masks_of([record]).mask(record.question)
    return shown


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
        store = await context.storage()
        await offload(store.collections.amend_question, scope, question, {"coverage": last})
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(logger, "the coverage could not be remembered", error)
