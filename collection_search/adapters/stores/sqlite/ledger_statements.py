"""The SQL of the ledger: accepting, claiming and finishing rows."""

from __future__ import annotations

from typing import Final

from ....ports.ledger import FAILED_BEFORE, LOOK_AGAIN_S, PER_HOST

NEEDS_FETCH: Final = "(refresh OR content_ref IS NULL)"
IDLE: Final = f"state = CASE WHEN {NEEDS_FETCH} THEN 'to_fetch' ELSE 'waiting' END"
"""An idle row waits to be fetched, or for a worker where its text is staged."""
PUT_BACK: Final = f"{IDLE}, owner = NULL"
AFRESH: Final = (
    "owner = NULL, due = 0, attempts = 0, postponed = 0, error = NULL, fence = fence + 1"
)

# A text replaces nothing that was fetched: pages and texts of them would take turns.
_TAKES_TEXT: Final = "(excluded.content_ref IS NOT NULL AND fetched IS NULL)"
_REF: Final = (
    "CASE WHEN state = 'retired' THEN excluded.content_ref"
    " ELSE coalesce(excluded.content_ref, content_ref) END"
)
_RENEWS: Final = (
    "(:renews AND excluded.content_ref IS NULL AND state = 'stored'"
    " AND (fetched IS NOT NULL OR json_extract(provenance, '$.page_kind') IS NOT NULL))"
)
_RETURNS: Final = "(state = 'retired' AND excluded.content_ref IS NULL)"
_REFRESH: Final = f"((refresh AND NOT {_TAKES_TEXT}) OR {_RENEWS} OR {_RETURNS})"

HAS_DOCUMENT: Final = """EXISTS (SELECT 1 FROM documents
    WHERE documents.collection_id = ledger.collection_id AND documents.url_key = ledger.url_key)"""
_FAILED: Final = f"(state = 'dead' AND refresh AND {HAS_DOCUMENT})"

# What became of a page is noted until it is stored again, whatever its state is meanwhile.
IS_GONE: Final = f"(change = 'gone' AND NOT {HAS_DOCUMENT})"
_FAILED_OR_GONE: Final = f"({_FAILED} OR (state = 'retired' AND {IS_GONE}))"
_IS_REVISIT: Final = (
    "(state IN ('to_fetch', 'working') AND refresh"
    f" AND instr(provenance, '\"{FAILED_BEFORE}\"') AND {IS_GONE})"
)


def remembering(provenance: str, *, failed: str = _FAILED) -> str:
    """Return the provenance with why the last look at a stored page failed, if it did."""
    return f"""CASE
        WHEN {failed} AND json_valid({provenance})
            THEN json_set({provenance}, '$.{FAILED_BEFORE}', error)
        WHEN instr({provenance}, '"{FAILED_BEFORE}"')
            THEN json_remove({provenance}, '$.{FAILED_BEFORE}')
        ELSE {provenance} END"""


ACCEPT: Final = f"""
    INSERT INTO ledger (collection_id, url_key, url, title, content_ref, provenance, state)
    VALUES (:collection, :url_key, :url, :title, :content_ref, :provenance,
            CASE WHEN :content_ref IS NULL THEN 'to_fetch' ELSE 'waiting' END)
    ON CONFLICT (collection_id, url_key) DO UPDATE SET
        url = excluded.url, title = coalesce(nullif(excluded.title, ''), title),
        provenance = {remembering("excluded.provenance")},
        content_ref = {_REF}, refresh = {_REFRESH}, {AFRESH},
        state = CASE WHEN {_REFRESH} OR ({_REF}) IS NULL THEN 'to_fetch' ELSE 'waiting' END
    WHERE state = 'retired' OR (state = 'dead' AND :retries) OR {_RENEWS}
       OR ({_TAKES_TEXT} AND excluded.content_ref IS NOT content_ref)
       OR (:retries AND {_IS_REVISIT})
"""
"""A known page with the same text, or without a text, stays as it is unless it is renewed."""

_FREE: Final = f"""
    host NOT IN (SELECT value FROM json_each(:busy)) AND host NOT IN (
        SELECT host FROM ledger WHERE state = 'working' AND due > :now AND {NEEDS_FETCH}
        GROUP BY host HAVING count(*) >= {PER_HOST}
    )"""


