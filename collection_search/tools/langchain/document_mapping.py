"""Conversion between LangChain's documents and those of a store."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from langchain_core.documents import Document as LangChainDocument

from ...contracts.collection import Document
from ...contracts.export_row import NO_PAGE
from ...errors import InputError, InvalidUrlError
from ...text.clean import excerpt
from ...text.urls import normalize_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...contracts.collection import Chunk

METADATA: Final = "metadata"
"""Key of the caller's metadata in a document's provenance."""
PROVIDER: Final = "langchain"
"""Provider of such a document in its provenance."""
TITLE_CHARS: Final = 120


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
        provenance={METADATA: plain, "provider": PROVIDER},
    )


def to_langchain(document: Document, chunk: Chunk) -> LangChainDocument:
    """Return the chunk as LangChain's document: a text as it was added, or a page's."""
    if METADATA in document.provenance and document.provenance.get("provider") == PROVIDER:
        metadata = dict(document.provenance[METADATA])
        return LangChainDocument(id=document.url_key, page_content=chunk.text, metadata=metadata)
    return LangChainDocument(
        id=f"{document.url_key}#{chunk.ordinal}",
        page_content=chunk.text,
        metadata={
            **document.provenance,
            "source": document.url,
            "title": document.title,
            "content_hash": document.content_hash,
            "start": chunk.start,
            "end": chunk.end,
            "headings": list(chunk.headings),
            "page": chunk.page,
        },
    )


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
