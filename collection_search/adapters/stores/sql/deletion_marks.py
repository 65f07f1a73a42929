"""Marks of deleted tenants: what a run of before the deletion writes afterwards is refused.

A mark is a row of the answers that belongs to no tenant. It holds a hash of the tenant's name and
the time of the deletion, so that nothing of the tenant is left in it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .connection import Connection

KEPT_S: Final = 7 * 86_400.0
"""How long a mark stays; longer than any run."""
_SKEW_S: Final = 86_400.0
"""Clocks of hosts differ by less; a mark that is later than this was made by a wrong clock."""
_MARK: Final = """
    INSERT INTO answers (tenant_id, kind, key_hash, payload, stored_at)
    VALUES ('', 'deletion', ?, ?, ?)
    ON CONFLICT (tenant_id, kind, key_hash) DO UPDATE SET stored_at = excluded.stored_at
"""
NOT_DELETED: Final = """
    NOT EXISTS (SELECT 1 FROM answers AS marks WHERE marks.tenant_id = ''
        AND marks.kind = 'deletion' AND marks.key_hash = ?
        AND marks.stored_at > ? AND marks.stored_at <= ?)
"""
"""SQL: the tenant was not deleted since the run began; its parameters are `values_of`."""
OLD: Final = "answers WHERE stored_at <= ? AND (tenant_id != '' OR stored_at <= ?)"
"""SQL: answers up to the first time, marks up to the second. The index by age finds them."""


def values_of(tenant_id: str, began_at: float, at: float) -> tuple[bytes, float, float]:
    """Return the parameters of `NOT_DELETED`, for what such a run writes at a time."""
    return _hash_tenant(tenant_id), began_at, at + _SKEW_S


def _hash_tenant(tenant_id: str) -> bytes:
    """Return what a tenant's mark is found by."""
    return hashlib.sha256(tenant_id.encode("utf-8", "surrogatepass")).digest()


def mark_deletion(connection: Connection, tenant_id: str, at: float) -> None:
    """Refuse from now on what runs of this tenant that began before `at` write."""
    connection.execute(_MARK, (_hash_tenant(tenant_id), b"", at))
