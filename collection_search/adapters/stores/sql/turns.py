"""Turns: tenants, then their collections, then the hosts of these are served one by one.

All rows of a priority come before those of the next one. The tenant whose collections were served
longest ago comes first, and of its collections the one that was served longest ago. The hosts of a
collection follow each other by name; `host_turns` has the one that was served last. The queries
jump from group to group in the index `ledger_by_turn`, so they read few rows however many wait.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....ports.ledger import PER_HOST
from .ledger_statements import BY_OUR_PROXY, NEEDS_FETCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .connection import Connection, Row

_FULL_HOSTS: Final = f"""
    SELECT host FROM ledger WHERE state = 'working' AND due > :now AND {NEEDS_FETCH}
    GROUP BY host HAVING count(*) >= {PER_HOST}
"""
_NOT_FULL: Final = "host NOT IN (SELECT value FROM json_each(:full))"

ROW_IS_FREE: Final = (
    f"attempts < :max_attempts AND (NOT {NEEDS_FETCH}"
    f" OR (:fetch AND {_NOT_FULL} AND {BY_OUR_PROXY}))"
)
"""Which of the due rows may be taken."""
HOST_IS_FREE: Final = f"(state != 'to_fetch' OR {_NOT_FULL})"
"""Which hosts are looked at: the rows of a full one are not read one by one."""
_COLLECTION_IS_FREE: Final = (
    "(collections.deleted_at IS NULL AND"
    " (embedder IS NULL OR embedder NOT IN (SELECT value FROM json_each(:embedders))))"
)
"""Which collections are looked at: none that is being deleted or whose embedder is paused."""

_ANY_DUE: Final = """
    SELECT 1 FROM json_each(:states) CROSS JOIN ledger ON state = value WHERE due <= :now LIMIT 1
"""

_PRIORITIES: Final = """
    WITH RECURSIVE levels (state, priority) AS (
        SELECT value, (SELECT min(priority) FROM ledger WHERE state = value)
        FROM json_each(:states)
        UNION ALL
        SELECT state, (SELECT min(priority) FROM ledger
            WHERE state = levels.state AND priority > levels.priority)
        FROM levels WHERE priority IS NOT NULL
    )
    SELECT DISTINCT priority FROM levels WHERE priority <= :up_to ORDER BY priority
"""

QUEUE: Final = f"""
    groups (state, collection_id) AS (
        SELECT value, (SELECT min(collection_id) FROM ledger
            WHERE state = value AND priority = :priority)
        FROM json_each(:states)
        UNION ALL
        SELECT state, (SELECT min(collection_id) FROM ledger
            WHERE state = groups.state AND priority = :priority
                AND collection_id > groups.collection_id)
        FROM groups WHERE collection_id IS NOT NULL
    ),
    with_rows AS (
        SELECT id, tenant_id, turn FROM collections
        WHERE id IN (SELECT collection_id FROM groups) AND {_COLLECTION_IS_FREE}
    ),
    tenants (tenant_id, turn) AS (
        SELECT tenant_id, max(turn) FROM collections
        WHERE tenant_id IN (SELECT tenant_id FROM with_rows) GROUP BY tenant_id
    ),
    queue (collection_id, last_host) AS (
        SELECT id, (SELECT host FROM host_turns WHERE collection_id = id)
        FROM with_rows JOIN tenants USING (tenant_id)
        ORDER BY tenants.turn, tenant_id, with_rows.turn, id LIMIT -1
    )"""
"""Collections with rows of a priority, in turn. The limit keeps SQLite from dropping the order."""

_GROUP: Final = """priority = :priority AND collection_id = queue.collection_id"""
_NEXT_HOST: Final = f"""
    WITH RECURSIVE {QUEUE}
    SELECT collection_id, host FROM (
        SELECT collection_id, (
            WITH RECURSIVE hosts (state, round, host) AS (
                SELECT value, 1, (SELECT min(host) FROM ledger
                    WHERE state = value AND {_GROUP} AND host > queue.last_host)
                FROM json_each(:states)
                UNION ALL
                SELECT value, 2, (SELECT min(host) FROM ledger WHERE state = value AND {_GROUP})
                FROM json_each(:states)
                UNION ALL
                SELECT state, round, (SELECT min(host) FROM ledger
                    WHERE state = hosts.state AND {_GROUP} AND host > hosts.host)
                FROM hosts
                WHERE host IS NOT NULL AND (round = 1 OR last_host IS NULL OR host < last_host)
                ORDER BY 2, 3
            )
            SELECT host FROM hosts WHERE {HOST_IS_FREE} AND EXISTS (
                SELECT 1 FROM ledger WHERE state = hosts.state AND {_GROUP}
                    AND host = hosts.host AND due <= :now AND {ROW_IS_FREE})
            LIMIT 1
        ) AS host
        FROM queue LIMIT -1
    )
    WHERE host IS NOT NULL LIMIT 1
