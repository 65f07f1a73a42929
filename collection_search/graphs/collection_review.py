"""The collection review graph: as the search graph, but a person decides what is ingested."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final, cast

from ..context import SearchContext
from ..contracts.inputs import ReviewInput
from ..errors import AlreadyDecidedError, InputError
from ..runtime.concurrency import offload, run_blocking
from ..tools.public_arguments import validate_arguments
from ..tools.reviews import (
    describe_decided,
    reject_without_run,
    require_gate,
    require_open_gate,
    settle_review,
    validate_decision,
)
from ..tools.served_runs import is_served
from .collection_search import REVIEW_NAME, build_graph
from .review_runs import ReviewRuns, rejected_without_run, result_of, waits_at
from .review_sweep import sweep_reviews
from .validating_graph import validate_input

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.types import StateSnapshot

    from ..contracts.review import Gate, Review
    from ..ports import GateStore
    from .review_runs import OnEvent, ReviewResult
    from .review_sweep import Resume

NAME: Final = REVIEW_NAME
_GOES_ON: Final = "The server that began the run goes on with it."
_WITHDRAWN: Final = "The review is withdrawn, and nothing else was changed."

graph = build_graph(review=True)


class CollectionReviewGraph:
    """The review graph with a context of its own, and with checkpoints that outlive the process.

    They are in the settings' data folder, unless a `checkpointer` is given; there those of an
    ended run are deleted. A checkpointer needs LangGraph's asynchronous methods, since `run` and
    the like block on them; one that is bound to an event loop serves the coroutines in that loop.
    """

    def __init__(
        self,
        context: SearchContext | None = None,
        *,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        validate_arguments(context=context)
        self.context = context or SearchContext()
        self._checkpointer = checkpointer
        self._runs = ReviewRuns(self.context, checkpointer)

    def run(self, state: Mapping[str, Any]) -> ReviewResult:
        """Return what `arun` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.arun(state))

    async def arun(
        self, state: Mapping[str, Any], *, on_event: OnEvent | None = None
    ) -> ReviewResult:
        """Search and rank, and return at the gate: `request` is what a person is asked.

        `on_event` gets the events of the custom stream. Raises InputError naming each wrong field,
        ConfigError, StoreError. A failing provider, model or ingestion is an outcome.
        """
        given = validate_input(ReviewInput, state).model_dump()
        return await self._runs.begin(f"review-{uuid.uuid4().hex}", given, on_event)

    def gates(self, *, collection: str | None = None) -> list[Gate]:
        """Return what `agates` returns. Blocks."""
        return run_blocking(self.agates(collection=collection))

    async def agates(self, *, collection: str | None = None) -> list[Gate]:
        """Return the tenant's open gates, the oldest first. Raises ConfigError, StoreError."""
        store = await self._gate_store()
        return await offload(
            store.gates, self.context.tenant(), state="open", collection=collection
        )

    async def agate(self, gate_id: str) -> Gate:
        """Return an open gate. Raises InputError, which says how a decided one was decided."""
        store = await self._gate_store()
        return await offload(require_open_gate, store, self.context.tenant(), gate_id)

    async def afind_gate(self, gate_id: str) -> Gate:
        """Return a gate, open or decided. Raises InputError for an unknown one."""
        store = await self._gate_store()
        return await offload(require_gate, store, self.context.tenant(), gate_id)

    def decide(
        self, gate_id: str, decision: Mapping[str, Any], *, approver: str | None = None
    ) -> ReviewResult:
        """Return what `adecide` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.adecide(gate_id, decision, approver=approver))

    async def adecide(
        self,
        gate_id: str,
        decision: Mapping[str, Any],
        *,
        approver: str | None = None,
        on_event: OnEvent | None = None,
    ) -> ReviewResult:
        """Decide an open gate, resume its run to its end or next gate, and return the output.

        `decision` has the fields of `ReviewDecision`; the status `pending` leaves the gate open, or
        after the deadline has its policy applied. A run of `collection-search serve` goes on in
        the server, and `left_to_server` says so. A rejection counts also where the run is not in
        these checkpoints: a host's graph obeys it when it goes on.

        Raises InputError, and changes nothing, for an unknown gate, a decision that is not valid,
        one after the deadline, a gate at which its run does not wait any more, and a gate that was
        decided before: that is an AlreadyDecidedError, whose message says by whom.
        """
        gate = await self.agate(gate_id)
        if await is_served(self.context, gate):
            return await self._leave_to_server(gate, decision, approver)
        answer = validate_decision(gate, decision)
        if answer.status == "rejected" and await self._is_without_run(gate):
            store = await self._gate_store()
            closed = await offload(reject_without_run, store, gate, answer, approver=approver)
            return rejected_without_run(closed)
        decided = await self.asettle(gate_id, decision, approver=approver)
        if decided.state != "open":
            return await self._runs.finish(decided, on_event)
        return result_of(str(decided.thread_id), await self._require_state(decided))

    async def _leave_to_server(
        self, gate: Gate, decision: Mapping[str, Any], approver: str | None
    ) -> ReviewResult:
        """Decide the gate of a server's run, and return the output that the run has so far."""
        state = await self._require_state(gate)  # the server may delete it after the decision
        result = result_of(str(gate.thread_id), state)
        decided = await self.asettle(gate.gate_id, decision, approver=approver)
        if decided.state == "open":
            return result
        review = cast("Review", decided.decision)
        told = f"The review is decided: {review['status']}. {_GOES_ON}"
        return {
            **result,
            "review": review,
            "summary": told,
            "request": None,
            "left_to_server": True,
        }

    async def asettle(
        self, gate_id: str, decision: Mapping[str, Any], *, approver: str | None = None
    ) -> Gate:
        """Decide an open gate as `adecide` does, but leave its run to the caller to resume.

        Return the gate; it is still open where nothing was decided.
        """
        gate, store = await self.agate(gate_id), await self._gate_store()
        answer = validate_decision(gate, decision)
        state = await self._require_state(gate)
        if not waits_at(gate, state):
            await self.agate(gate_id)  # raises where somebody has decided it meanwhile
            is_withdrawn = await self._runs.withdraw(gate, state)
            raise InputError(
                f"The run of {gate_id} does not wait at this review any more: it has ended, or was"
                f" changed and asks anew. {_WITHDRAWN if is_withdrawn else 'Nothing was changed.'}"
            )
        now = await offload(store.now)
        review = settle_review(gate, answer, approver=approver, now=now)
        if review is None:
            return gate
        if review["decided_by"] == "deadline" and answer.status != "pending":
            await self.agate(gate_id)  # raises where it was decided meanwhile
            raise InputError(
                f"The deadline of {gate_id} was {review['deadline']}: its policy {gate.policy!r}"
                " decides now, and your answer changes nothing. A sweep carries it out."
            )
        decided = await offload(store.decide, gate.tenant_id, gate_id, review)
        if not decided.is_new_decision:
            raise AlreadyDecidedError(describe_decided(decided))
        return decided

    def sweep(self) -> list[Gate]:
        """Return what `asweep` returns. Blocks, inside a running event loop too."""
        return run_blocking(self.asweep())

    async def asweep(self, resume: Resume | None = None) -> list[Gate]:
        """Apply the policy of every gate whose deadline has passed; return these gates.

        Runs that were decided but did not end, since their process died, are resumed as well. Gates
        of all tenants count whose runs are in these checkpoints; a LangGraph server's runs are not.
        Those of `collection-search serve` are resumed by the server alone. A run that fails is
        logged, and the others are resumed all the same. A host's `resume` gets each decided gate
        first, and returns whether it resumes the run by itself.
        """
        return await sweep_reviews(self.context, self._checkpointer, resume)

    async def _is_without_run(self, gate: Gate) -> bool:
        """Return whether a gate of a program has no run here; those of LangGraph servers differ."""
        return gate.host == "process" and await self._runs.find_state(gate) is None

    async def _require_state(self, gate: Gate) -> StateSnapshot:
        """Return the state of the gate's run. Raises InputError where it is not found here."""
        if (state := await self._runs.find_state(gate)) is not None:
            return state
        await self.agate(gate.gate_id)  # raises where it was decided meanwhile
        raise InputError(
            f"The run of {gate.gate_id} is not in the checkpoints of this data folder. Answer it"
            " where it runs: on its LangGraph server, or in the program that started it."
            + (" It can be rejected here as well." if gate.host == "process" else "")
        )

    async def _gate_store(self) -> GateStore:
        return (await self.context.storage()).gates
