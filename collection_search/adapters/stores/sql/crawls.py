"""The crawls of a collection, which a refresh repeats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ....contracts.crawl_record import CrawlRecord
from .documents import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .connection import Connection, Row

_COLUMNS: Final = {"starts", "first_run_at", "last_run_at"}
_REMEMBER: Final = """
    INSERT INTO crawls (collection_id, starts, rules, first_run_at, last_run_at)
    VALUES (:collection, :starts, :rules, :now, :now)
    ON CONFLICT (collection_id, starts) DO UPDATE SET
        rules = excluded.rules, last_run_at = excluded.last_run_at
"""
_FIND: Final = """
    SELECT rules, last_run_at FROM crawls WHERE collection_id = :collection AND starts = :starts
"""
_LIST: Final = """
    SELECT *, (SELECT json_group_array(value) FROM json_each(rules, '$.url_keys') WHERE
        EXISTS (SELECT 1 FROM ledger WHERE ledger.collection_id = crawls.collection_id
            AND ledger.url_key = json_each.value AND state != 'retired')
        OR EXISTS (SELECT 1 FROM documents WHERE documents.collection_id = crawls.collection_id
            AND documents.url_key = json_each.value)
    ) AS url_keys FROM crawls WHERE collection_id = ? ORDER BY first_run_at, id
"""


def remember_crawl(
    connection: Connection, collection: int, record: CrawlRecord, now: float
) -> None:
    """Store a crawl, or the rules of its last run; the pages that were deleted stay so."""
    of = {"collection": collection, "starts": to_json(record.starts), "now": now}
    before = connection.execute(_FIND, of).fetchone()
    connection.execute(_REMEMBER, of | {"rules": _rules(record, before)})


def refresh_crawl(
    connection: Connection, collection: int | None, record: CrawlRecord, now: float
) -> bool:
    """Store the pages of a crawl, unless it was forgotten or run anew since its last run."""
    of = {"collection": collection, "starts": to_json(record.starts), "now": now}
    before = connection.execute(_FIND, of).fetchone()
    if before is None or before["last_run_at"] != record.last_run_at:
        return False
    connection.execute(_REMEMBER, of | {"rules": _rules(record, before)})
    return True


def _rules(record: CrawlRecord, before: Row) -> str:
    """Return the rules as they are stored; pages that were deleted stay so."""
    rules = record.model_dump(mode="json", exclude=_COLUMNS)
    if before is not None:
        rules["removed"] = json.loads(before["rules"])["removed"]
    return to_json(rules)


def list_crawls(connection: Connection, collection: int | None) -> list[CrawlRecord]:
    """Return the crawls, the first one first, with the pages that the collection has of them."""
    return [
        CrawlRecord(
            **json.loads(row["rules"])
            | {name: json.loads(row[name]) for name in ("starts", "url_keys")}
            | {name: row[name] for name in ("first_run_at", "last_run_at")}
        )
        for row in connection.execute(_LIST, (collection,))
    ]


def forget_crawl(connection: Connection, collection: int | None, starts: Sequence[str]) -> bool:
    """Delete a crawl; False when it is not known."""
    connection.enable_secure_delete()
    statement = "DELETE FROM crawls WHERE collection_id = ? AND starts = ?"
    return connection.execute(statement, (collection, to_json([*starts]))).rowcount > 0
