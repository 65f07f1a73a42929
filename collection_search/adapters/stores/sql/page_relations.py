"""Which stored pages are one page: by a redirect, by canonical links that agree, by equal text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....errors import InvalidUrlError
from ....text.loose_keys import loose_url_key, similar_keys
from ....text.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ....contracts.collection import AddressKind, Document
    from .connection import Connection, Row

_DOCUMENTS: Final = """
    SELECT url_key, url, url_key AS home, NULL AS kind, content_hash, provenance AS facts
    FROM documents
    WHERE collection_id = :collection AND url_key != :key
"""
_OF_ADDRESSES: Final = """
    SELECT addresses.url_key, addresses.url, addresses.document_key AS home, kind, content_hash,
        ledger.fetched AS facts
    FROM addresses {index} CROSS JOIN documents ON documents.collection_id = addresses.collection_id
        AND documents.url_key = addresses.document_key
    CROSS JOIN ledger ON ledger.collection_id = addresses.collection_id
        AND ledger.url_key = addresses.url_key AND ledger.fetched IS NOT NULL
    WHERE addresses.collection_id = :collection AND addresses.url_key != :key
"""
_ADDRESSES: Final = _OF_ADDRESSES.format(index="")
_LED: Final = _OF_ADDRESSES.format(index="INDEXED BY addresses_by_document")
_KEYS: Final = "(SELECT value FROM json_each(:keys))"
_HOME: Final = """SELECT document_key FROM addresses
    WHERE collection_id = :collection AND url_key = :key"""
_NEAR: Final = f"""
    {_DOCUMENTS} AND url_key IN (SELECT value FROM json_each(:keys) UNION ALL {_HOME})
    UNION ALL {_ADDRESSES} AND addresses.url_key IN {_KEYS}
    UNION ALL {_LED} AND addresses.document_key IN ({_HOME})
        AND addresses.url_key NOT IN {_KEYS}
"""
_WAYS: Final = """SELECT url_key FROM addresses
    WHERE collection_id = :collection AND document_key = :key AND kind != 'equal_text'
    ORDER BY url_key"""
_EQUAL: Final = f"{_DOCUMENTS} AND content_hash = :text"


class KnownPage(NamedTuple):
    """What is known of a page's addresses; each is a key."""

    key: str
    url: str
    home: str
    """The document that has its text."""
    text: str
    """The hash of that text."""
    final: str
    """Where its fetch ended."""
    canonical: str | None
    """What it calls its own address."""
    kind: AddressKind | None = None
    """Why it has no document of its own; None if it has one."""

    @property
    def rank(self) -> tuple[bool, int, str]:
        """Order the pages of one text, in whatever order they came; the first has the document."""
        leads_on = self.final != self.key or self.canonical not in {None, self.key}
        return leads_on, len(self.key), self.key

    def leads_to(self, other: KnownPage) -> AddressKind | None:
        """Return why this page is another way to the other one, None if it is not.

        A canonical link alone is no reason: many sites name the first page in all further ones.
        Their addresses must be likely ones of one page, and the other must name itself.
        """
        if self.key == other.key:
            return None
        if self.final == other.key:
            return "redirect"
        if self.canonical == other.key == other.canonical and self.kind != "redirect":
            return "canonical" if loose_url_key(self.url) == loose_url_key(other.url) else None
        return None


class Relations(NamedTuple):
    """The stored pages that are one page with a new one."""

    parent: KnownPage | None
    """What the page leads to."""
    children: list[KnownPage]
    """Those that lead to the page."""
    equals: list[KnownPage]
    """Further documents with the same text."""


def find_relations(connection: Connection, collection: int, page: KnownPage) -> Relations:
    """Return the stored pages that are the same page; none for a caller's own text."""
    if not _is_page(page.key, page.url):
        return Relations(None, [], [])
    keys = json.dumps(sorted({page.final, *similar_keys(page.url)}))
    of = {"collection": collection, "key": page.key, "text": page.text, "keys": keys}
    near = _pages(connection.execute(_NEAR, of))
    parents = {kind: one for one in near if (kind := page.leads_to(one)) is not None}
    children = [one for one in near if one.leads_to(page) is not None]
    known = {one.key for one in children}
    equals = [one for one in _pages(connection.execute(_EQUAL, of)) if one.key not in known]
    return Relations(parents.get("redirect") or parents.get("canonical"), children, equals)


def find_followers(connection: Connection, collection: int, key: str) -> list[str]:
    """Return the addresses of a document that stay with its text if the document changes.

    They are those that have the same text, and those that lead to one of these or from it.
    """
    led = _led_to(connection, collection, key)
    equals = [one for one in led if one.kind == "equal_text"]
    keys = {one.key for one in equals}
    leading = {one.key for one in led if one.final in keys or one.canonical in keys}
    return sorted(keys | leading | {one.final for one in equals})


def find_leading(connection: Connection, collection: int, page: KnownPage) -> list[str]:
    """Return the addresses of the same document that lead to this one."""
    led = _led_to(connection, collection, page.home)
    return [one.key for one in led if one.kind != "equal_text" and one.leads_to(page)]


def find_ways(connection: Connection, collection: int | None, key: str) -> list[str]:
    """Return the further addresses that lead to this page, and to no other that has its text."""
    if collection is None:
        return []
    of = {"collection": collection, "key": key}
    row = connection.execute(_HOME, of).fetchone()
    if row is not None:
        led = _led_to(connection, collection, row["document_key"])
        return [
            one.key
            for page in led
            if page.key == key
            for one in led
            if one.kind != "equal_text" and one.leads_to(page)
        ]
    stay = set(find_followers(connection, collection, key))
    return [row["url_key"] for row in connection.execute(_WAYS, of) if row["url_key"] not in stay]


def _led_to(connection: Connection, collection: int, key: str) -> list[KnownPage]:
    of = {"collection": collection, "key": key}
    return _pages(connection.execute(f"{_LED} AND addresses.document_key = :key", of))


def page_of(document: Document) -> KnownPage:
    """Return the page of a document that is about to be stored."""
    names = document.url_key, document.url, document.url_key, document.content_hash
    return KnownPage(*names, *_leads(document.url_key, document.provenance))


def _pages(rows: Iterable[Row]) -> list[KnownPage]:
    return [
        KnownPage(
            row["url_key"],
            row["url"],
            row["home"],
            row["content_hash"],
            *_leads(row["url_key"], json.loads(row["facts"])),
            row["kind"],
        )
        for row in rows
        if _is_page(row["url_key"], row["url"])
    ]


def _leads(key: str, facts: Mapping[str, Any]) -> tuple[str, str | None]:
    final, canonical = (_key_of(facts.get(name)) for name in ("final_url", "canonical_url"))
    return final or key, canonical


def _key_of(url: Any) -> str | None:
    try:
        return url_key(url) if isinstance(url, str) else None
    except InvalidUrlError:
        return None


def _is_page(key: str, url: str) -> bool:
    """Return whether the key is that of the URL: a caller's own texts stay apart."""
    return _key_of(url) == key.partition("#")[0]
