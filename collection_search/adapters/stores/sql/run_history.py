"""The runs of the HTTP server and their events."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from ....contracts.server_run import ACTIVE, ServerRun, StoredEvent
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ....contracts.server_run import RunChange, RunEvent, RunStatus
    from .connection import Connection, Database, Row

_PLAIN: Final = (
    *("run_id", "tenant_id", "collection", "status", "owner", "created_at", "ended_at"),
    *("outcome", "gate_id"),
)
_FACTS: Final = ("graph", "user", "question", "given", "choices")
_JSON: Final = ("error", "output", "pages")
_SHORT: Final = f"SELECT {', '.join(_PLAIN)}, facts, error, NULL AS output, NULL AS pages FROM runs"
_WHOLE: Final = f"SELECT {', '.join(_PLAIN)}, facts, error, output, pages FROM runs"


class SQLRuns:
    """The runs: implements `collection_search.ports.run_store.RunStore`."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def add(self, run: ServerRun) -> ServerRun:
        """Store a new run and return it with its time."""
        facts = {name: getattr(run, name) for name in _FACTS}
        row = (run.run_id, run.tenant_id, run.collection, run.status, run.owner, to_json(facts))
        now = self._clock()
        with self._database.write(run.tenant_id) as connection:
            connection.execute(
                "INSERT INTO runs (run_id, tenant_id, collection, status, owner, facts, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*row, now),
            )
            return _run(_found(connection, run.tenant_id, run.run_id))

    def get(self, tenant_id: str, run_id: str) -> ServerRun | None:
        """Return a run of this tenant, or None."""
        with self._database.read(tenant_id) as connection:
            row = _found(connection, tenant_id, run_id)
        return None if row is None else _run(row)

    def runs(self, tenant_id: str, *, limit: int) -> list[ServerRun]:
        """Return the tenant's last runs, the newest first, without `output` and `pages`."""
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                f"{_SHORT} WHERE tenant_id = ? ORDER BY id DESC LIMIT ?", (tenant_id, limit)
            ).fetchall()
        return [_run(row) for row in rows]

    def change(
        self,
        tenant_id: str,
        run_id: str,
        change: RunChange,
        *,
        expected: Collection[RunStatus],
        owner: str | None = None,
    ) -> bool:
        """Change a run that has one of these status, in one compare-and-set; False otherwise."""
        status = change.get("status")
        values: dict[str, Any] = {
            name: to_json(value) if name in _JSON and value is not None else value
            for name, value in change.items()
        }
        if status is not None and status not in ACTIVE:
            values["ended_at"] = self._clock()
        given = ", ".join(f"{name} = :{name}" for name in values)
        old = ", ".join(f"'{one}'" for one in sorted(expected))
        which = {"tenant": tenant_id, "run": run_id, "its_owner": owner}
        with self._database.write(tenant_id) as connection:
            connection.enable_secure_delete()
            changed = connection.execute(
                f"UPDATE runs SET {given} WHERE tenant_id = :tenant AND run_id = :run"
                f" AND status IN ({old}) AND (:its_owner IS NULL OR owner = :its_owner)",
                values | which,
            )
            if changed.rowcount and status is not None:
                event = {"type": "run_status", "status": status, "gate_id": change.get("gate_id")}
                _append(connection, tenant_id, run_id, [event])
            return changed.rowcount == 1

    def append(
        self, tenant_id: str, run_id: str, events: Sequence[RunEvent], *, owner: str
    ) -> bool:
        """Store events of a run; False, and nothing stored, unless it is running by this owner."""
        with self._database.write(tenant_id) as connection:
            connection.enable_secure_delete()
            return _append(connection, tenant_id, run_id, events, running_by=owner)

    def events(
        self, tenant_id: str, run_id: str, *, after: int = 0, limit: int = 500
    ) -> list[StoredEvent]:
        """Return the events with a number above `after`, in order."""
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                "SELECT number, type, data FROM events WHERE number > ? AND run ="
                " (SELECT id FROM runs WHERE tenant_id = ? AND run_id = ?)"
                " ORDER BY number LIMIT ?",
                (after, tenant_id, run_id, limit),
            ).fetchall()
        return [StoredEvent(*row) for row in rows]

    def unfinished(self) -> list[ServerRun]:
        """Return the runs of all tenants that run, and the ended ones that still have an owner."""
        with self._database.read(None) as connection:
            rows = connection.execute(
                f"{_SHORT} WHERE status = 'running' OR owner != '' ORDER BY id"
            ).fetchall()
        return [_run(row) for row in rows]

    def renew(self, owner: str, *, lease_s: float) -> None:
        """Extend the lease that an owner has on all of its runs; with 0 it ends."""
        now = self._clock()
        with self._database.write(None) as connection:
            connection.execute("DELETE FROM run_leases WHERE until <= ?", (now,))
            if lease_s > 0:
                connection.execute(
                    "INSERT INTO run_leases (owner, until) VALUES (?, ?)"
                    " ON CONFLICT (owner) DO UPDATE SET until = excluded.until",
                    (owner, now + lease_s),
                )
            else:
                connection.execute("DELETE FROM run_leases WHERE owner = ?", (owner,))

    def lease_holders(self) -> set[str]:
        """Return the owners whose lease has not run out."""
        now = self._clock()
        with self._database.read(None) as connection:
            query = "SELECT owner FROM run_leases WHERE until > ?"
            return {row["owner"] for row in connection.execute(query, (now,))}

    def take_over(self, run: ServerRun, owner: str) -> bool:
        """Make this the owner of a running run; False where it changed since it was read."""
        return self.change(
            run.tenant_id, run.run_id, {"owner": owner}, expected={"running"}, owner=run.owner
        )

    def forget_oldest(self, tenant_id: str, *, keep: int) -> int:
        """Delete the tenant's oldest ended runs but for the last `keep`; return how many."""
        with self._database.write(tenant_id) as connection:
            connection.enable_secure_delete()
            deleted = connection.execute(
                "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE tenant_id = ?"
                " AND status NOT IN ('running', 'waiting') ORDER BY id DESC LIMIT -1 OFFSET ?)"
                " AND owner = ''",
                (tenant_id, keep),
            )
            return deleted.rowcount

    def delete(self, tenant_id: str, *, collection: str | None = None) -> list[str]:
        """Delete the tenant's runs, all or those of a collection, and return their ids."""
        which = "tenant_id = ? AND (? IS NULL OR collection = ?)"
        with self._database.write(tenant_id) as connection:
            connection.enable_secure_delete()
            values = (tenant_id, collection, collection)
            rows = connection.execute(f"SELECT run_id FROM runs WHERE {which}", values).fetchall()
            connection.execute(f"DELETE FROM runs WHERE {which}", values)
        return [row["run_id"] for row in rows]


