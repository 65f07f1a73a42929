"""Dead letters: giving a page up, listing such pages and retrying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....contracts.collection import TenantScope
from ....contracts.ingestion import DeadLetter, Priority
from .ledger_statements import RETRIED, TEXT_KEPT, given_up, remembering
from .ledger_writes import update_row
from .staging import dropping_kept_texts

if TYPE_CHECKING:
    from ....contracts.ingestion import Claim
    from .connection import Connection

_DEAD: Final = """
    SELECT name AS collection, url, url_key, title, attempts, coalesce(error, '') AS error,
        changed_at AS failed_at
    FROM ledger JOIN collections ON collections.id = ledger.collection_id
    WHERE state = 'dead' AND tenant_id = :tenant AND (:name IS NULL OR name = :name)
    ORDER BY collections.name, changed_at DESC, ledger.id LIMIT :limit
"""


_DEAD_ROWS: Final = """state = 'dead' AND collection_id IN (SELECT id FROM collections
    WHERE tenant_id = :tenant AND (:name IS NULL OR name = :name))
    AND (:ticket IS NULL OR id IN (SELECT row_id FROM ticket_rows WHERE ticket_id = :ticket))"""


def give_up(
    connection: Connection,
    claim: Claim,
    error: str,
    now: float,
    *,
    keeps_text: bool = False,
) -> bool:
    """Give the row up if the claim still has it; return whether it is a dead letter now.

    With `keeps_text` a retry goes on with the text of its fetch.
    """
    cause = TEXT_KEPT if keeps_text else None
    if not update_row(connection, claim, "error = ?, cause = ?", error, cause):
        return False
    row = {"id": claim.row_id, "now": now}
    connection.execute(f"UPDATE ledger SET {given_up('error')} WHERE id = :id", row)
    found = connection.execute("SELECT state FROM ledger WHERE id = :id", row).fetchone()
    return bool(found["state"] == "dead")


def list_dead_letters(
    connection: Connection, tenant_id: str, collection: str | None, limit: int
) -> list[DeadLetter]:
    """Return the tenant's dead letters, by collection, the latest first."""
    of = {"tenant": tenant_id, "name": collection, "limit": limit}
    return [DeadLetter(**row) for row in connection.execute(_DEAD, of)]


def retry_dead_letters(
    connection: Connection,
    whose: TenantScope | str,
    policy: str | None,
    ticket: str | None,
) -> int:
    """Retry the dead letters of a collection or a tenant, with all attempts; return how many.

    With the id of a `ticket` only those of its pages.
    """
    if isinstance(whose, TenantScope):
        tenant, name = whose.tenant_id, whose.collection
    else:
        tenant, name = whose, None
    of = {"tenant": tenant, "name": name, "policy": policy, "ticket": ticket}
    with dropping_kept_texts(connection, tenant, f"ledger WHERE {_DEAD_ROWS}", of):
        return connection.execute(
            f"UPDATE ledger SET provenance = {remembering('provenance')}, {RETRIED},"
            f" priority = {Priority.INTERACTIVE:d} WHERE {_DEAD_ROWS}",
            of,
        ).rowcount
