"""The SQL of the ledger: accepting, finishing and refreshing rows."""

from __future__ import annotations

from typing import Final

from ....ports.ledger import FAILED_BEFORE, LOOK_AGAIN_S
from .collection_ids import LIVE

_NOTHING_GIVEN: Final = "(refresh OR content_ref IS NULL)"
NEEDS_FETCH: Final = f"({_NOTHING_GIVEN} AND extracted_ref IS NULL)"
IDLE: Final = f"state = CASE WHEN {NEEDS_FETCH} THEN 'to_fetch' ELSE 'waiting' END"
"""An idle row waits to be fetched, or for a worker where its text is staged."""
PUT_BACK: Final = f"{IDLE}, owner = NULL"
_ANEW: Final = (
    "owner = NULL, due = 0, attempts = 0, postponed = 0, error = NULL, fence = ledger.fence + 1,"
    " cause = NULL"
)
AFRESH: Final = f"{_ANEW}, extracted_ref = NULL, extracted = NULL"

TEXT_KEPT: Final = "text kept"
"""The cause of a dead row whose retry goes on with the text of its fetch."""
_GOES_ON: Final = f"(coalesce(cause, '') = '{TEXT_KEPT}' AND extracted_ref IS NOT NULL)"
_POLICY: Final = """CASE WHEN json_extract(policy, '$.run_id') IS NULL THEN :policy
    ELSE json_set(:policy, '$.run_id', json_extract(policy, '$.run_id')) END"""
RETRIED: Final = f"""
    state = CASE WHEN {_NOTHING_GIVEN} AND NOT {_GOES_ON} THEN 'to_fetch' ELSE 'waiting' END,
    extracted_ref = CASE WHEN {_GOES_ON} THEN extracted_ref END,
    extracted = CASE WHEN {_GOES_ON} THEN extracted END, policy = {_POLICY}, {_ANEW}
"""
"""A dead row that starts again under new rules; the run that pays for it stays the same."""

# A text replaces nothing that was fetched: pages and texts of them would take turns.
_TAKES_TEXT: Final = "(excluded.content_ref IS NOT NULL AND ledger.fetched IS NULL)"
_REF: Final = (
    "CASE WHEN ledger.state = 'retired' THEN excluded.content_ref"
    " ELSE coalesce(excluded.content_ref, ledger.content_ref) END"
)
_RENEWS: Final = (
    "(:renews AND excluded.content_ref IS NULL AND ledger.state = 'stored'"
    " AND (ledger.fetched IS NOT NULL"
    " OR json_extract(ledger.provenance, '$.page_kind') IS NOT NULL))"
)
_RETURNS: Final = "(ledger.state = 'retired' AND excluded.content_ref IS NULL)"
_REFRESH: Final = f"((ledger.refresh AND NOT {_TAKES_TEXT}) OR {_RENEWS} OR {_RETURNS})"

HAS_DOCUMENT: Final = """(EXISTS (SELECT 1 FROM documents
    WHERE documents.collection_id = ledger.collection_id AND documents.url_key = ledger.url_key
) OR EXISTS (SELECT 1 FROM addresses
    WHERE addresses.collection_id = ledger.collection_id AND addresses.url_key = ledger.url_key))"""
"""True for a row whose page is stored, under its own address or another one."""
_FAILED: Final = f"(ledger.state = 'dead' AND ledger.refresh AND {HAS_DOCUMENT})"

# What became of a page is noted until it is stored again, whatever its state is meanwhile.
IS_GONE: Final = f"(coalesce(ledger.change, '') = 'gone' AND NOT {HAS_DOCUMENT})"
_FAILED_OR_GONE: Final = f"({_FAILED} OR (ledger.state = 'retired' AND {IS_GONE}))"
_IS_REVISIT: Final = (
    "(ledger.state IN ('to_fetch', 'working') AND ledger.refresh"
    f" AND instr(ledger.provenance, '\"{FAILED_BEFORE}\"') > 0 AND {IS_GONE})"
)


def remembering(provenance: str, *, failed: str = _FAILED) -> str:
    """Return the provenance with why the last look at a stored page failed, if it did."""
    return f"""CASE
        WHEN {failed} AND json_valid({provenance})
            THEN json_set({provenance}, '$.{FAILED_BEFORE}', ledger.error)
        WHEN instr({provenance}, '"{FAILED_BEFORE}"') > 0
            THEN json_remove({provenance}, '$.{FAILED_BEFORE}')
        ELSE {provenance} END"""


ACCEPT: Final = f"""
    INSERT INTO ledger (
        collection_id, url_key, url, title, content_ref, provenance, policy, priority, state)
    VALUES (:collection, :url_key, :url, :title, :content_ref, :provenance, :policy, :priority,
            CASE WHEN :content_ref IS NULL THEN 'to_fetch' ELSE 'waiting' END)
    ON CONFLICT (collection_id, url_key) DO UPDATE SET
        url = excluded.url, title = coalesce(nullif(excluded.title, ''), ledger.title),
        provenance = {remembering("excluded.provenance")},
        content_ref = {_REF}, refresh = {_REFRESH}, policy = excluded.policy,
        priority = excluded.priority, {AFRESH},
        state = CASE WHEN {_REFRESH} OR ({_REF}) IS NULL THEN 'to_fetch' ELSE 'waiting' END
    WHERE ledger.state = 'retired' OR (ledger.state = 'dead' AND :retries) OR {_RENEWS}
       OR ({_TAKES_TEXT} AND excluded.content_ref != coalesce(ledger.content_ref, ''))
       OR (:retries AND {_IS_REVISIT})
"""
"""A known page with the same text, or without a text, stays as it is unless it is renewed."""

