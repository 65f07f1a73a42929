"""Deletions of documents, collections and tenants with everything that belongs to them.

A deletion has two steps. One short transaction renames the collection to something that no caller
can name, so that it is gone for everybody and its name is free. Its rows are then deleted in many
short transactions. If the process ends in between, `unfinished` names what is left to erase.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....contracts.collection import Deleted
from ..sql.collection_ids import ensure_id
from ..sql.staging import delete_unused_texts
from .space import RowGroup, delete_group, free_pages, rewrite_word_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ....contracts.collection import TenantScope
    from .database import Database
    from .opening import SQLiteConnection

FREEING_S: Final = 10.0
"""The longest time that a deletion spends on shrinking the file; `compact` does the rest."""
ABANDONED_S: Final = 60.0
"""Time after which a deletion counts as left by its process, and another one helps."""
STRETCH_S: Final = 1.0
"""The longest time that a worker gives to that at once."""
_MARK: Final = "\x1f"
"""No name of a tenant or collection has it, so no scope reaches what is marked by it."""
_MINE: Final = "collection_id IN (SELECT id FROM collections WHERE tenant_id = :tenant)"
_ITS_SESSIONS: Final = "sessions WHERE tenant_id = :tenant AND collection = :name"
_ITS_GATES: Final = "gates WHERE tenant_id = :tenant AND collection = :name"
_ITS_COMPARISONS: Final = "comparisons WHERE tenant_id = :tenant AND collection = :name"
_OWNED: Final = "collection_id = :id"
_KEYS: Final = "(SELECT value FROM json_each(:keys))"
_ROWS: Final = (
    RowGroup(
        "ledger",
        "id",
        _OWNED,
        refs=f"SELECT content_ref FROM ledger WHERE id IN {_KEYS}"
        f" UNION SELECT extracted_ref FROM ledger WHERE id IN {_KEYS}",
    ),
    RowGroup(
        "sessions",
        "id",
        "tenant_id = :mark",
        rows=8,
        refs=f"SELECT content_ref FROM session_candidates WHERE session_id IN {_KEYS}",
    ),
    RowGroup(
        "gates",
        "id",
        "tenant_id = :mark",
        rows=16,
        refs=f"SELECT content_ref FROM gate_contents WHERE gate IN {_KEYS}",
    ),
    RowGroup("comparisons", "id", "tenant_id = :mark", rows=16),
    RowGroup("chunks", "id", f"document_id IN (SELECT id FROM documents WHERE {_OWNED})"),
    RowGroup("documents", "id", _OWNED),
    RowGroup("tickets", "id", _OWNED),
    RowGroup("questions", "id", _OWNED),
    RowGroup("addresses", "url_key", _OWNED),
    RowGroup("staged", "id", "tenant_id = :tenant AND staged_at <= :before", rows=64),
)
"""What goes before the collection, which takes the few other rows with it."""


class Marked(NamedTuple):
    """A deletion that has begun: a row of `collections` that no scope reaches."""

    id: int
    mark: str
    """Its tenant now: the mark, a token, the mark, the former tenant."""
    before: float | None
    """When all staged texts of the tenant are deleted, the time of the youngest; else None."""

    @property
    def tenant(self) -> str:
        """Return the former tenant."""
        return self.mark.split(_MARK, 2)[2]


def mark_collection(
    connection: SQLiteConnection, scope: TenantScope, collection: int | None, now: float
) -> tuple[list[int], int]:
    """Hide a collection with what its runs left; return what is marked, and its documents."""
    of = {"tenant": scope.tenant_id, "name": scope.collection}
    if collection is None:
        belongings = " UNION ALL ".join(
            f"SELECT 1 FROM {its}" for its in (_ITS_SESSIONS, _ITS_GATES, _ITS_COMPARISONS)
        )
        if connection.execute(belongings, of).fetchone() is None:
            return [], 0
        collection = ensure_id(connection, scope)
    documents = _count(connection, f"documents WHERE {_OWNED}", {"id": collection})
    mark = _hide_collection(connection, collection, scope.tenant_id, now)
    _hide_reviews(connection, mark, "tenant_id = :tenant AND collection = :name", of)
    return [collection], documents


def mark_tenant(
    connection: SQLiteConnection, tenant_id: str, now: float
) -> tuple[list[int], Deleted]:
    """Hide everything that is stored for a tenant; return what is marked, and the counts."""
    of = {"tenant": tenant_id}
    counts = Deleted(
        collections=_count(connection, "collections WHERE tenant_id = :tenant", of),
        documents=_count(connection, f"documents WHERE {_MINE}", of),
        pages=_count(connection, f"ledger WHERE {_MINE}", of),
        texts=_count(connection, "staged WHERE tenant_id = :tenant", of)
        + _count(connection, "sessions WHERE tenant_id = :tenant", of),
        questions=_count(connection, f"questions WHERE {_MINE}", of),
        crawls=_count(connection, f"crawls WHERE {_MINE}", of),
        gates=_count(connection, "gates WHERE tenant_id = :tenant", of),
        comparisons=_count(connection, "comparisons WHERE tenant_id = :tenant", of),
    )
    if counts == Deleted():
        return [], counts
    owned = connection.execute("SELECT id FROM collections WHERE tenant_id = :tenant", of)
    ids = [row["id"] for row in owned]
    for collection in ids:
        _hide_collection(connection, collection, tenant_id, now)
    rest = mark_trace(connection, tenant_id, now, name=f"{_MARK}{now!r}")
    mark = connection.execute("SELECT tenant_id FROM collections WHERE id = ?", (rest,)).fetchone()
    _hide_reviews(connection, mark["tenant_id"], "tenant_id = :tenant", of)
    return [*ids, rest], counts


def mark_trace(
    connection: SQLiteConnection, tenant_id: str, now: float, *, name: str = _MARK
) -> int:
    """Note that deleted words stand in the word index until they are erased from it."""
    added = connection.execute(
        "INSERT INTO collections (tenant_id, name, deleted_at) VALUES (?, ?, ?)",
        (_new_mark(tenant_id), name, now),
    )
    return int(added.lastrowid or 0)


def _new_mark(tenant_id: str) -> str:
    return f"{_MARK}{uuid.uuid4().hex}{_MARK}{tenant_id}"


def unfinished(connection: SQLiteConnection, before: float) -> list[int]:
    """Return the deletions that had begun by then and are not finished."""
    query = "SELECT id FROM collections WHERE deleted_at <= ? ORDER BY id"
    return [row["id"] for row in connection.execute(query, (before,))]


def erase(database: Database, ids: Iterable[int]) -> Iterator[None]:
    """Erase what is marked, in short transactions; yield after each.

    Another process may erase the same at the same time.
    """
    with database.read() as connection:
        kept = [marked for one in ids if (marked := _find(connection, one)) is not None]
    for marked in kept:
        yield from _erase_rows(database, marked)
    if kept:
        yield from rewrite_word_index(database)
        with database.write() as connection:
            connection.enable_secure_delete()
            connection.executemany(
                "DELETE FROM collections WHERE id = ?", [(marked.id,) for marked in kept]
            )
        free_pages(database, within_s=FREEING_S)


def resume(database: Database, now: float) -> bool:
    """Go on for a moment with deletions that were left unfinished; False when there are none."""
    with database.read() as connection:
        begun = unfinished(connection, now - ABANDONED_S)
    if not begun:
        return False
    ends_at = time.monotonic() + STRETCH_S
    for _ in erase(database, begun):
        if time.monotonic() > ends_at:
            return True
    database.truncate_log()
    return True


def _find(connection: SQLiteConnection, marked: int) -> Marked | None:
    row = connection.execute(
        "SELECT tenant_id, name FROM collections WHERE id = ? AND deleted_at IS NOT NULL",
        (marked,),
    ).fetchone()
    if row is None:
        return None
    before = row["name"][1:] if row["name"].startswith(_MARK) else ""
    return Marked(marked, row["tenant_id"], float(before) if before else None)


def _erase_rows(database: Database, marked: Marked) -> Iterator[None]:
    of = marked._asdict() | {"tenant": marked.tenant}

    def drop_texts(connection: SQLiteConnection, refs: Sequence[Any]) -> None:
        delete_unused_texts(connection, marked.tenant, refs)

    for group in _ROWS:
        for _ in delete_group(database, group, of, drop_texts):
            yield


def _hide_collection(
    connection: SQLiteConnection, collection: int, tenant_id: str, now: float
) -> str:
    """Rename a collection and shut out the workers that have its pages in hand."""
    mark = _new_mark(tenant_id)
    connection.execute(
        "UPDATE collections SET tenant_id = ?, deleted_at = ?, changes = changes + 1 WHERE id = ?",
        (mark, now, collection),
    )
    connection.execute(
        "UPDATE ledger SET state = 'retired', fence = fence + 1, owner = NULL"
        " WHERE state = 'working' AND collection_id = ?",
        (collection,),
    )
    return mark


def _hide_reviews(
    connection: SQLiteConnection, mark: str, condition: str, of: Mapping[str, Any]
) -> None:
    """Hide sessions, gates and comparisons; the next sweep would decide a gate that is open."""
    hidden = {**of, "mark": mark}
    connection.execute(f"UPDATE sessions SET tenant_id = :mark WHERE {condition}", hidden)
    connection.execute(f"UPDATE comparisons SET tenant_id = :mark WHERE {condition}", hidden)
    connection.execute(
        f"UPDATE gates SET tenant_id = :mark, state = 'closed' WHERE {condition}", hidden
    )


def _count(connection: SQLiteConnection, what: str, of: Mapping[str, Any]) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {what}", of).fetchone()[0])
