"""The sweep over reviews: deadlines that have passed, and decided runs whose process died."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from ..runtime.concurrency import offload
from ..text.redaction import redact
from ..tools.reviews import settle_review
from ..tools.served_runs import is_served
from .review_runs import ReviewRuns, waits_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langgraph.checkpoint.base import BaseCheckpointSaver

    from ..context import SearchContext
    from ..contracts.review import Gate

    Resume = Callable[[Gate], Awaitable[bool]]

SPARE_S: Final = 300.0
"""A decided run that has not ended this long after the limit of its coverage check is resumed by a
sweep: its process died."""

LEFT_S: Final = 7 * 86_400.0
"""A decided gate is closed this long after its decision where these checkpoints do not have its
run: a host's graph has ended it, or its thread was deleted."""

logger = logging.getLogger(__name__)


async def sweep_reviews(
    context: SearchContext,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    resume: Resume | None = None,
) -> list[Gate]:
    """Apply the policy of every gate whose deadline has passed, and resume runs that were left.

    Return the gates as `CollectionReviewGraph.asweep` does, which says what the arguments are.
    """
    store, swept = (await context.storage()).gates, []
    for gate in await offload(store.unfinished):
        own = context.model_copy(update={"tenant_id": gate.tenant_id})
        try:
            decided = await _look_after(gate, own, ReviewRuns(own, checkpointer), resume)
        except Exception as error:  # noqa: BLE001 - a run may fail in a host's adapter
            logger.warning("the run of %s failed: %s", gate.gate_id, redact(str(error)))
        else:
            swept += [decided] if decided else []
    return swept


async def _look_after(
    gate: Gate, context: SearchContext, runs: ReviewRuns, resume: Resume | None
) -> Gate | None:
    """Decide the gate if its time has come and resume its run; None where nothing was to be done.

    A run of `collection-search serve` is not resumed here: its server does that.
    """
    is_left = resume is None and await is_served(context, gate)
    if is_left and gate.state != "open":
        return None
    decided = await _decide_overdue(gate, context, runs)
    if decided and not is_left and not (resume and await resume(decided)):
        await runs.finish(decided)
    return decided


async def _decide_overdue(gate: Gate, context: SearchContext, runs: ReviewRuns) -> Gate | None:
    """Return the gate whose run is to be resumed, decided; None where somebody else does it."""
    state = await runs.find_state(gate)
    store = (await context.storage()).gates
    now = await offload(store.now)
    if state is None:
        if gate.state == "decided" and gate.changed_at < now - LEFT_S:
            await offload(store.close, gate.tenant_id, gate.gate_id)
        return None
    if gate.state != "open":
        is_dead = gate.changed_at < now - context.using().coverage_timeout_s - SPARE_S
        return gate if is_dead and await offload(store.take_over, gate) else None
    review = settle_review(gate, None, approver=None, now=now)
    if review is None:
        return None
    if not waits_at(gate, state):
        await runs.withdraw(gate, state)
        return None
    decided = await offload(store.decide, gate.tenant_id, gate.gate_id, review)
    return decided if decided.is_new_decision else None
