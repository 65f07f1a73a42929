"""The tasks in which a process executes runs: begun, resumed, taken over, cancelled, cleaned up."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...contracts.server_run import ACTIVE, ENDED
from ...errors import CollectionSearchError
from ...graphs.collection_review import CollectionReviewGraph
from ...runtime.concurrency import offload
from ...text.redaction import error_message
from ...tools.ingestion.ownership import is_gone, this_process
from .graph_runs import RunLost, reject_output
from .run_turns import Turns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...context import SearchContext
    from ...contracts.review import Gate
    from ...contracts.server_run import RunChange, ServerRun
    from ...ports import GateStore
    from .graph_runs import GraphRuns

LEASE_S: Final = 15.0
"""After this time without a sign of life the runs of a server are left to the others."""
RETRIES: Final = 3
"""How often a run that an outage of the store has ended goes on from its last checkpoint."""
RENEW_S: Final = 5.0
"""Interval between two signs of life, each with a look at what others have left."""
_CANCELLED: Final[RunChange] = {"status": "cancelled"}
_living: Final[set[str]] = set()
"""Owners of this process whose server still runs."""

logger = logging.getLogger(__name__)


class RunTasks:
    """Executes runs on one event loop; at most so many of one tenant at once.

    An owner keeps a run until its checkpoints are deleted, so that another process can do that in
    its place.
    """

    def __init__(self, graph_runs: GraphRuns) -> None:
        settings = graph_runs.base.using()
        self._kept = settings.server_runs_kept
        self._turns = Turns(settings.server_runs_per_tenant)
        self._graph_runs = graph_runs
        self._store, self._owner = graph_runs.store, graph_runs.owner
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unkept: dict[str, ServerRun] = {}
        """Runs that the store could not keep; the next sweep tries again."""
        self._outages: Counter[str] = Counter()
        """How often that was so, by run."""
        _living.add(self._owner)

    def is_queued(self, run: ServerRun) -> bool:
        """Return whether the run waits for its turn."""
        return self._turns.is_waiting(run.run_id)

    async def start(
        self, run: ServerRun, given: Mapping[str, Any], context: SearchContext
    ) -> ServerRun:
        """Store a new run of this owner and its input, and execute it in the background.

        What is stored goes on after the end of the process. Raises StoreError.
        """
        run = await offload(self._store.add, run)
        try:
            await self._graph_runs.keep_input(run, given)
        except BaseException:
            self._unkept[run.run_id] = run
            raise
        self._begin(run, context)
        return run

    async def resume(self, gate: Gate) -> bool:
        """Go on with the run of a decided gate; False where it is no run of a server.

        A run that has not come to wait yet goes on as soon as it does.
        """
        run = await offload(self._store.get, gate.tenant_id, str(gate.thread_id))
        if run is None:
            return False
        change: RunChange = {"status": "running", "owner": self._owner, "gate_id": gate.gate_id}
        if await self._change(run, change, expected={"waiting"}):
            self._begin(replace(run, owner=self._owner, status="running", gate_id=gate.gate_id))
        return True

    async def cancel(self, run: ServerRun, user: str) -> bool:
        """End a run that runs or waits; False where it has ended already.

        When this returns, the run makes no further call in this process. Its gate is rejected in
        the name of the user.
        """
        if not await self._change(run, _CANCELLED, expected=ACTIVE):
            return False
        if task := self._tasks.get(run.run_id):
            task.cancel()
            await asyncio.wait([task])
        ended = await offload(self._store.get, run.tenant_id, run.run_id)
        if ended is not None and ended.outcome == "review_pending":
            await self._change(ended, reject_output(ended), expected={"cancelled"})
        if ended is None or ended.owner in {"", self._owner} or await self._is_left(ended):
            await self._clean(ended or run, user)
        return True

    async def renew(self) -> None:
        """Tell the other servers that this one is alive. Raises StoreError."""
        await offload(self._store.renew, self._owner, lease_s=LEASE_S)

    async def recover(self) -> None:
        """Resume the running runs that nobody executes, and clean up after those that ended.

        What is executed here although another server has taken it over is given up. That happens to
        a server that was paused for longer than its lease.
        """
        unkept, self._unkept = self._unkept, {}
        for run in unkept.values():
            self._begin(run)
        runs = await offload(self._store.unfinished)
        holders = await offload(self._store.lease_holders) if runs else set()
        for run in runs:
            is_left = _is_left(run, holders)
            if run.is_active:
                await self._give_up(run)
                if is_left and await offload(self._store.take_over, run, self._owner):
                    self._begin(replace(run, owner=self._owner))
            elif is_left or self._has_left(run):
                await self._clean(run)

    async def close(self) -> None:
        """Stop all runs; the next server on the data folder resumes them."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for run in await offload(self._store.unfinished):
            if run.owner == self._owner and run.is_active:
                await offload(self._store.take_over, run, "")
        await offload(self._store.renew, self._owner, lease_s=0)
        _living.discard(self._owner)

    def _begin(self, run: ServerRun, context: SearchContext | None = None) -> None:
        """Execute the run in a task, which has nothing of the request that began it."""
        task = asyncio.get_running_loop().create_task(
            self._executed(run, context), name=run.run_id, context=Context()
        )
        former = self._tasks.get(run.run_id)
        if former is not None and former is not asyncio.current_task():
            former.cancel()  # it has lost the run, which has come back to this server
        self._tasks[run.run_id] = task
        task.add_done_callback(lambda ended: self._drop(run.run_id, ended))

    async def _executed(self, run: ServerRun, context: SearchContext | None) -> None:
        try:
            change = await self._in_turn(run, context)
            if change is None:
                await self._leave(run)
            elif change.get("status") == "waiting":
                await self._resume_decided(run, str(change.get("gate_id")))
            else:
                await self._clean(run)
        except Exception as error:  # noqa: BLE001 - a task has nobody to raise to
            logger.warning("The run %s could not be kept: %s", run.run_id, error_message(error))
            self._outages[run.run_id] += 1
            self._unkept[run.run_id] = run

    async def _in_turn(self, run: ServerRun, context: SearchContext | None) -> RunChange | None:
        """Execute the run in its turn and store what became of it; None where it was lost."""
        async with self._turns.of(run.tenant_id, run.run_id):
            try:
                may_retry = self._outages[run.run_id] < RETRIES
                change = await self._graph_runs.execute(run, context, may_retry=may_retry)
            except RunLost:
                return None
            return change if await self._settle(run, change) else None

    async def _settle(self, run: ServerRun, change: RunChange) -> bool:
        """Close the gate that the run has passed, and store what became of the run."""
        if run.gate_id is not None and run.gate_id != change.get("gate_id"):
            await offload((await self._gates()).close, run.tenant_id, run.gate_id)
        if change.get("status") == "waiting":
            change = {**change, "owner": ""}
        return await self._change(run, change, expected={"running"}, owner=self._owner)

    async def _resume_decided(self, run: ServerRun, gate_id: str) -> None:
        """Resume a run whose gate was decided before the run was stored as one that waits."""
        gate = await offload((await self._gates()).get, run.tenant_id, gate_id)
        if gate is not None and gate.state == "decided":
            await self.resume(gate)

    async def _give_up(self, run: ServerRun) -> None:
        """End the task of a run that another server has taken over."""
        task = self._tasks.get(run.run_id)
        found = await offload(self._store.get, run.tenant_id, run.run_id) if task else None
        if task and found and found.status == "running" and found.owner != self._owner:
            logger.warning("The run %s was taken over by another server.", run.run_id)
            task.cancel()
            await asyncio.wait([task])

    async def _leave(self, run: ServerRun) -> None:
        """Clean up after a run that was ended or deleted by another one."""
        found = await offload(self._store.get, run.tenant_id, run.run_id)
        logger.info("The run %s was ended elsewhere.", run.run_id)
        if found is None or (not found.is_active and found.owner == self._owner):
            await self._clean(run)

    async def _clean(self, run: ServerRun, user: str | None = None) -> None:
        """Delete what an ended run needs no more, and then tell that nothing is left."""
        if run.graph == "collection_review":
            await self._reject_gates(run, user)
        await self._graph_runs.forget(run)
        await self._change(run, {"owner": ""}, expected=ENDED)
        await offload(self._store.forget_oldest, run.tenant_id, keep=self._kept)

    async def _reject_gates(self, run: ServerRun, user: str | None) -> None:
        """Decide the gates of a run that has ended, so that nobody is asked any more."""
        gates = await self._gates()
        waiting = await offload(gates.gates, run.tenant_id, state="open", collection=run.collection)
        decision = {"status": "rejected", "comment": "The run was ended."}
        facade = CollectionReviewGraph(
            self._graph_runs.base.model_copy(update={"tenant_id": run.tenant_id}),
            checkpointer=self._graph_runs.checkpointer,
        )
        asked = [gate.gate_id for gate in waiting if gate.thread_id == run.run_id]
        for gate_id in asked:
            with suppress(CollectionSearchError):  # it was decided meanwhile
                await facade.asettle(gate_id, decision, approver=user)
        for gate_id in filter(None, {*asked, run.gate_id}):
            await offload(gates.close, run.tenant_id, gate_id)

    async def _change(self, run: ServerRun, change: RunChange, **conditions: Any) -> bool:
        """Change the stored run, and tell those who follow it."""
        is_changed = await offload(
            self._store.change, run.tenant_id, run.run_id, change, **conditions
        )
        self._graph_runs.changes.tell(run.run_id)
        return is_changed

    async def _gates(self) -> GateStore:
        return (await self._graph_runs.base.storage()).gates

    async def _is_left(self, run: ServerRun) -> bool:
        return _is_left(run, await offload(self._store.lease_holders))

    def _has_left(self, run: ServerRun) -> bool:
        """Return whether a run of this owner ended, but could not be cleaned up after."""
        return run.owner == self._owner and run.run_id not in self._tasks

    def _drop(self, run_id: str, ended: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is ended:  # else the run has been resumed
            del self._tasks[run_id]
            if run_id not in self._unkept:
                self._outages.pop(run_id, None)


def _is_left(run: ServerRun, holders: Collection[str]) -> bool:
    """Return whether nobody executes the run, or cleans up after it, any more.

    A process of this host that has ended is known at once, any other one by its lease.
    """
    process, _, _ = run.owner.partition("/")
    if process == this_process():
        return run.owner not in _living
    return run.owner not in holders or is_gone(process)
