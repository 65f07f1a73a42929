"""The tasks in which a process executes runs: begun, resumed, taken over, cancelled, cleaned up."""

from __future__ import annotations

import asyncio
import logging
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from ...contracts.server_run import ACTIVE
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure
from ...text.redaction import error_message
from ...tools.ingestion.ownership import is_gone, this_process
from .executions import Execution
from .graph_runs import NO_END, RunLost, reject_output
from .run_ends import RunEnds
from .run_turns import Turns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...context import SearchContext
    from ...contracts.review import Gate
    from ...contracts.server_run import RunChange, ServerRun
    from .graph_runs import GraphRuns

LEASE_S: Final = 15.0
"""After this time without a sign of life the runs of a server are left to the others."""
RENEW_S: Final = 5.0
"""Interval between two signs of life, and between two looks at what others have left."""
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
        self._turns = Turns(graph_runs.base.using().server_runs_per_tenant)
        self._graph_runs = graph_runs
        self._ends = RunEnds(graph_runs)
        self._store, self._owner = graph_runs.store, graph_runs.owner
        self._change = graph_runs.change
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._executions: dict[str, Execution] = {}
        """Those that have a task, and those of which the store could not keep something."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Who begins or ends the task of a run holds its lock; the task itself does not."""
        self._is_closed = False
        _living.add(self._owner)

    def is_queued(self, run: ServerRun) -> bool:
        """Return whether the run waits for its turn."""
        return self._turns.is_waiting(run.run_id)

    async def start(
        self, run: ServerRun, given: Mapping[str, Any], context: SearchContext
    ) -> ServerRun:
        """Store a new run of this owner and its input, and execute it in the background.

        What is stored goes on after the end of the process. Raises StoreError; a run whose input
        may not be stored is left to the next sweep.
        """
        async with self._lock_of(run.run_id):
            run = await offload(self._store.add, run)
            await self._graph_runs.keep_input(run, given)
            self._begin(Execution(run), context)
        return run

    async def resume(self, gate: Gate) -> bool:
        """Go on with the run of a decided gate; False where it is no run of a server.

        A run that has not come to wait yet goes on as soon as it does. One that has gone on, or
        waits at another gate, is not changed.
        """
        change: RunChange = {"status": "running", "owner": self._owner, "gate_id": gate.gate_id}
        async with self._lock_of(str(gate.thread_id)):
            run = await offload(self._store.get, gate.tenant_id, str(gate.thread_id))
            if run is None:
                return False
            if run.status == "waiting" and run.gate_id != gate.gate_id:
                return True
            if await self._change(run, change, expected={"waiting"}):
                resumed = replace(run, owner=self._owner, status="running", gate_id=gate.gate_id)
                self._begin(Execution(resumed))
        return True

    async def cancel(self, run: ServerRun, user: str) -> bool:
        """End a run that runs or waits; False where it has ended already.

        When this returns, the run makes no further call in this process. Its gate is rejected in
        the name of the user.
        """
        async with self._lock_of(run.run_id):
            if not await self._end(run):
                return False
            if task := self._tasks.get(run.run_id):
                task.cancel()
                await asyncio.wait([task])
            ended = await offload(self._store.get, run.tenant_id, run.run_id)
            if ended is not None and ended.outcome == "review_pending":
                await self._change(ended, reject_output(ended), expected={"cancelled"})
            if ended is None or ended.owner in {"", self._owner} or await self._is_left(ended):
                await self._ends.clean(ended or run, user)
            self._executions.pop(run.run_id, None)  # what fails before is left to the next sweep
        return True

    async def renew(self) -> None:
        """Tell the other servers that this one is alive. Raises StoreError."""
        await offload(self._store.renew, self._owner, lease_s=LEASE_S)

    async def recover(self) -> None:
        """Go on with the runs that nobody executes, and clean up after those that ended.

        Those are runs that other servers have left, and runs of this one of which the store could
        not keep something. What is executed here although another server has taken it over is given
        up. That happens to a server that was paused for longer than its lease.
        """
        runs = await offload(self._store.unfinished)
        holders = await offload(self._store.lease_holders) if runs else set()
        known = {one.run.run_id: one.run for one in self._executions.values()}
        for run in (known | {run.run_id: run for run in runs}).values():
            if run.run_id in known or run.owner == self._owner or _is_left(run, holders):
                try:
                    await self._look_after(run, holders)
                except Exception as error:  # noqa: BLE001 - the other runs do not wait for this one
                    log_failure(logger, f"The run {run.run_id} could not be looked after", error)

    async def close(self) -> None:
        """Stop all runs; the next server on the data folder resumes them."""
        self._is_closed = True
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

    def _begin(self, execution: Execution, context: SearchContext | None = None) -> None:
        """Go on with the run in a task, which has nothing of the request that began it."""
        if self._is_closed:
            return  # the run is the next server's
        run_id = execution.run.run_id
        task = asyncio.get_running_loop().create_task(
            self._executed(execution, context), name=run_id, context=Context()
        )
        former = self._tasks.get(run_id)
        if former is not None and former is not asyncio.current_task():
            former.cancel()  # it has lost the run, which has come back to this server
        self._tasks[run_id], self._executions[run_id] = task, execution
        task.add_done_callback(lambda ended: self._drop(run_id, ended))

    async def _executed(self, execution: Execution, context: SearchContext | None) -> None:
        run = execution.run
        try:
            change = await self._settled(execution, context)
            if change is None:
                await self._leave(run)
            elif change.get("status") == "waiting":
                await self._resume_decided(run, str(change.get("gate_id")))
            else:
                await self._ends.clean(run)
        except Exception as error:  # noqa: BLE001 - a task has nobody to raise to
            logger.warning("The run %s could not be kept: %s", run.run_id, error_message(error))
        else:
            self._forget(execution)

    async def _settled(
        self, execution: Execution, context: SearchContext | None
    ) -> RunChange | None:
        """Execute the run in its turn and store what became of it; None where it was lost.

        What an earlier execution had as its result is only stored.
        """
        if execution.change is not None:
            return await self._ends.settle(execution, execution.change)
        async with self._turns.of(execution.run.tenant_id, execution.run.run_id):
            try:
                change = await self._execute(execution, context)
            except RunLost:
                return None
            return await self._ends.settle(execution, change)

    async def _execute(self, execution: Execution, context: SearchContext | None) -> RunChange:
        """Execute the run, if it may be executed once more. Raises RunLost, StoreError."""
        if not execution.may_retry:
            return NO_END
        execution.begun += 1
        return await self._graph_runs.execute(execution.run, context, may_retry=execution.may_retry)

    async def _resume_decided(self, run: ServerRun, gate_id: str) -> None:
        """Resume a run whose gate was decided before the run was stored as one that waits."""
        if gate := await self._ends.find_decided(run, gate_id):
            await self.resume(gate)

    async def _look_after(self, run: ServerRun, holders: Collection[str]) -> None:
        """Do what is left to do for a run, if no task of this process does it."""
        execution, lock = self._executions.get(run.run_id), self._lock_of(run.run_id)
        if lock.locked():
            return  # somebody is about to begin or end it; the next sweep sees the result
        async with lock:
            task = self._tasks.get(run.run_id)  # before the run is read: the task may change it
            found = await offload(self._store.get, run.tenant_id, run.run_id)
            if task is not None and not await self._give_up(task, found):
                return
            is_left = found is not None and found.owner == run.owner and _is_left(run, holders)
            if found is None or not found.is_active:
                if found is None or is_left or found.owner == self._owner:
                    await self._ends.clean(found or run)
            elif found.status == "running":
                await self._take_up(found, is_left=is_left)
                return
        if found is not None and found.status == "waiting":  # outside of the lock, which it takes
            await self._resume_decided(found, str(found.gate_id))
        if execution is not None:
            self._forget(execution)

    async def _take_up(self, run: ServerRun, *, is_left: bool) -> None:
        """Go on with a running run that has no task, if it is this owner's or can be made so."""
        if run.owner == self._owner:
            execution = self._executions.get(run.run_id) or Execution(run)
            execution.run = run
            self._begin(execution)
            return
        self._executions.pop(run.run_id, None)
        if is_left and await offload(self._store.take_over, run, self._owner):
            self._begin(Execution(replace(run, owner=self._owner)))

    async def _give_up(self, task: asyncio.Task[None], found: ServerRun | None) -> bool:
        """End the task of a run that another server has taken over; False where none has."""
        if found is None or found.status != "running" or found.owner == self._owner:
            return False
        logger.warning("The run %s was taken over by another server.", found.run_id)
        task.cancel()
        await asyncio.wait([task])
        return True

    async def _leave(self, run: ServerRun) -> None:
        """Clean up after a run that was ended or deleted by another one."""
        found = await offload(self._store.get, run.tenant_id, run.run_id)
        logger.info("The run %s was ended or taken over elsewhere.", run.run_id)
        if found is None or (not found.is_active and found.owner == self._owner):
            await self._ends.clean(run)

    async def _end(self, run: ServerRun) -> bool:
        """Store that a run was cancelled. One that waited gets an owner, who cleans up after it."""
        owned: RunChange = {**_CANCELLED, "owner": self._owner}
        return await self._change(run, owned, expected={"waiting"}) or await self._change(
            run, _CANCELLED, expected=ACTIVE
        )

    async def _is_left(self, run: ServerRun) -> bool:
        return _is_left(run, await offload(self._store.lease_holders))

    def _lock_of(self, run_id: str) -> asyncio.Lock:
        return self._locks.setdefault(run_id, asyncio.Lock())

    def _forget(self, execution: Execution) -> None:
        run_id = execution.run.run_id
        if self._executions.get(run_id) is execution:  # else the run has been resumed
            del self._executions[run_id]

    def _drop(self, run_id: str, ended: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is ended:  # else the run has been resumed
            del self._tasks[run_id]


def _is_left(run: ServerRun, holders: Collection[str]) -> bool:
    """Return whether nobody executes the run, or cleans up after it, any more.

    A process of this host that has ended is known at once, any other one by its lease.
    """
    process, _, _ = run.owner.partition("/")
    if process == this_process():
        return run.owner not in _living
    return run.owner not in holders or is_gone(process)
