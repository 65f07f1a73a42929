"""Gates: the reviews that runs have asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ....contracts.review import Gate
from ....contracts.stored_lists import GatePage, WaitingGate
from ....errors import InputError
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....contracts.review import DecidedBy, GateState, Review
    from .connection import Connection, Database, Row

_COLUMNS: Final = (
    "gate_id",
    "tenant_id",
    "collection",
    "host",
    "thread_id",
    "state",
    "policy",
    "deadline",
    "opened_at",
    "changed_at",
)
_FACTS: Final = (
    "question",
    "round",
    "run_id",
    "trace_id",
    "candidates",
    "threshold",
    "threshold_reason",
    "may_search_again",
)
_SELECT: Final = f"""
    SELECT {", ".join(_COLUMNS)}, facts, decision, (
        SELECT json_group_array(content_ref) FROM (
            SELECT content_ref FROM gate_contents WHERE gate = gates.id ORDER BY position)
    ) AS content_refs FROM gates
"""
_LISTED: Final = """
    SELECT gate_id, collection, host, policy, deadline, opened_at,
        json_extract(facts, '$.question') AS question,
        CAST(json_extract(facts, '$.round') AS INTEGER) AS round,
        CAST(json_extract(facts, '$.threshold') AS DOUBLE PRECISION) AS threshold,
        json_array_length(facts, '$.candidates') AS candidate_count
"""
_WAITING: Final = """
    FROM gates WHERE tenant_id = :tenant AND state = 'open'
    AND (:collection IS NULL OR collection = :collection)
