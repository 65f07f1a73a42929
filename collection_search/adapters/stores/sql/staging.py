"""Texts that a provider delivered, waiting to be ingested."""

from __future__ import annotations

import hashlib
import json
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ....contracts.ingestion import StagedSession
from ....text.clean import to_unicode
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ....contracts.collection import TenantScope
    from .connection import Connection, Database, Row


class SQLStaging:
    """The staging table: implements `collection_search.ports.StagingStore`."""

    def __init__(self, database: Database, *, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def put(self, tenant_id: str, texts: Sequence[str]) -> list[str]:
        """Store the texts in one transaction and return their references, in order."""
        sound = [to_unicode(text) for text in texts]
        refs = [hashlib.sha256(text.encode()).hexdigest() for text in sound]
        now = self._clock()
        with self._database.write(tenant_id) as connection:
            connection.executemany(
                "INSERT INTO staged (tenant_id, content_ref, text, staged_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (tenant_id, content_ref)"
                " DO UPDATE SET staged_at = excluded.staged_at",
                [(tenant_id, ref, text, now) for ref, text in zip(refs, sound, strict=True)],
            )
        return refs

    def get(self, tenant_id: str, content_ref: str) -> str | None:
        """Return the text, or None when it is not (or no longer) staged for this tenant."""
        with self._database.read(tenant_id) as connection:
            row = connection.execute(
                "SELECT text FROM staged WHERE tenant_id = ? AND content_ref = ?",
                (tenant_id, content_ref),
            ).fetchone()
        return None if row is None else str(row["text"])

    def prune(self, older_than_s: float) -> int:
        """Delete texts of that age that no row, session or gate needs; return how many."""
        with self._database.write(None) as connection:
            return connection.execute(
                f"DELETE FROM staged WHERE staged_at <= ? AND NOT {NEEDED}",
                (self._clock() - older_than_s,),
            ).rowcount

    def open_session(
        self,
        scope: TenantScope,
        candidates: Sequence[Mapping[str, Any]],
        facts: Mapping[str, Any],
    ) -> str:
        """Store candidates and facts, both JSON-plain, and return the session's id."""
        session_id = f"session-{uuid.uuid4().hex}"
        rows = [(session_id, place, to_json(one)) for place, one in enumerate(candidates)]
        with self._database.write(scope) as connection:
            connection.execute(
                "INSERT INTO sessions (id, tenant_id, collection, created_at, facts)"
                " VALUES (?, ?, ?, ?, ?)",
                (session_id, scope.tenant_id, scope.collection, self._clock(), to_json(facts)),
            )
            connection.executemany(
                "INSERT INTO session_candidates (session_id, position, candidate) VALUES (?, ?, ?)",
                rows,
            )
        return session_id

    def session(self, tenant_id: str, session_id: str) -> StagedSession | None:
        """Return a session of this tenant with its candidates, or None."""
        with self._database.read(tenant_id) as connection:
            row = connection.execute(
                f"SELECT {_FACTS} FROM sessions WHERE tenant_id = ? AND id = ?",
                (tenant_id, session_id),
            ).fetchone()
            if row is None:
                return None
            candidates = connection.execute(
                "SELECT candidate FROM session_candidates WHERE session_id = ? ORDER BY position",
                (session_id,),
            )
            return _session(row, [json.loads(one["candidate"]) for one in candidates])

    def sessions(self, tenant_id: str, collection: str | None = None) -> list[StagedSession]:
        """Return the tenant's sessions without their candidates, the youngest first."""
        with self._database.read(tenant_id) as connection:
            rows = connection.execute(
                f"SELECT {_FACTS} FROM sessions WHERE tenant_id = :tenant"
                " AND (:name IS NULL OR collection = :name) ORDER BY created_at DESC, id",
                {"tenant": tenant_id, "name": collection},
            ).fetchall()
        return [_session(row, []) for row in rows]

    def close_session(self, tenant_id: str, session_id: str) -> bool:
        """Delete a session; its texts go with the next `prune`. False when there was none."""
        with self._database.write(tenant_id) as connection:
            deleted = connection.execute(
                "DELETE FROM sessions WHERE tenant_id = ? AND id = ?", (tenant_id, session_id)
            )
            return deleted.rowcount > 0


def _session(row: Row, candidates: list[dict[str, Any]]) -> StagedSession:
    return StagedSession(**{**row, "facts": json.loads(row["facts"]), "candidates": candidates})


_FACTS: Final = "id AS session_id, collection, created_at, facts"
NEEDED: Final = """(EXISTS (
    SELECT 1 FROM ledger JOIN collections ON collections.id = ledger.collection_id
    WHERE ledger.content_ref = staged.content_ref AND NOT ledger.refresh
      AND ledger.state IN ('waiting', 'working', 'dead')
      AND collections.tenant_id = staged.tenant_id
) OR EXISTS (
    SELECT 1 FROM ledger JOIN collections ON collections.id = ledger.collection_id
    WHERE ledger.extracted_ref = staged.content_ref
      AND collections.tenant_id = staged.tenant_id
) OR EXISTS (
    SELECT 1 FROM session_candidates JOIN sessions ON sessions.id = session_id
    WHERE session_candidates.content_ref = staged.content_ref
      AND sessions.tenant_id = staged.tenant_id
) OR EXISTS (
    SELECT 1 FROM gate_contents JOIN gates ON gates.id = gate
    WHERE gate_contents.content_ref = staged.content_ref
      AND gates.tenant_id = staged.tenant_id AND gates.state != 'closed'
))"""
"""True for a staged text that a ledger row, a session or a gate may still ingest."""


def delete_unused_texts(connection: Connection, tenant_id: str, refs: Iterable[str | None]) -> None:
    """Delete the staged texts among these that nothing needs any more."""
    connection.executemany(
        f"DELETE FROM staged WHERE tenant_id = ? AND content_ref = ? AND NOT {NEEDED}",
        [(tenant_id, ref) for ref in refs if ref],
    )


@contextmanager
def dropping_kept_texts(
    connection: Connection, tenant_id: str, rows: str, of: Mapping[str, Any]
) -> Iterator[None]:
    """Delete the texts of fetched pages that these ledger rows keep no more after the block."""
    query = f"SELECT extracted_ref FROM {rows} AND extracted_ref IS NOT NULL"
    refs = [row["extracted_ref"] for row in connection.execute(query, of)]
    yield
    if refs:
        connection.enable_secure_delete()
        delete_unused_texts(connection, tenant_id, refs)