"""
"""The next collection with a row to take, and the next of its hosts after the last one."""

_OF_HOST: Final = f"""
    FROM ledger WHERE state = value AND priority = :priority AND collection_id = :collection
        AND host = :host AND {ROW_IS_FREE}"""
_NEXT_ROW: Final = f"""
    WITH first (place, id) AS (
        SELECT 1, (SELECT id {_OF_HOST} AND due > 0 AND due < :now ORDER BY due, id LIMIT 1)
        FROM json_each(:states)
        UNION ALL
        SELECT 2, (SELECT id {_OF_HOST} AND due <= :now ORDER BY due, id LIMIT 1)
        FROM json_each(:states)
    )
    SELECT id FROM first JOIN ledger USING (id) ORDER BY place, due, id LIMIT 1
"""
"""The row of a host to take: one that waited for its time comes before those never tried."""

_ROW: Final = f"""
    SELECT ledger.*, collections.tenant_id, collections.name AS collection,
        collections.embedder, documents.content_hash AS text_hash,
        documents.provenance AS document_facts,
        CASE WHEN documents.url_key = ledger.url_key THEN documents.title END AS document_title,
        {NEEDS_FETCH} AS needs_fetch
    FROM ledger JOIN collections ON collections.id = ledger.collection_id
    LEFT JOIN addresses ON (ledger.fetched IS NOT NULL OR (refresh AND kind = 'equal_text'))
        AND addresses.collection_id = ledger.collection_id
        AND addresses.url_key = ledger.url_key
    LEFT JOIN documents ON documents.collection_id = ledger.collection_id
        AND documents.url_key = coalesce(addresses.document_key, ledger.url_key)
    WHERE ledger.id = (
        SELECT id FROM ledger WHERE id = :id AND due <= :now AND {ROW_IS_FREE}
            AND state IN (SELECT value FROM json_each(:states)) AND priority <= :up_to)
        AND {_COLLECTION_IS_FREE}
"""
"""The row, unless it was taken meanwhile."""

_CLAIMED: Final = f"""
    SELECT ledger.id, owner, fence
    FROM ledger JOIN collections ON collections.id = ledger.collection_id
    WHERE state = 'working' AND priority <= :up_to AND {ROW_IS_FREE} AND {_COLLECTION_IS_FREE}
"""
"""Rows that other owners have, and that could be taken if they had not."""

_TAKE: Final = """
    UPDATE ledger SET state = 'working', owner = :owner, due = :until,
        attempts = attempts + 1, fence = fence + 1
    WHERE id = :id AND state = :state AND fence = :fence
"""
"""Gives the row to its new owner; the higher fence shuts the former one out."""
_COLLECTION_SERVED: Final = (
    "UPDATE collections SET turn = (SELECT max(turn) FROM collections) + 1 WHERE id = :collection"
)
_FORMER_HOST: Final = "DELETE FROM host_turns WHERE collection_id = :collection"
_HOST_SERVED: Final = "INSERT INTO host_turns (collection_id, host) VALUES (:collection, :host)"


def open_groups(
    connection: Connection, now: float, busy_hosts: Iterable[str], *, fetch: bool
) -> dict[str, Any]:
    """Return the values of the queries for states and hosts of which rows may be taken now."""
    states, full = ["waiting", "working"], [*busy_hosts]
    if fetch:
        states.append("to_fetch")
        full += [row["host"] for row in connection.execute(_FULL_HOSTS, {"now": now})]
    return {"now": now, "fetch": fetch, "states": json.dumps(states), "full": json.dumps(full)}


def next_row(
    connection: Connection, of: Mapping[str, Any], *, next_host: str = _NEXT_HOST
) -> int | None:
    """Return the id of the row whose turn it is, None when none may be taken.

    `next_host` is the query for the next collection and host.
    """
    if connection.execute(_ANY_DUE, of).fetchone() is None:
        return None
    for level in connection.execute(_PRIORITIES, of).fetchall():
        group = {**of, "priority": level["priority"]}
        found = connection.execute(next_host, group).fetchone()
        if found is not None:
            group |= {"collection": found["collection_id"], "host": found["host"]}
            return int(connection.execute(_NEXT_ROW, group).fetchone()["id"])
    return None


def open_row(connection: Connection, of: Mapping[str, Any], row_id: int | None) -> Row | None:
    """Return the row, or None if it may not be taken any more."""
    row: Row | None = connection.execute(_ROW, {**of, "id": row_id}).fetchone()
    return row


def claimed_rows(connection: Connection, of: Mapping[str, Any]) -> Iterable[Row]:
    """Return id, owner and fence of the claimed rows that could be taken from their owners."""
    return connection.execute(_CLAIMED, of).fetchall()


def take_row(connection: Connection, row: Row, owner: str, until: float) -> bool:
    """Give the row to its new owner; its tenant, collection and host have had their turn then.

    False when it has changed since it was read.
    """
    of = {"id": row["id"], "state": row["state"], "fence": row["fence"]}
    taken = connection.execute(_TAKE, {**of, "owner": owner, "until": until})
    if not taken.rowcount:
        return False
    served = {"collection": row["collection_id"], "host": row["host"]}
    for statement in (_COLLECTION_SERVED, _FORMER_HOST, _HOST_SERVED):
        connection.execute(statement, served)
    return True
