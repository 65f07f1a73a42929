"""Further addresses of documents: an equal text is stored once, redirects lead to their target.

An address in the table leads to a document of the same collection and has none of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ....ports.ledger import FAILED_BEFORE
from .documents import fetch_facts_of, insert_document, mark_changed, to_json
from .ledger_statements import AFRESH
from .page_relations import find_followers, find_leading, find_relations, page_of

if TYPE_CHECKING:
    from ....contracts.collection import AddressKind, Document
    from .connection import Connection, Row
    from .documents import DocumentRows
    from .page_relations import KnownPage

_NOTE: Final = """
    INSERT INTO addresses (collection_id, url_key, url, document_key, kind, noted_at)
    SELECT :collection, :key, :url, :home, :kind, :now
    WHERE NOT EXISTS (
        SELECT 1 FROM documents WHERE collection_id = :collection AND url_key = :key)
    ON CONFLICT (collection_id, url_key) DO UPDATE SET
        url = excluded.url, document_key = excluded.document_key, kind = excluded.kind,
        noted_at = excluded.noted_at
"""
# Where several pages lead to one address, the same one counts in whatever order they came.
_NOTE_TARGET: Final = f"""{_NOTE}
    WHERE addresses.kind = 'redirect'
        AND (length(excluded.document_key), excluded.document_key)
        < (length(addresses.document_key), addresses.document_key)
"""
_HEIR: Final = """
    SELECT addresses.url_key, addresses.url, documents.provenance, ledger.fetched,
        ledger.provenance AS own_provenance
    FROM addresses INDEXED BY addresses_by_document
    CROSS JOIN documents ON documents.collection_id = addresses.collection_id
        AND documents.url_key = document_key
    LEFT JOIN ledger ON ledger.collection_id = addresses.collection_id
        AND ledger.url_key = addresses.url_key
    WHERE addresses.collection_id = :collection AND document_key = :key AND kind = 'equal_text'
        AND (:heir IS NULL OR addresses.url_key = :heir)
    ORDER BY length(addresses.url_key), addresses.url_key LIMIT 1
"""
_LEAD_ON: Final = """
    UPDATE addresses INDEXED BY addresses_by_document SET document_key = :home
    WHERE collection_id = :collection AND document_key = :key
"""
_FOLLOW: Final = f"""{_LEAD_ON}
    AND (kind = 'equal_text' OR url_key IN (SELECT value FROM json_each(:followers)))
"""
_TAKE_ALONG: Final = """
    UPDATE addresses SET document_key = :home
    WHERE collection_id = :collection AND url_key IN (SELECT value FROM json_each(:leading))
"""
# The target of a redirect that was not ingested itself.
_TAKE_TARGET_ALONG: Final = """
    UPDATE addresses SET document_key = :home
    WHERE collection_id = :collection AND url_key = :final AND kind = 'redirect' AND NOT EXISTS (
        SELECT 1 FROM ledger WHERE collection_id = :collection AND url_key = :final)
"""
_FETCH_AGAIN: Final = f"""
    UPDATE ledger SET state = 'to_fetch', refresh = TRUE, {AFRESH}
    WHERE collection_id = :collection AND state = 'stored' AND url_key IN (
        SELECT url_key FROM addresses
        WHERE collection_id = :collection AND document_key = :key)
"""
# An heir whose own title is not known is fetched whole: the document has the title of another page.
_TITLE_UNKNOWN: Final = """
    UPDATE ledger SET fetched = json_set(fetched, '$.title', '')
    WHERE collection_id = :collection AND url_key = :home AND fetched IS NOT NULL
        AND json_extract(fetched, '$.title') IS NULL
"""
_HAS_THE_TEXT: Final = """
    SELECT 1 FROM documents AS one JOIN documents AS other USING (collection_id, content_hash)
    WHERE collection_id = :collection AND one.url_key = :key AND other.url_key = :home
