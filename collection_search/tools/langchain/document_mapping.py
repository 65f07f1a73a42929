"""Conversion between LangChain's documents and those of a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.documents import Document as LangChainDocument

from ...contracts.collection import (
    FILTER_KEYS,
    OWN_METADATA,
    OWN_PROVIDER,
    Document,
    validate_filters,
)
from ...contracts.export_row import NO_PAGE
from ...errors import InputError, InvalidUrlError
from ...text.clean import excerpt
from ...text.urls import normalize_url

if TYPE_CHECKING:
    from ...contracts.collection import Chunk, Filters

TITLE_CHARS: Final = 120
_STORE_FILTERS: Final = frozenset(FILTER_KEYS)


def build_document(key: str, text: str, metadata: Mapping[str, Any]) -> Document:
    """Return the document of a text. Raises InputError for metadata that is not JSON."""
    try:
        plain = json.loads(json.dumps(dict(metadata)))
    except (TypeError, ValueError) as error:
        raise InputError(f"The metadata of {key!r} is not JSON: {error}.") from error
    return Document(
        url=_page_url(plain.get("source")) or f"{NO_PAGE}{key}",
        url_key=key,
        title=str(plain.get("title") or excerpt(text, TITLE_CHARS)),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        provenance={OWN_METADATA: plain, "provider": OWN_PROVIDER},
    )


def to_langchain(document: Document, chunk: Chunk) -> LangChainDocument:
    """Return the chunk as LangChain's document: a text as it was added, or a page's."""
    if OWN_METADATA in document.provenance and document.provenance.get("provider") == OWN_PROVIDER:
        metadata = dict(document.provenance[OWN_METADATA])
        return LangChainDocument(id=document.url_key, page_content=chunk.text, metadata=metadata)
    return LangChainDocument(
        id=f"{document.url_key}#{chunk.ordinal}",
        page_content=chunk.whole_text,
        metadata={
            **document.provenance,
            "source": document.url,
            "title": document.title,
            "content_hash": document.content_hash,
            "start": chunk.start,
            "end": chunk.end,
            "headings": list(chunk.headings),
            "page": chunk.page,
            **({"also_at": list(document.also_at)} if document.also_at else {}),
        },
    )


def to_store_filters(filters: Filters | None) -> Filters | None:
    """Return filters by the names of `to_langchain` as those of a store.

    A name that no store's filter has is one of the document's metadata.

    >>> to_store_filters({"mood": "calm", "is_pdf": False})
    {'is_pdf': False, 'metadata': {'mood': 'calm'}}
    """
    validate_filters(filters)
    if not filters:
        return filters
    known = {key: value for key, value in filters.items() if key in _STORE_FILTERS}
    shown = {key: value for key, value in filters.items() if key not in _STORE_FILTERS}
    if shown:
        given = known.get(OWN_METADATA, {})
        known[OWN_METADATA] = {**given, **shown} if isinstance(given, Mapping) else given
    return known


def url_key_of(document_id: str) -> str:
    """Return the `url_key` of a document's or chunk's id; a page's chunk has its number at the end.

    >>> url_key_of("a.org/x#7"), url_key_of("a text of mine")
    ('a.org/x', 'a text of mine')
    """
    page, mark, number = document_id.rpartition("#")
    return page if mark and number.isdigit() else document_id


def _page_url(value: Any) -> str | None:
    try:
        return normalize_url(value) if isinstance(value, str) else None
    except InvalidUrlError:
        return None