BY_OUR_PROXY: Final = """(policy IS NULL OR coalesce(json_extract(policy, '$.proxy'), '') IN (
    SELECT value FROM json_each(:proxies)))"""
_AWAKE: Final = f"""{LIVE} AND collection_id NOT IN (SELECT id FROM collections
        WHERE embedder IN (SELECT value FROM json_each(:embedders)))"""


def open_states(*, fetch: bool) -> str:
    """Return the condition of rows that wait for a worker."""
    to_fetch = f" OR (state = 'to_fetch' AND {BY_OUR_PROXY})" if fetch else ""
    return f"(state = 'waiting'{to_fetch}) AND {LIVE}"


def earliest(*, fetch: bool) -> str:
    """Return the query for the first time at which a row that is not paused may be taken."""
    kinds = {"waiting": ""}
    if fetch:
        busy = "host NOT IN (SELECT value FROM json_each(:busy))"
        kinds["to_fetch"] = f" AND {BY_OUR_PROXY} AND {busy}"
    first = " UNION ALL ".join(
        f"SELECT min(due) AS due FROM ledger WHERE state = '{state}' AND {_AWAKE}{more}"
        for state, more in kinds.items()
    )
    return f"SELECT min(due) FROM ({first})"


_AT_REST: Final = (
    "owner = NULL, refresh = FALSE, postponed = 0, cause = NULL, extracted_ref = NULL,"
    " extracted = NULL"
)
DONE: Final = f"state = 'stored', error = NULL, {_AT_REST}"
RETIRED: Final = f"state = 'retired', due = ?, error = ?, {_AT_REST}"
PAUSED: Final = f"{PUT_BACK}, due = ?, error = ?, cause = ?, attempts = attempts - 1"
LATER: Final = f"{PAUSED}, postponed = postponed + 1"
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
_TEXT_KEYS: Final = f"""(
    SELECT value FROM json_each(:keys) UNION ALL SELECT url_key FROM addresses
    WHERE {_ALL} AND document_key IN (SELECT value FROM json_each(:keys)))"""
_THESE_TEXTS: Final = f"{_ALL} AND url_key IN {_TEXT_KEYS}"
"""Pages and the further addresses of their documents."""

SOONER: Final = f"""
    UPDATE ledger SET priority = :priority
    WHERE {_THESE} AND priority > :priority AND state IN ('waiting', 'to_fetch', 'working')
"""
"""Pages that wait already do so with the best priority that was asked for."""

RULES: Final = f"""
    UPDATE ledger SET policy = :policy
    WHERE {_THESE} AND :policy IS NOT NULL AND state IN ('waiting', 'to_fetch')
"""
"""Pages that wait already do so with the rules of the last request."""

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
        INSERT INTO ledger
            (collection_id, url_key, url, title, content_ref, provenance, state)
        SELECT collection_id, url_key, url, title, content_hash, provenance, 'stored'
        FROM documents WHERE {_THESE if only_these else _ALL}
        ON CONFLICT DO NOTHING
    """


def adopt_addresses(*, only_these: bool) -> str:
    """Return the statement that gives rows to further addresses of imported documents.

    An export does not say how the address led to the document. A fetch tells.
    """
    chosen = f" AND addresses.url_key IN {_TEXT_KEYS}" if only_these else ""
    return f"""
        INSERT INTO ledger
            (collection_id, url_key, url, title, content_ref, provenance, state)
        SELECT addresses.collection_id, addresses.url_key, addresses.url, title, content_hash,
            json_remove(json_remove(provenance, '$.final_url'), '$.canonical_url'), 'stored'
        FROM addresses JOIN documents ON documents.collection_id = addresses.collection_id
            AND documents.url_key = document_key
        WHERE addresses.collection_id = :collection AND kind = 'equal_text'
            AND json_extract(provenance, '$.page_kind') IS NOT NULL{chosen}
        ON CONFLICT DO NOTHING
    """


def refetch(*, only_these: bool) -> tuple[str, str]:
    """Return the statement that queues pages for a fetch, and the query for all queued keys."""
    chosen = _THESE_TEXTS if only_these else _ALL
    return (
        f"""
        UPDATE ledger SET state = 'to_fetch', refresh = TRUE, policy = :policy,
            priority = :priority, {AFRESH},
            provenance = {remembering("provenance", failed=_FAILED_OR_GONE)}
        WHERE {chosen} AND (state IN ('stored', 'retired') OR (state = 'dead' AND {_NOTHING_GIVEN}))
        """,
        f"SELECT url_key FROM ledger WHERE {chosen} AND state != 'dead' ORDER BY id",
    )
