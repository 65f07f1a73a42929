"""Runs as the API shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...text.question_mask import QuestionMask
from ...text.timestamps import iso_time

if TYPE_CHECKING:
    from ...contracts.server_run import ServerRun


def view_run(run: ServerRun, *, is_queued: bool = False, is_short: bool = False) -> dict[str, Any]:
    """Return a run as JSON; a short one has no `output`.

    The choices are masked here only: the run needs them as they are when it goes on.
    """
    shown: dict[str, Any] = {
        "run_id": run.run_id,
        "graph": run.graph,
        "status": run.status,
        "queued": is_queued,
        "question": run.question,
        "collection": run.collection,
        "created_at": iso_time(run.created_at),
        "ended_at": None if run.ended_at is None else iso_time(run.ended_at),
        "user": run.user,
        "outcome": run.outcome,
        "error": run.error,
        "gate_id": run.gate_id,
        "input": run.given,
        "context": QuestionMask().mask(run.choices),
    }
    return shown if is_short else {**shown, "output": run.output}
