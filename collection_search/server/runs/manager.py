"""The runs of one server process, for its callers."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Any, Final

from ...contracts.inputs import ReviewInput, SearchInput
from ...contracts.server_run import RUN_PREFIX, ServerRun
from ...graphs.collection_review import CollectionReviewGraph
from ...graphs.validating_graph import validate_input
from ...runtime.concurrency import offload
from ...runtime.failure_log import log_failure
from ...text.question_mask import QuestionMask
from ...tools.ingestion.ownership import this_process
from ...tools.served_runs import may_be_served
from .caller_choices import read_choices, read_run_choices
from .changes import Changes
from .graph_runs import GraphRuns
from .run_tasks import RunTasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langgraph.graph.state import CompiledStateGraph

    from ...context import SearchContext
    from ...contracts.review import Gate
    from ...contracts.server_run import RunGraph
    from ...ports.run_store import RunStore

logger = logging.getLogger(__name__)

_INPUTS: Final = {"collection_search": SearchInput, "collection_review": ReviewInput}
_CLOCKS_S: Final = 60.0
"""By so much the clocks of two processes may differ."""


class RunManager:
    """Starts, finds and resumes the runs of all tenants; `tasks` executes and cancels them.

    Every method takes the tenant of the authenticated caller. A run of another tenant is unknown.
    """

    def __init__(
        self,
        base: SearchContext,
        store: RunStore,
        graphs: Mapping[str, CompiledStateGraph[Any, Any, Any, Any]],
    ) -> None:
        self._base = base
        self.store = store
        self.changes = Changes()
        owner = f"{this_process()}/{uuid.uuid4().hex[:12]}"
        self._graph_runs = GraphRuns(base, graphs, store, owner, self.changes)
        self.tasks = RunTasks(self._graph_runs)
        self._seen_until = 0.0
        """Unix time up to which decisions of other programs are known."""
        self._unresumed: dict[tuple[str, str], Gate] = {}
        """Decided gates, by tenant and id, whose runs could not be resumed."""

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
        run_id = f"{RUN_PREFIX}{uuid.uuid4().hex}"
        validated = validate_input(_INPUTS[graph], given).model_dump()
        context = await read_choices(self._base, tenant, choices, run_id=run_id)
        shown = await offload(lambda: QuestionMask.of(validated).mask(validated))
        run = ServerRun(
            run_id=run_id,
            tenant_id=tenant,
            graph=graph,
            user=user,
            question=shown["question"],
            collection=validated["collection_scope"],
            given=shown,
            choices=dict(choices or {}),
            owner=self._graph_runs.owner,
        )
        return await self.tasks.start(run, validated, context)

    async def find(self, tenant: str, run_id: str) -> ServerRun | None:
        """Return a run of the tenant, or None."""
        return await offload(self.store.get, tenant, run_id)

    async def recent(self, tenant: str, *, limit: int) -> list[ServerRun]:
        """Return the tenant's last runs, the newest first, without their output."""
        return await offload(self.store.runs, tenant, limit=limit)

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
            await self.tasks.resume(decided)
        return await self.find(gate.tenant_id, run.run_id)

    async def context_of(
        self, tenant: str, choices: Mapping[str, Any] | None = None, *, run_id: str | None = None
    ) -> SearchContext:
        """Return the context of what a caller of the tenant does. Raises ConfigError."""
        return await read_choices(self._base, tenant, choices, run_id=run_id)

    def nodes(self) -> dict[str, list[str]]:
        """Return the nodes of each graph in order."""
        graphs = self._graph_runs.graphs.items()
        return {name: [one for one in graph.nodes if one[0] != "_"] for name, graph in graphs}

    async def sweep_gates(self) -> None:
        """Apply the deadlines of gates, and resume runs whose decision nobody carried out."""
        await self._facade(None).asweep(self.tasks.resume)

    async def resume_decided(self) -> None:
        """Go on with the runs that wait, and whose gates were decided by another program.

        Only decisions since the last look are looked at, and those whose run could not be resumed.
        """
        store = (await self._base.storage()).gates
        now = await offload(store.now)
        new = await offload(store.newly_decided, self._seen_until - _CLOCKS_S)
        self._seen_until = now
        due = self._unresumed | {(gate.tenant_id, gate.gate_id): gate for gate in new}
        for key, gate in due.items():
            if not may_be_served(gate):
                continue
            try:
                await self.tasks.resume(gate)
            except Exception as error:  # noqa: BLE001 - the other runs do not wait for this one
                log_failure(logger, f"The run of {gate.gate_id} could not be resumed", error)
                self._unresumed[key] = gate
            else:
                self._unresumed.pop(key, None)

    async def close(self) -> None:
        """Stop all runs; the next server on the data folder resumes them."""
        self.changes.close()
        await self.tasks.close()

    def _facade(self, tenant: str | None) -> CollectionReviewGraph:
        context = self._base.model_copy(update={"tenant_id": tenant})
        return CollectionReviewGraph(context, checkpointer=self._graph_runs.checkpointer)
