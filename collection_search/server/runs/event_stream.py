"""The events of a run for a client: those that were, then those to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...runtime.concurrency import offload
from ..sse import KEEP_ALIVE, KEEP_ALIVE_S, write_event
from .changes import wait_for
from .views import view_run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from .manager import RunManager

LOOK_S: Final = 1.0
"""Interval between two looks at a run that another process may execute."""


async def follow_run(
    manager: RunManager, tenant: str, run_id: str, *, after: int = 0
) -> AsyncGenerator[str, None]:
    """Yield the events with a number above `after` as server-sent ones, and `end` at the end.

    The stream ends without `end` when the server stops; the client then asks again.
    """
    quiet_s = 0.0
    with manager.changes.watch(run_id) as changed:
        while True:
            changed.clear()
            events = await offload(manager.store.events, tenant, run_id, after=after)
            run, is_over = None, False
            if not events:
                run = await manager.find(tenant, run_id)
                is_over = run is None or not run.is_active
                if is_over:  # what was stored between both looks comes before the end
                    events = await offload(manager.store.events, tenant, run_id, after=after)
            for event in events:
                after = event.number
                yield write_event(event.type, event.data, number=event.number)
            if events:
                quiet_s = 0.0
                continue
            if is_over:
                yield write_event("end", None if run is None else view_run(run))
                return
            if manager.changes.is_closed:
                return
            await wait_for(changed, LOOK_S)
            quiet_s += LOOK_S
            if quiet_s >= KEEP_ALIVE_S:
                quiet_s = 0.0
                yield KEEP_ALIVE
