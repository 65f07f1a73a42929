"""What becomes of runs: it is stored, and what ended runs need no more is deleted."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from ...contracts.server_run import ENDED
from ...errors import CollectionSearchError
from ...graphs.collection_review import CollectionReviewGraph
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure
from .executions import RETRIES
from .graph_runs import may_pass

if TYPE_CHECKING:
    from ...contracts.review import Gate, GateState
    from ...contracts.server_run import RunChange, ServerRun
    from ...ports import GateStore
    from .executions import Execution
    from .graph_runs import GraphRuns

logger = logging.getLogger(__name__)


class RunEnds:
    """Stores the ends of runs for one owner, and cleans up after them."""

    def __init__(self, graph_runs: GraphRuns) -> None:
        self._graph_runs = graph_runs
        self._kept = graph_runs.base.using().server_runs_kept

    async def settle(self, execution: Execution, change: RunChange) -> RunChange | None:
        """Close the gate that the run has passed, and store what became of the run.

        Returns what was stored, or None where the run is not this owner's any more. What could not
        be stored stays in the execution, so that only this is repeated.
        """
        run, execution.change = execution.run, change
        if run.gate_id is not None and run.gate_id != change.get("gate_id"):
            await self._close(execution, run.gate_id)
        try:
            is_stored = await self._store(run, change)
        except Exception as error:
            if _count_refusal(execution, "run", error):
                raise
            log_failure(logger, f"The result of the run {run.run_id} cannot be stored", error)
            # Else the run would be running for ever, with nobody who executes it.
            change = self._graph_runs.describe_failure(error)
            is_stored = await self._store(run, change)
        execution.change = None
        return change if is_stored else None

    async def find_decided(self, run: ServerRun, gate_id: str) -> Gate | None:
        """Return the gate of a run if it was decided and the run has not gone on."""
        gate = await offload((await self._gates()).get, run.tenant_id, gate_id)
        return gate if gate is not None and gate.state == "decided" else None

    async def clean(self, run: ServerRun, user: str | None = None) -> None:
        """Delete what an ended run needs no more, and then tell that nothing is left.

        Its open gates are rejected in the name of the user.
        """
        if run.graph == "collection_review":
            await self._reject_gates(run, user)
        await self._graph_runs.forget(run)
        await self._graph_runs.change(run, {"owner": ""}, expected=ENDED)
        await offload(self._graph_runs.store.forget_oldest, run.tenant_id, keep=self._kept)

    async def _close(self, execution: Execution, gate_id: str) -> None:
        """Close a gate; one that cannot be closed does not keep the run from its end."""
        run = execution.run
        try:
            await offload((await self._gates()).close, run.tenant_id, gate_id)
        except Exception as error:
            if _count_refusal(execution, "gate", error):
                raise
            log_failure(logger, f"The review of the run {run.run_id} cannot be closed", error)

    async def _store(self, run: ServerRun, change: RunChange) -> bool:
        if change.get("status") == "waiting":
            change = {**change, "owner": ""}
        owner = self._graph_runs.owner
        return await self._graph_runs.change(run, change, expected={"running"}, owner=owner)

    async def _reject_gates(self, run: ServerRun, user: str | None) -> None:
        """Reject and close the gates of a run that has ended, so that nobody is asked any more."""
        decision = {"status": "rejected", "comment": "The run was ended."}
        facade = CollectionReviewGraph(
            self._graph_runs.base.model_copy(update={"tenant_id": run.tenant_id}),
            checkpointer=self._graph_runs.checkpointer,
        )
        for gate_id in await self._gate_ids(run, "open"):
            with suppress(CollectionSearchError):  # it was decided meanwhile
                await facade.asettle(gate_id, decision, approver=user)
        for gate_id in await self._gate_ids(run, "decided"):
            await offload((await self._gates()).close, run.tenant_id, gate_id)

    async def _gate_ids(self, run: ServerRun, state: GateState) -> list[str]:
        find = (await self._gates()).gates
        found = await offload(find, run.tenant_id, state=state, collection=run.collection)
        return [gate.gate_id for gate in found if gate.thread_id == run.run_id]

    async def _gates(self) -> GateStore:
        return (await self._graph_runs.base.storage()).gates


def _count_refusal(execution: Execution, what: str, error: Exception) -> bool:
    """Return whether what has failed is tried once more; refusals are counted, outages are not."""
    if may_pass(error):
        return True
    execution.refused[what] += 1
    return execution.refused[what] <= RETRIES
