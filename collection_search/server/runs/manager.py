"""The runs of one server process: begun, cancelled, resumed, and taken over from a dead process."""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...contracts.inputs import ReviewInput, SearchInput
from ...contracts.server_run import ACTIVE, ServerRun
from ...errors import CollectionSearchError
from ...graphs.collection_review import CollectionReviewGraph
from ...graphs.validating_graph import validate_input
from ...runtime.concurrency import offload
from ...text.redaction import error_message
from ...tools.ingestion.ownership import is_gone, this_process
from .caller_choices import read_choices, read_run_choices
from .changes import Changes
from .graph_runs import GraphRuns, RunLost
from .masking import RunMask
from .run_turns import Turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langgraph.graph.state import CompiledStateGraph

    from ...context import SearchContext
    from ...contracts.review import Gate
    from ...contracts.server_run import RunChange, RunGraph
    from ...ports.run_store import RunStore

_INPUTS: Final = {"collection_search": SearchInput, "collection_review": ReviewInput}
_living: Final[set[str]] = set()
"""Owners of this process whose server still runs."""

logger = logging.getLogger(__name__)


class RunManager:
    """Executes the runs of all tenants on one event loop; at most so many of one tenant at once.

    Every method takes the tenant of the authenticated caller. A run of another tenant is unknown.
    """

    def __init__(
        self,
        base: SearchContext,
        store: RunStore,
        graphs: Mapping[str, CompiledStateGraph[Any, Any, Any, Any]],
    ) -> None:
        settings = base.using()
        self._base = base
        self._checkpointer = graphs["collection_review"].checkpointer
        self._kept = settings.server_runs_kept
        self._turns = Turns(settings.server_runs_per_tenant)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._owner = f"{this_process()}/{uuid.uuid4().hex[:12]}"
        self.store = store
        self.changes = Changes()
        self._graph_runs = GraphRuns(base, graphs, store, self._owner, self.changes)
        _living.add(self._owner)

    async def start(
        self,
        tenant: str,
        user: str,
        graph: RunGraph,
        given: Mapping[str, Any],
        choices: Mapping[str, Any] | None = None,
    ) -> ServerRun:
        """Return the new run, which goes on in the background.

        Raises InputError for the input, ConfigError for the choices, StoreError.
        """
        run_id = f"run-{uuid.uuid4().hex}"
        validated = validate_input(_INPUTS[graph], given).model_dump()
        context = await read_choices(self._base, tenant, choices, run_id=run_id)
        shown = await offload(lambda: RunMask(validated["question"]).mask(validated))
        run = ServerRun(
            run_id=run_id,
            tenant_id=tenant,
            graph=graph,
            user=user,
            question=shown["question"],
            collection=validated["collection_scope"],
            given=shown,
            choices=dict(choices or {}),
            owner=self._owner,
        )
        run = await offload(self.store.add, run)
        self._begin(run, validated, context)
        return run

    async def find(self, tenant: str, run_id: str) -> ServerRun | None:
        """Return a run of the tenant, or None."""
        return await offload(self.store.get, tenant, run_id)

    async def recent(self, tenant: str, *, limit: int) -> list[ServerRun]:
        """Return the tenant's last runs, the newest first, without their output."""
        return await offload(self.store.runs, tenant, limit=limit)

    def is_queued(self, run: ServerRun) -> bool:
        """Return whether the run waits for its turn."""
        return self._turns.is_waiting(run.run_id)

    async def cancel(self, run: ServerRun, user: str) -> bool:
        """End a run that runs or waits; False where it has ended already.

        When this returns, the run of this process makes no further call. The gate of a run that
        waits is rejected.
        """
        was_running = await offload(
            self.store.change, run.tenant_id, run.run_id, _CANCELLED, expected=ACTIVE
        )
        if not was_running:
            return False
        if task := self._tasks.get(run.run_id):
            task.cancel()
            await asyncio.wait([task])
        if run.gate_id is not None:
            await self._reject(run, user)
        await self._end(run)
        return True

    async def decide(
        self, gate: Gate, decision: Mapping[str, Any], *, user: str
    ) -> ServerRun | None:
        """Decide the gate of a run as this user; return the run, which goes on in the background.

        None, and nothing is decided, where another program began the run. Changes nothing where it
        raises: InputError as `CollectionReviewGraph.adecide` does, ConfigError for a choice of the
        run that the settings do not have any more.
        """
        run = await self.find(gate.tenant_id, str(gate.thread_id))
        if run is None:
            return None
        await read_run_choices(self._base, run)
        facade = self._facade(gate.tenant_id)
        decided = await facade.asettle(gate.gate_id, decision, approver=user)
        if decided.state == "decided":
            await self._resume(decided)
        return await self.find(gate.tenant_id, run.run_id)

    async def resume(
        self, run: ServerRun, decision: Mapping[str, Any], *, user: str
    ) -> ServerRun | None:
        """Return what `decide` returns for the gate at which the run waits."""
        gate = await self._facade(run.tenant_id).agate(str(run.gate_id))
        return await self.decide(gate, decision, user=user)

    async def context_of(
        self, tenant: str, choices: Mapping[str, Any] | None = None, *, run_id: str | None = None
    ) -> SearchContext:
        """Return the context of what a caller of the tenant does. Raises ConfigError."""
        return await read_choices(self._base, tenant, choices, run_id=run_id)

    def nodes(self) -> dict[str, list[str]]:
        """Return the nodes of each graph in order."""
        graphs = self._graph_runs.graphs.items()
        return {name: [one for one in graph.nodes if one[0] != "_"] for name, graph in graphs}

    async def sweep(self) -> None:
        """Apply the deadlines of gates, and take over the runs of processes that have ended."""
        await self._facade(None).asweep(self._resume)
        await self.recover()

    async def recover(self) -> None:
        """Resume the running runs that nobody executes; without a checkpoint they are marked."""
        for run in await offload(self.store.running):
            if _is_orphan(run) and await offload(self.store.take_over, run, self._owner):
                self._begin(replace(run, owner=self._owner))

    async def close(self) -> None:
        """Stop all runs; the next server on the data folder resumes them."""
        self.changes.close()
        tasks = dict(self._tasks)
        for task in tasks.values():
            task.cancel()
        if tasks:
            await asyncio.wait(tasks.values())
        for run in await offload(self.store.running):
            if run.owner == self._owner:
                await offload(self.store.take_over, run, "")
        _living.discard(self._owner)

    def _begin(
        self,
        run: ServerRun,
        given: Mapping[str, Any] | None = None,
        context: SearchContext | None = None,
    ) -> None:
        """Execute the run in a task, which has nothing of the request that began it.

        Without `given` it goes on from its last checkpoint; without a context its own choices are
        read again.
        """
        task = asyncio.get_running_loop().create_task(
            self._executed(run, given, context), name=run.run_id, context=Context()
        )
        self._tasks[run.run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run.run_id, None))

    async def _executed(
        self, run: ServerRun, given: Mapping[str, Any] | None, context: SearchContext | None
    ) -> None:
        try:
            async with self._turns.of(run.tenant_id, run.run_id):
                change = await self._graph_runs.execute(run, given, context)
                await self._settle(run, change)
        except RunLost:
            logger.info("The run %s was ended elsewhere.", run.run_id)
            if await self.find(run.tenant_id, run.run_id) is None:
                await self._graph_runs.forget(run)
        except Exception as error:  # noqa: BLE001 - a task has nobody to raise to
            logger.warning("The run %s could not be kept: %s", run.run_id, error_message(error))

    async def _settle(self, run: ServerRun, change: RunChange) -> None:
        """Store what became of the run. Its gate is closed, and an ended run needs no more."""
        is_ours = await offload(
            self.store.change,
            run.tenant_id,
            run.run_id,
            change,
            expected={"running"},
            owner=self._owner,
        )
        if is_ours and run.gate_id is not None:
            gates = (await self._base.storage()).gates
            await offload(gates.close, run.tenant_id, run.gate_id)
        if is_ours and change.get("status") not in ACTIVE:
            await self._end(run)
        self.changes.tell(run.run_id)

    async def _end(self, run: ServerRun) -> None:
        self.changes.tell(run.run_id)
        await self._graph_runs.forget(run)
        await offload(self.store.forget_oldest, run.tenant_id, keep=self._kept)

    async def _resume(self, gate: Gate) -> bool:
        """Go on with the run of a decided gate; False where it is no run of a server."""
        run = await self.find(gate.tenant_id, str(gate.thread_id))
        if run is None:
            return False
        if run.run_id in self._tasks or not run.is_active:
            return True
        change: RunChange = {"status": "running", "owner": self._owner, "gate_id": gate.gate_id}
        is_ours = await offload(
            self.store.change, run.tenant_id, run.run_id, change, expected={"waiting"}
        )
        if is_ours:
            owned = replace(run, owner=self._owner, status="running", gate_id=gate.gate_id)
            self.changes.tell(run.run_id)
            self._begin(owned)
        return True

    async def _reject(self, run: ServerRun, user: str) -> None:
        """Decide the gate of a cancelled run, so that nobody is asked any more."""
        decision = {"status": "rejected", "comment": "The run was cancelled."}
        gate_id = str(run.gate_id)
        with suppress(CollectionSearchError):  # it was decided meanwhile
            await self._facade(run.tenant_id).asettle(gate_id, decision, approver=user)
        gates = (await self._base.storage()).gates
        await offload(gates.close, run.tenant_id, gate_id)

    def _facade(self, tenant: str | None) -> CollectionReviewGraph:
        context = self._base.model_copy(update={"tenant_id": tenant})
        return CollectionReviewGraph(context, checkpointer=self._checkpointer)  # type: ignore[arg-type]


_CANCELLED: Final[RunChange] = {"status": "cancelled"}


def _is_orphan(run: ServerRun) -> bool:
    """Return whether nobody executes the run any more."""
    process, _, _ = run.owner.partition("/")
    if process == this_process():
        return run.owner not in _living
    return not process or is_gone(process)