def _found(connection: Connection, tenant_id: str, run_id: str) -> Any:
    which = f"{_WHOLE} WHERE tenant_id = ? AND run_id = ?"
    return connection.execute(which, (tenant_id, run_id)).fetchone()


def _append(
    connection: Connection,
    tenant_id: str,
    run_id: str,
    events: Sequence[RunEvent],
    *,
    running_by: str | None = None,
) -> bool:
    """Store events with the next numbers; False, and nothing stored, where no run fits."""
    found = connection.execute(
        "UPDATE runs SET last_event = last_event + :count"
        " WHERE tenant_id = :tenant AND run_id = :run"
        " AND (:its_owner IS NULL OR (owner = :its_owner AND status = 'running'))"
        " RETURNING id, last_event",
        {"count": len(events), "tenant": tenant_id, "run": run_id, "its_owner": running_by},
    ).fetchall()
    for row, last in found:
        connection.executemany(
            "INSERT INTO events (run, number, type, data) VALUES (?, ?, ?, ?)",
            [
                (row, number, event["type"], to_json(event))
                for number, event in enumerate(events, start=last - len(events) + 1)
            ],
        )
    return bool(found)


def _run(row: Row) -> ServerRun:
    found: dict[str, Any] = {name: row[name] for name in _PLAIN}
    found |= json.loads(row["facts"])
    found |= {name: json.loads(row[name]) for name in _JSON if row[name] is not None}
    return ServerRun(**found)
