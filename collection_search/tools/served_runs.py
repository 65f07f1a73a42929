"""Runs of `collection-search serve`, as other programs on its data folder see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.server_run import RUN_PREFIX
from ..runtime.concurrency import offload
from ..settings.adapter_factory import adapter_of

if TYPE_CHECKING:
    from ..context import SearchContext
    from ..contracts.review import Gate
    from ..ports.run_store import RunStore


async def open_served_runs(context: SearchContext) -> RunStore | None:
    """Return the runs of a server. Raises ConfigError, StoreError.

    None where they would be in a SQLite file that does not exist; none is created.
    """
    settings = context.using()
    if settings.engine == "sqlite" and not await offload(settings.runs_path.exists):
        return None
    runs: RunStore = await adapter_of(settings, "runs", settings.engine)
    return runs


async def is_served(context: SearchContext, gate: Gate) -> bool:
    """Return whether a server executes the run of this gate. Raises ConfigError, StoreError.

    The server need not be running: its next start goes on with the run.
    """
    if not may_be_served(gate) or (runs := await open_served_runs(context)) is None:
        return False
    return await offload(runs.get, gate.tenant_id, str(gate.thread_id)) is not None


def may_be_served(gate: Gate) -> bool:
    """Return whether the run of this gate may be a server's, by the name of its thread."""
    return gate.thread_id is not None and gate.thread_id.startswith(RUN_PREFIX)