"""
_OLDEST_FIRST: Final = " ORDER BY opened_at, id"
_IS_WITHDRAWN: Final = "(gates.state = 'closed' AND gates.decision IS NULL)"
"""Such a row is kept for its thread alone, whose checkpoints are deleted with it."""


class SQLGates:
    """The gates: implements `collection_search.ports.GateStore`."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def now(self) -> float:
        """Return the Unix time by which deadlines are judged."""
        return self._clock()

    def open(self, gate: Gate) -> Gate:
        """Store the gate, unless one of this tenant and id is there, and return the stored one."""
        now = self._clock()
        row = {name: getattr(gate, name) for name in _COLUMNS}
        row |= {"state": "open", "opened_at": now, "changed_at": now}
        row["facts"] = to_json({name: getattr(gate, name) for name in _FACTS})
        with self._database.write(gate.tenant_id) as connection:
            anew = ", ".join(f"{name} = excluded.{name}" for name in row)
            added = connection.execute(
                f"INSERT INTO gates ({', '.join(row)}) VALUES (:{', :'.join(row)})"
                f" ON CONFLICT (tenant_id, gate_id) DO UPDATE SET {anew} WHERE {_IS_WITHDRAWN}"
                " RETURNING id",
                row,
            ).fetchone()
            if added is not None:
                connection.executemany(
                    "INSERT INTO gate_contents (gate, position, content_ref) VALUES (?, ?, ?)",
                    [(added["id"], n, ref) for n, ref in enumerate(gate.content_refs)],
                )
            return _require(connection, gate.tenant_id, gate.gate_id)

    def get(self, tenant_id: str, gate_id: str) -> Gate | None:
        """Return a gate of this tenant, or None."""
        with self._database.read(tenant_id) as connection:
            return _find(connection, tenant_id, gate_id)

    def gates(
        self,
        tenant_id: str,
        *,
        state: GateState | None = None,
        collection: str | None = None,
        opened_from: float = 0.0,
    ) -> list[Gate]:
        """Return the tenant's gates, the oldest first; `opened_from` is a Unix time."""
        return self._list(
            "tenant_id = :tenant AND (:state IS NULL OR state = :state)"
            " AND (:collection IS NULL OR collection = :collection) AND opened_at >= :from",
            {"tenant": tenant_id, "state": state, "collection": collection, "from": opened_from},
        )

    def waiting(
        self, tenant_id: str, *, collection: str | None = None, offset: int = 0, limit: int = 50
    ) -> GatePage:
        """Return a part of the tenant's open gates without their candidates, the oldest first."""
        of = {"tenant": tenant_id, "collection": collection, "offset": offset, "limit": limit}
        with self._database.read(tenant_id) as connection:
            total = connection.execute(f"SELECT count(*) {_WAITING}", of).fetchone()[0]
            page = f"{_LISTED} {_WAITING}{_OLDEST_FIRST} LIMIT :limit OFFSET :offset"
            return GatePage(total, [WaitingGate(**row) for row in connection.execute(page, of)])

    def waiting_counts(self, tenant_id: str) -> dict[str, int]:
        """Return the number of open gates by collection, without those that have none."""
        query = f"SELECT collection, count(*) AS waiting {_WAITING} GROUP BY collection"
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(query, {"tenant": tenant_id, "collection": None})
            return {row["collection"]: row["waiting"] for row in rows}

    def decided(
        self,
        tenant_id: str,
        *,
        collection: str | None = None,
        decided_by: DecidedBy | None = None,
        limit: int,
    ) -> list[Gate]:
        """Return the last `limit` decided gates, closed ones too, the newest decision first."""
        return self._list(
            "tenant_id = :tenant AND state != 'open'"
            " AND (:collection IS NULL OR collection = :collection)"
            " AND (:by IS NULL OR json_extract(decision, '$.decided_by') = :by)",
            {"tenant": tenant_id, "collection": collection, "by": decided_by, "limit": limit},
            order=" ORDER BY json_extract(decision, '$.decided_at') DESC, id DESC LIMIT :limit",
        )

    def threads(self, tenant_id: str, collection: str | None = None) -> list[str]:
        """Return the threads of the tenant's gates, each once, in order of their names."""
        threads: set[str] = set()
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                "SELECT thread_id, collection, state FROM gates WHERE tenant_id = ?"
                f" AND thread_id IS NOT NULL{_OLDEST_FIRST}",
                (tenant_id,),
            )
            for row in rows:
                if collection in (None, row["collection"]):
                    threads.add(row["thread_id"])
                elif row["state"] != "closed":  # the run has gone on to another collection
                    threads.discard(row["thread_id"])
        return sorted(threads)

    def decide(self, tenant_id: str, gate_id: str, review: Review) -> Gate:
        """Store the decision of an open gate in one compare-and-set, and return the gate."""
        if review["status"] == "pending":
            raise InputError("A review that is pending decides nothing: leave the gate open.")
        with self._database.write(tenant_id) as connection:
            decided = connection.execute(
                "UPDATE gates SET state = 'decided', decision = ?, changed_at = ?"
                " WHERE tenant_id = ? AND gate_id = ? AND state = 'open'",
                (to_json(review), self._clock(), tenant_id, gate_id),
            )
            gate = _require(connection, tenant_id, gate_id)
            return replace(gate, is_new_decision=decided.rowcount > 0)

    def withdraw(self, tenant_id: str, gate_id: str) -> bool:
        """Withdraw an open gate, since no run waits at it; False when it is decided or unknown."""
        with self._database.write(tenant_id) as connection:
            connection.enable_secure_delete()
            withdrawn = connection.execute(
                "UPDATE gates SET state = 'closed', facts = '{}', changed_at = ?"
                " WHERE tenant_id = ? AND gate_id = ? AND state = 'open' RETURNING id",
                (self._clock(), tenant_id, gate_id),
            ).fetchone()
            if withdrawn is not None:
                connection.execute("DELETE FROM gate_contents WHERE gate = ?", (withdrawn["id"],))
        self._database.truncate_log()
        return withdrawn is not None

    def take_over(self, gate: Gate) -> bool:
        """Mark a decided gate as changed now; False when somebody did so since it was read."""
        of = (gate.tenant_id, gate.gate_id, gate.changed_at)
        with self._database.write(gate.tenant_id) as connection:
            now = self._clock()
            taken = connection.execute(
                "UPDATE gates SET changed_at = ? WHERE tenant_id = ? AND gate_id = ?"
                " AND changed_at = ? AND changed_at < ? AND state = 'decided'",
                (now, *of, now),
            )
            return taken.rowcount > 0

    def close(self, tenant_id: str, gate_id: str) -> bool:
        """Mark a decided gate as closed; False when it is open, closed already or unknown."""
        with self._database.write(tenant_id) as connection:
            closed = connection.execute(
                "UPDATE gates SET state = 'closed', changed_at = ?"
                " WHERE tenant_id = ? AND gate_id = ? AND state = 'decided'",
                (self._clock(), tenant_id, gate_id),
            )
            return closed.rowcount > 0

    def unfinished(self, tenant_id: str | None = None) -> list[Gate]:
        """Return overdue and decided gates, the oldest first; of all tenants without a name."""
        return self._list(
            "(:tenant IS NULL OR tenant_id = :tenant) AND ((state = 'decided' AND host != 'server')"
            " OR (state = 'open' AND policy != 'keep_pending' AND deadline <= :now))",
            {"tenant": tenant_id, "now": self._clock()},
        )

    def newly_decided(self, changed_from: float) -> list[Gate]:
        """Return the decided gates of all tenants that are not closed, the oldest first."""
        return self._list(
            "state = 'decided' AND changed_at >= :since", {"tenant": None, "since": changed_from}
        )

    def _list(
        self, condition: str, of: dict[str, Any], *, order: str = _OLDEST_FIRST
    ) -> list[Gate]:
        with self._database.read(of["tenant"]) as connection:
            query = f"{_SELECT} WHERE NOT {_IS_WITHDRAWN} AND ({condition}){order}"
            rows = connection.execute(query, of)
            return [_gate(row) for row in rows]


def _require(connection: Connection, tenant_id: str, gate_id: str) -> Gate:
    if (gate := _find(connection, tenant_id, gate_id)) is not None:
        return gate
    raise InputError(f"Tenant {tenant_id!r} has no review {gate_id!r}.")


def _find(connection: Connection, tenant_id: str, gate_id: str) -> Gate | None:
    query = f"{_SELECT} WHERE tenant_id = ? AND gate_id = ? AND NOT {_IS_WITHDRAWN}"
    row = connection.execute(query, (tenant_id, gate_id)).fetchone()
    return None if row is None else _gate(row)


def _gate(row: Row) -> Gate:
    return Gate(
        **{name: row[name] for name in _COLUMNS},
        **json.loads(row["facts"]),
        content_refs=json.loads(row["content_refs"]),
        decision=json.loads(row["decision"]) if row["decision"] else {},
    )