def next_row(*, fetch: bool) -> str:
    """Return the query for the row to be taken next.

    Rows that failed before come last, so that a bad page never delays the others. Each state is
    read in the order of its index, so the number of rows does not matter.
    """
    kinds = {
        "waiting": "",
        "working": f" AND (NOT {NEEDS_FETCH}{f' OR {_FREE}' if fetch else ''})",
        "to_fetch": f" AND {_FREE}" if fetch else None,
    }
    candidates = " UNION ALL ".join(
        "SELECT * FROM (SELECT id, attempts FROM ledger"
        f" WHERE state = '{state}' AND attempts < :max_attempts AND due <= :now{more}"
        " ORDER BY attempts, id LIMIT 1)"
        for state, more in kinds.items()
        if more is not None
    )
    return f"""
        SELECT ledger.*, collections.tenant_id, collections.name AS collection,
            documents.content_hash AS text_hash
        FROM ledger JOIN collections ON collections.id = ledger.collection_id
        LEFT JOIN documents ON documents.collection_id = ledger.collection_id
            AND documents.url_key = ledger.url_key
        WHERE ledger.id = (SELECT id FROM ({candidates}) ORDER BY attempts, id LIMIT 1)
    """


CLAIM: Final = """
    UPDATE ledger SET state = 'working', owner = ?, due = ?,
        attempts = attempts + 1, fence = fence + 1
    WHERE id = ?
"""
"""Gives the row of `next_row` to its new owner; the higher fence shuts the former one out."""

DONE: Final = "state = 'stored', owner = NULL, error = NULL, refresh = 0, postponed = 0"
RETIRED: Final = "state = 'retired', owner = NULL, due = ?, error = ?, refresh = 0, postponed = 0"
LATER: Final = f"{PUT_BACK}, due = ?, error = ?, attempts = attempts - 1, postponed = postponed + 1"
NOTHING_STORED: Final = (
    f"{PUT_BACK}, due = 0, fetched = NULL,"
    " error = 'The site says that the page has not changed, but nothing of it is stored.'"
)
OVERDUE: Final = "(state = 'working' AND due <= :now)"
SPENT: Final = (
    "(state IN ('waiting', 'working', 'to_fetch') AND due <= :now AND attempts >= :max_attempts)"
)


def given_up(error: str) -> str:
    """Return the change that gives a row up; `error` is an SQL expression.

    The page becomes a dead letter, or is retired again as of when it vanished: our own failures
    do not lengthen the time until the next visit.
    """
    return f"""
        state = CASE WHEN {IS_GONE} THEN 'retired' ELSE 'dead' END, owner = NULL,
        changed_at = CASE WHEN {IS_GONE} THEN changed_at ELSE :now END,
        due = :now + {LOOK_AGAIN_S}, error = {error}
    """


_ALL: Final = "collection_id = :collection"
_THESE: Final = f"{_ALL} AND url_key IN (SELECT value FROM json_each(:keys))"

KEPT: Final = f"UPDATE ledger SET change = 'unchanged' WHERE {_THESE} AND state = 'stored'"
"""Marks the pages that a request leaves as they are."""

GONE: Final = f"""
    SELECT url_key FROM ledger
    WHERE {_ALL} AND state IN ('retired', 'waiting', 'to_fetch', 'working') AND {IS_GONE}
        AND (NOT :due OR state != 'retired' OR due <= :now)
    ORDER BY id
"""
"""Pages that vanished: all, or those that may be asked for again or are being asked for."""


def adopt(*, only_these: bool) -> str:
    """Return the statement that gives rows to imported documents, which have none.

    The reference of a delivered text is its hash, which the document has, too.
    """
    return f"""
        INSERT OR IGNORE INTO ledger
            (collection_id, url_key, url, title, content_ref, provenance, state)
        SELECT collection_id, url_key, url, title, content_hash, provenance, 'stored'
        FROM documents WHERE {_THESE if only_these else _ALL}
    """


def refetch(*, only_these: bool) -> tuple[str, str]:
    """Return the statement that queues pages for a fetch, and the query for all queued keys."""
    chosen = _THESE if only_these else _ALL
    return (
        f"""
        UPDATE ledger SET state = 'to_fetch', refresh = 1, {AFRESH},
            provenance = {remembering("provenance", failed=_FAILED_OR_GONE)}
        WHERE {chosen} AND (state IN ('stored', 'retired') OR (state = 'dead' AND {NEEDS_FETCH}))
        """,
        f"SELECT url_key FROM ledger WHERE {chosen} AND state != 'dead' ORDER BY id",
    )
