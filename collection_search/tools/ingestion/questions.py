"""Stores the questions that fill a collection, so that they can be asked again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ...runtime.concurrency import offload
from ...text.redaction import redact_error

if TYPE_CHECKING:
    from ...context import SearchContext
    from ...contracts.collection import QuestionRecord, TenantScope

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
    except Exception as error:
        logger.warning("the question could not be remembered", exc_info=redact_error(error))
