"""Texts that a provider delivered, waiting to be ingested."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ....text import plain

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from .database import Database


class SQLiteStaging:
    """The staging table: implements `collection_search.ports.StagingStore`."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def put(self, tenant_id: str, texts: Sequence[str]) -> list[str]:
        """Keep the texts in one transaction and return their references, in order."""
        kept = [plain(text) for text in texts]
        refs = [hashlib.sha256(text.encode()).hexdigest() for text in kept]
        now = self._clock()
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO staged (tenant_id, content_ref, text, staged_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (tenant_id, content_ref)"
                " DO UPDATE SET staged_at = excluded.staged_at",
                [(tenant_id, ref, text, now) for ref, text in zip(refs, kept, strict=True)],
            )
        return refs

    def get(self, tenant_id: str, content_ref: str) -> str | None:
        """Return the text, or None when it is not (or no longer) staged for this tenant."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT text FROM staged WHERE tenant_id = ? AND content_ref = ?",
                (tenant_id, content_ref),
            ).fetchone()
        return None if row is None else str(row["text"])

    def prune(self, older_than_s: float) -> int:
        """Drop texts of that age that no ledger row needs; return how many."""
        with self._database.write() as connection:
            return connection.execute(
                f"DELETE FROM staged WHERE staged_at <= ? AND NOT {_NEEDED}",
                (self._clock() - older_than_s,),
            ).rowcount


def forget(connection: sqlite3.Connection, tenant_id: str, refs: Iterable[str | None]) -> None:
    """Drop the texts that only deleted ledger rows needed, within the caller's transaction."""
    connection.executemany(
        f"DELETE FROM staged WHERE tenant_id = ? AND content_ref = ? AND NOT {_NEEDED}",
        [(tenant_id, ref) for ref in refs],
    )


_NEEDED = """EXISTS (
    SELECT 1 FROM ledger JOIN collections ON collections.id = ledger.collection_id
    WHERE ledger.content_ref = staged.content_ref AND ledger.state != 'stored'
      AND collections.tenant_id = staged.tenant_id
)"""
