"""Rows of the ledger for pages that are asked for: new ones, and those to fetch again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ....errors import StoreError
from . import ledger_statements as sql
from . import pauses
from .collection_ids import ensure_id, find_id
from .ledger_records import build_row, rules_json
from .staging import dropping_kept_texts
from .tickets import new_ticket_id, put_ticket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....contracts.collection import TenantScope
    from ....contracts.ingestion import IngestionRequest, Priority, Ticket
    from ....contracts.page import PageRules
    from .connection import Connection

_ITS: Final = "WHERE collection_id = :collection AND"
_NAMED_ROWS: Final = f"ledger {_ITS} url_key IN (SELECT value FROM json_each(:keys))"
_DEAD_ROWS: Final = f"ledger INDEXED BY ledger_by_extracted {_ITS} state = 'dead'"


def accept_pages(
    connection: Connection, request: IngestionRequest, paused_at: float | None
) -> Ticket:
    """Accept the pages of a request; end the pauses that keep them waiting at a given time."""
    scope, ticket_id = request.scope, new_ticket_id()
    shared = {
        "question": request.question,
        "run_id": request.run_id,
        "trace_id": request.trace_id,
        "ticket_id": ticket_id,
    }
    keys = list(dict.fromkeys(item.url_key for item in request.items))
    collection = ensure_id(connection, scope)
    of: dict[str, Any] = {"collection": collection, "keys": json.dumps(keys)}
    connection.execute(sql.adopt(only_these=True), of)
    with dropping_kept_texts(connection, scope.tenant_id, _NAMED_ROWS, of):
        rows = [build_row(collection, item, shared, request) for item in request.items]
        connection.executemany(sql.ACCEPT, rows)
    connection.execute(sql.SOONER, of | {"priority": request.priority})
    connection.execute(sql.RULES, of | {"policy": rules_json(request.rules)})
    connection.execute(sql.KEPT, of)
    if paused_at is not None:
        pauses.try_again(connection, paused_at, of_pages=of)
    return put_ticket(connection, ticket_id, scope, collection, keys)


def queue_again(
    connection: Connection,
    scope: TenantScope,
    url_keys: Sequence[str] | None,
    *,
    rules: PageRules | None,
    priority: Priority,
    now: float,
) -> Ticket:
    """Queue stored and retired pages for a fetch. Raises StoreError without their collection."""
    ticket_id = new_ticket_id()
    only_these, wanted = url_keys is not None, json.dumps([*(url_keys or ())])
    put_back, chosen = sql.refetch(only_these=only_these)
    collection = find_id(connection, scope)
    if collection is None:
        raise StoreError(f"There is no collection {scope.collection!r}.")
    of = {"collection": collection, "keys": wanted, "policy": rules_json(rules)}
    of |= {"priority": priority}
    connection.execute(sql.adopt(only_these=only_these), of)
    connection.execute(sql.adopt_addresses(only_these=only_these), of)
    with dropping_kept_texts(connection, scope.tenant_id, _DEAD_ROWS, of):
        connection.execute(put_back, of)
    keys = [row["url_key"] for row in connection.execute(chosen, of)]
    these = {"collection": collection, "keys": json.dumps(keys), "policy": of["policy"]}
    connection.execute(sql.RULES, these)
    pauses.try_again(connection, now, of_pages=these)
    return put_ticket(connection, ticket_id, scope, collection, keys)
