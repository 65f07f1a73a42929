"""One page on its way into a collection: from its text, or from the web."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any, Final

from ..bridge import offload
from ..errors import ExtractionError, FetchError, IngestError
from ..pages import NotModified, ReadPage
from ..ports import TraceRef
from ..records import Chunk, Document, Fetched
from ..text import chunk_spans, plain
from .engine_embedders import vectors_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from ..ports import PageReader, Scalar, Storage
    from ..records import Claim
    from ..settings import Settings
    from .engine_embedders import Embedders

logger = logging.getLogger(__name__)

VANISHED: Final = frozenset({"gone", "soft_404"})
"""Reasons that say that a page is no more."""
MAX_POSTPONE_S: Final = 86_400.0
_UNAVAILABLE: Final = 503
_ADAPTIVE_S: Final = 30.0
"""A longer wait was asked for by the site itself."""


class PageWork:
    """What is done with a claimed page; `slots` bounds how many are past fetching at once."""

    def __init__(
        self, store: Storage, settings: Settings, embedders: Embedders, slots: asyncio.Semaphore
    ) -> None:
        self._store = store
        self._settings = settings
        self._embedders = embedders
        self._slots = slots

    async def ingest(self, claim: Claim, reader: PageReader | None) -> dict[str, Scalar]:
        """Bring the page into its collection and return what was done, as facts of a span.

        A page without a staged text needs the `reader`. Raises whatever went wrong.
        """
        if claim.content_ref is None and reader is not None:
            return await self._fetched(claim, reader)
        async with self._slots:
            text = await offload(self._staged, claim)
            return await self._finished(claim, text, claim.title, None)

    async def _fetched(self, claim: Claim, reader: PageReader) -> dict[str, Scalar]:
        page = await reader.read(
            claim.url, validators=claim.validators or None, content_hash=claim.content_hash
        )
        if isinstance(page, NotModified):
            return await self._unchanged(claim, _same(page, claim))
        text = plain(page.text)
        if claim.text_hash is not None and _hash(text) == claim.text_hash:
            return await self._unchanged(claim, _fetched(page)) | _said(page, text)
        async with self._slots:
            title = plain(page.title) or claim.title or claim.url
            return await self._finished(claim, text, title, page) | _said(page, text)

    async def _unchanged(self, claim: Claim, fetched: Fetched) -> dict[str, Scalar]:
        if not await offload(self._store.ledger.unchanged, claim, fetched):
            logger.info("another worker took over %s", claim.url)
        return {"changed": False, "chunks": 0}

    async def _finished(
        self, claim: Claim, text: str, title: str, page: ReadPage | None
    ) -> dict[str, Scalar]:
        document = Document(
            url=claim.url,
            url_key=claim.url_key,
            title=title,
            content_hash=_hash(text),
            provenance=claim.provenance,
        )
        chunks = await self._chunks(claim, text)
        fetched = None if page is None else _fetched(page)
        if not await offload(self._store.ledger.finish, claim, document, chunks, fetched=fetched):
            logger.info("another worker took over %s", claim.url)
        return {"changed": True, "chunks": len(chunks), "chars": len(text)}

    def _staged(self, claim: Claim) -> str:
        ref = claim.content_ref
        text = self._store.staging.get(claim.scope.tenant_id, ref) if ref else None
        if text is None:
            raise IngestError("The page's text is no longer staged. Search for it again.")
        return text

    async def _chunks(self, claim: Claim, text: str) -> list[Chunk]:
        size, overlap = self._settings.chunk_chars, self._settings.chunk_overlap_chars
        spans = await offload(chunk_spans, text, size=size, overlap=overlap)
        if not spans:
            raise ExtractionError("The page holds no text.")
        parts = [text[start:end] for start, end in spans]
        embedder = await offload(self._embedders.of, claim.scope)
        vectors = None if embedder is None else await vectors_of(embedder, parts)
        return [
            Chunk(ordinal, part, start, end, None if vectors is None else vectors[ordinal])
            for ordinal, (part, (start, end)) in enumerate(zip(parts, spans, strict=True))
        ]


def has_vanished(claim: Claim, error: Exception) -> bool:
    """Tell whether a page that was there before is no more."""
    return claim.is_refresh and isinstance(error, FetchError) and error.reason in VANISHED


def postponed_s(error: Exception) -> float | None:
    """Return how long to leave a site alone that wants it so; None for any other failure.

    A 503 without a wish of the site's own is a failure of the page.
    """
    if not isinstance(error, FetchError) or not error.retryable or error.retry_in_s is None:
        return None
    if error.status == _UNAVAILABLE and error.retry_in_s <= _ADAPTIVE_S:
        return None
    return min(error.retry_in_s, MAX_POSTPONE_S)


def trace_of(claim: Claim) -> TraceRef | None:
    """Return the trace of the run that chose the page; None when no run did."""
    provenance: Mapping[str, Any] = claim.provenance
    if not (trace_id := provenance.get("trace_id")):
        return None
    case = provenance.get("case_id")
    return TraceRef(
        trace_id=str(trace_id),
        trace_name=str(provenance.get("workflow_id") or "collection_search"),
        session_id=None if case is None else str(case),
        tenant_id=claim.scope.tenant_id,
    )


def _said(page: ReadPage, text: str) -> dict[str, Scalar]:
    return {"kind": page.kind, "chars": len(text), "status": page.status}


def _fetched(page: ReadPage) -> Fetched:
    return Fetched(
        final_url=page.final_url,
        canonical_url=page.canonical_url,
        validators=page.validators,
        body_hash=page.content_hash,
        fetched_at=page.fetched_at,
        status=page.status,
        kind=page.kind,
    )


def _same(page: NotModified, claim: Claim) -> Fetched:
    return Fetched(
        final_url=page.final_url,
        canonical_url=None,
        validators=page.validators,
        body_hash=claim.content_hash or "",
        fetched_at=page.fetched_at,
        status=304,
        kind="",
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