"""
_FOUND: Final = "collection_id = :collection AND url_key = :key"


def store_page(
    connection: Connection,
    collection: int,
    document: Document,
    rows: DocumentRows,
    now: float,
) -> bool:
    """Store a page that was ingested; False if another address of it has the document.

    A page that leads to another stored page is an address of that one, whatever its text is. All
    others are compared by their texts. So the result does not depend on the order of the pages.
    """
    page, book = page_of(document), _Addresses(connection, collection, now)
    parent, children, equals = find_relations(connection, collection, page)
    home = None if parent is None else book.home_beside(page, parent)
    if parent is not None and home is not None:
        book.join(page, home, page.leads_to(parent))
    else:
        home = min([page, *equals], key=lambda one: one.rank).key
        if home == page.key:
            put_document(connection, collection, rows, now)
        for one in (page, *equals):
            book.join(one, home, "equal_text")
    for child in children:
        book.join(child, home, child.leads_to(page))
    if page.final != page.key:
        url = str(document.provenance["final_url"])
        book.write(_NOTE_TARGET, key=page.final, url=url, home=home, kind="redirect")
    return home == page.key


def put_document(connection: Connection, collection: int, rows: DocumentRows, now: float) -> None:
    """Replace a document. Addresses of equal text stay with the text that was stored before."""
    key, text_hash = rows.document[0], rows.document[3]
    of, book = {"collection": collection, "key": key}, _Addresses(connection, collection, now)
    connection.execute(f"DELETE FROM addresses WHERE {_FOUND}", of)
    query = f"SELECT content_hash FROM documents WHERE {_FOUND}"
    before = connection.execute(query, of).fetchone()
    if before is not None and before["content_hash"] != text_hash:
        book.bequeath(key)
    insert_document(connection, collection, rows, now)
    for also_key, url in rows.also_at:
        book.write(_NOTE, key=also_key, url=url, home=key, kind="equal_text")


def delete_page(connection: Connection, collection: int | None, url_key: str) -> bool:
    """Delete a document or a further address; return whether there was one.

    The text of a document stays if it is that of another address, too. Pages that are redirects to
    it are fetched again.
    """
    if collection is None:
        return False
    of = {"collection": collection, "key": url_key}
    deleted = connection.execute(f"DELETE FROM addresses WHERE {_FOUND}", of).rowcount
    deleted += _Addresses(connection, collection, 0.0).bequeath(url_key)
    connection.execute(_FETCH_AGAIN, of)
    connection.execute(
        "DELETE FROM addresses WHERE collection_id = :collection AND document_key = :key", of
    )
    deleted += connection.execute(f"DELETE FROM documents WHERE {_FOUND}", of).rowcount
    if deleted:
        mark_changed(connection, collection)
    return deleted > 0


@dataclass(frozen=True, slots=True)
class _Addresses:
    """The addresses of a collection, within a transaction."""

    connection: Connection
    collection: int
    now: float

    def home_beside(self, page: KnownPage, parent: KnownPage) -> str | None:
        """Return the document of the page's parent; None if only the page itself has one."""
        if parent.home != page.key:
            return parent.home
        return parent.key if self.bequeath(page.key, parent.key) else None

    def join(self, page: KnownPage, home: str, kind: AddressKind | None) -> None:
        """Make the page an address of the document `home`, in place of a document of its own."""
        if page.key == home or kind is None:
            return
        of = {"collection": self.collection, "key": page.key, "home": home}
        if self.connection.execute(_HAS_THE_TEXT, of).fetchone() is None:
            self.bequeath(page.key)
        if page.home not in {page.key, home}:
            leading = json.dumps(find_leading(self.connection, self.collection, page))
            self.connection.execute(_TAKE_ALONG, {**of, "leading": leading})
        self.connection.execute(_LEAD_ON, of)
        self.connection.execute(_TAKE_TARGET_ALONG, {**of, "final": page.final})
        if self.connection.execute(f"DELETE FROM documents WHERE {_FOUND}", of).rowcount:
            mark_changed(self.connection, self.collection)
        self.connection.execute(
            f"UPDATE ledger SET change = 'duplicate' WHERE {_FOUND} AND state = 'stored'", of
        )
        self.write(_NOTE, key=page.key, url=page.url, home=home, kind=kind)

    def bequeath(self, key: str, heir: str | None = None) -> bool:
        """Give the document to an address that has its text: to this one, or to the first."""
        of = {"collection": self.collection, "key": key, "heir": heir}
        found = self.connection.execute(_HEIR, of).fetchone()
        if found is None:
            return False
        of |= {"home": found["url_key"], "url": found["url"], "facts": _provenance_of(found)}
        of["followers"] = json.dumps(find_followers(self.connection, self.collection, key))
        self.connection.execute(
            "DELETE FROM addresses WHERE collection_id = :collection AND url_key = :home", of
        )
        self.connection.execute(
            f"UPDATE documents SET url_key = :home, url = :url, provenance = :facts WHERE {_FOUND}",
            of,
        )
        self.connection.execute(_TITLE_UNKNOWN, of)
        self.connection.execute(_FOLLOW, of)
        mark_changed(self.connection, self.collection)
        return True

    def write(self, statement: str, *, key: str, url: str, home: str, kind: AddressKind) -> None:
        """Note that an address leads to a document."""
        of = {"collection": self.collection, "now": self.now}
        self.connection.execute(
            statement, {**of, "key": key, "url": url, "home": home, "kind": kind}
        )


def _provenance_of(heir: Row) -> str:
    """Return where the heir's text comes from: its own row says it, unless it was imported."""
    if heir["own_provenance"] is None:
        known = json.loads(heir["provenance"])
        return to_json({key: known[key] for key in known if not key.endswith("_url")})
    known = json.loads(heir["own_provenance"])
    known.pop(FAILED_BEFORE, None)
    return to_json(known | fetch_facts_of(heir["fetched"]))
