"""The port of the gates: reviews that runs have asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..contracts.review import DecidedBy, Gate, GateState, Review
    from ..contracts.stored_lists import GatePage


class GateStore(Protocol):
    """The durable state of every review; no read or write crosses a tenant."""

    def now(self) -> float:
        """Return the Unix time by which deadlines are judged."""
        ...

    def open(self, gate: Gate) -> Gate:
        """Store the gate, unless one of this tenant and id is there, and return the stored one.

        One that was withdrawn is opened anew.
        """
        ...

    def get(self, tenant_id: str, gate_id: str) -> Gate | None:
        """Return a gate of this tenant, or None."""
        ...

    def gates(
        self,
        tenant_id: str,
        *,
        state: GateState | None = None,
        collection: str | None = None,
        opened_from: float = 0.0,
    ) -> list[Gate]:
        """Return the tenant's gates, the oldest first; `opened_from` is a Unix time."""
        ...

    def waiting(
        self, tenant_id: str, *, collection: str | None = None, offset: int = 0, limit: int = 50
    ) -> GatePage:
        """Return a part of the tenant's open gates without their candidates, the oldest first."""
        ...

    def waiting_counts(self, tenant_id: str) -> dict[str, int]:
        """Return the number of open gates by collection, without those that have none."""
        ...

    def decided(
        self,
        tenant_id: str,
        *,
        collection: str | None = None,
        decided_by: DecidedBy | None = None,
        limit: int,
    ) -> list[Gate]:
        """Return the last `limit` decided gates, closed ones too, the newest decision first.

        Equal times stand in the opposite order of their opening.
        """
        ...

    def threads(self, tenant_id: str, collection: str | None = None) -> list[str]:
        """Return the `thread_id` of each gate, sorted, each once, of a tenant or a collection.

        Withdrawn gates count here and in the figures of a deletion: the checkpoints of their runs
        are there until they are deleted too.
        With a collection, a run that has come to a gate of another one since then is left out.

        A deletion of the tenant or the collection deletes the gates: read the threads before it to
        delete their checkpoints.
        """
        ...

    def decide(self, tenant_id: str, gate_id: str, review: Review) -> Gate:
        """Store the decision of an open gate in one compare-and-set, and return the gate.

        A gate that was decided before keeps its decision, and is no `is_new_decision`. Raises
        InputError for an unknown gate and for a review whose status is `pending`.
        """
        ...

    def withdraw(self, tenant_id: str, gate_id: str) -> bool:
        """Withdraw an open gate, since no run waits at it; False when it is decided or unknown.

        Its question and candidates are erased, and no method but `threads` knows it any more.
        """
        ...

    def take_over(self, gate: Gate) -> bool:
        """Mark a decided gate as changed now, before its run is resumed for a dead process.

        False when somebody else did so since the gate was read.
        """
        ...

    def close(self, tenant_id: str, gate_id: str) -> bool:
        """Mark a decided gate as closed; False when it is open, closed already or unknown."""
        ...

    def unfinished(self, tenant_id: str | None = None) -> list[Gate]:
        """Return the gates for a sweeper, the oldest first; of all tenants where none is named.

        They are open ones whose deadline has passed, except with the policy `keep_pending`, and
        decided ones that are not closed; not those that are decided on a LangGraph server, which
        goes on with their runs by itself.
        """
        ...

    def newly_decided(self, changed_from: float) -> list[Gate]:
        """Return the decided gates of all tenants that are not closed, the oldest first.

        `changed_from` is the Unix time from which they were decided or taken over.
        """
        ...
