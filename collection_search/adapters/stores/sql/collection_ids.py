"""Ids of collections in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....errors import StoreError

if TYPE_CHECKING:
    from ....contracts.collection import TenantScope
    from .connection import Connection

LIVE: Final = "collection_id NOT IN (SELECT id FROM collections WHERE deleted_at IS NOT NULL)"
"""True for rows whose collection is not being deleted."""


def ensure_id(connection: Connection, scope: TenantScope) -> int:
    """Return the id of the collection; create the collection if it is new."""
    key = scope.tenant_id, scope.collection
    connection.execute(
        "INSERT INTO collections (tenant_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING", key
    )
    found = find_id(connection, scope)
    if found is None:
        raise StoreError(f"Collection {scope.collection!r} could not be created.")
    return found


def find_id(connection: Connection, scope: TenantScope) -> int | None:
    """Return the id of the collection, None when it does not exist."""
    row = connection.execute(
        "SELECT id FROM collections WHERE tenant_id = ? AND name = ?",
        (scope.tenant_id, scope.collection),
    ).fetchone()
    return None if row is None else int(row["id"])


def require_id(connection: Connection, scope: TenantScope) -> int:
    """Return the id of the collection. Raises StoreError when it does not exist."""
    if (found := find_id(connection, scope)) is None:
        raise StoreError(f"There is no collection {scope.collection!r} any more.")
    return found
