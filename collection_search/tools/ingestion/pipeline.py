"""Ingests one page into a collection, from a staged text or from the web."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...contracts.collection import Chunk, Document
from ...contracts.embedded_text import chunk_texts
from ...contracts.ingestion import ExtractedPage, Fetched, PageDone
from ...contracts.page import NotModified
from ...errors import (
    ConfigError,
    CostLimitReached,
    ExtractionError,
    IngestError,
    ModelError,
)
from ...ports import TraceRef
from ...ports.ledger import FAILED_BEFORE
from ...ports.tracing import DEFAULT_WORKFLOW
from ...runtime.concurrency import compute
from ...runtime.spans import NULL_SINK
from ...settings.page_parsers import parser_name
from ...text.clean import chunk_spans, to_unicode
from ...text.headings import heading_paths, page_numbers
from ...text.tables import table_headers
from ..criteria.text_judgement import CriteriaNotJudgedError
from ..spending.run_spendings import open_account
from .embedders import vectors_of
from .embedding_batches import EmbeddingBatches
from .page_payers import payer_key

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from ...contracts.collection import Vectors
    from ...contracts.ingestion import Claim, PageOutcome
    from ...contracts.page import ReadPage
    from ...ports import Embedder, PageReader, Scalar, SpanSink, Storage
    from ...settings import Settings
    from .criteria_models import CriteriaModels
    from .embedders import Embedders
    from .store_retry import StoreRetry

logger = logging.getLogger(__name__)

_PIECE_CHARS: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class PageWork:
    """The work on a claimed page; `slots` bounds how many fetched pages are processed at once."""

    store: Storage
    settings: Settings
    embedders: Embedders
    slots: asyncio.Semaphore
    retry: StoreRetry
    criteria_models: CriteriaModels
    sink: SpanSink = NULL_SINK
    on_page_done: Callable[[PageDone], None] = lambda _: None
    batches: EmbeddingBatches = field(default_factory=EmbeddingBatches)

    async def ingest(self, claim: Claim, reader: PageReader | None) -> dict[str, Scalar]:
        """Ingest the page and return attributes for the span; raise whatever failed.

        A page without a staged text needs the `reader`.
        """
        if claim.needs_fetch and reader is not None:
            return await self._fetched(claim, reader)
        async with self.slots:
            said = await self.retry.call(self._staged, claim)
            page = claim.extracted
            if page is None:
                return await self._finished(claim, said, claim.title, None)
            return await self._finished(claim, said, page.title, page.fetched)

    async def _fetched(self, claim: Claim, reader: PageReader) -> dict[str, Scalar]:
        page = await self._read(claim, reader)
        if isinstance(page, NotModified):
            return await self._unchanged(claim, _known_facts(page, claim))
        async with self.slots:
            title = to_unicode(page.title) or claim.title or claim.url
            said = await compute(self._prepared, claim, page.text, title)
            facts = {"kind": page.kind, "chars": len(said.text), "status": page.status}
            fetched = _facts_of(page, title, parser_name(self.settings, page.kind))
            if _is_stored(claim, said.sha256, title):
                return await self._unchanged(claim, fetched) | facts
            try:
                return await self._finished(claim, said, title, fetched) | facts
            except (ModelError, ConfigError, CriteriaNotJudgedError, CostLimitReached):
                await self._keep_text(claim, said, title, fetched)
                raise

    async def _read(self, claim: Claim, reader: PageReader) -> ReadPage | NotModified:
        """Return the page; only a version that the parser of today has read can be unchanged."""
        if claim.parser != parser_name(self.settings, claim.page_kind):
            return await reader.read(claim.url)
        return await reader.read(
            claim.url, validators=claim.validators or None, content_hash=claim.content_hash
        )

    async def _keep_text(self, claim: Claim, said: _Prepared, title: str, fetched: Fetched) -> None:
        """Store the text for the next attempt, so that its site is not asked again."""
        refs = await self.retry.call(self.store.staging.put, claim.scope.tenant_id, [said.text])
        extracted = ExtractedPage(refs[0], title, fetched)
        await self.retry.call(self.store.ledger.keep_text, claim, extracted)

    async def _unchanged(self, claim: Claim, fetched: Fetched) -> dict[str, Scalar]:
        is_ours = await self.retry.call(self.store.ledger.unchanged, claim, fetched)
        self._report(claim, "unchanged", is_ours=is_ours)
        return {"changed": False, "chunks": 0}

    async def _finished(
        self, claim: Claim, said: _Prepared, title: str, fetched: Fetched | None
    ) -> dict[str, Scalar]:
        judged = await self.criteria_models.judge(
            claim, title, said.text, self.sink, trace_of(claim)
        )
        known = {} if judged is None else {"criteria": judged}
        document = Document(
            url=claim.url,
            url_key=claim.url_key,
            title=title,
            content_hash=said.sha256,
            provenance={k: v for k, v in claim.provenance.items() if k != FAILED_BEFORE} | known,
        )
        chunks = await self._embedded(claim, title, said.chunks)
        finish = self.store.ledger.finish
        is_ours = await self.retry.call(finish, claim, document, chunks, fetched=fetched)
        self._report(claim, "new" if claim.text_hash is None else "changed", is_ours=is_ours)
        return {"changed": True, "chunks": len(chunks), "chars": len(said.text)}

    def _report(self, claim: Claim, outcome: PageOutcome, *, is_ours: bool) -> None:
        if is_ours:
            self.on_page_done(PageDone(claim, outcome))
        else:
            logger.info("another worker took over %s", claim.url)

    def _staged(self, claim: Claim) -> _Prepared:
        ref = claim.extracted.content_ref if claim.extracted else claim.content_ref
        text = self.store.staging.get(claim.scope.tenant_id, ref) if ref else None
        if text is None:
            raise IngestError("The page's text is no longer staged. Search for it again.")
        return self._prepared(claim, text, claim.title)

    def _prepared(self, claim: Claim, text: str, title: str) -> _Prepared:
        """Return a page's text with its chunks; these are left out where it is stored already."""
        text, sha256 = _hashed(text)
        if claim.needs_fetch and _is_stored(claim, sha256, title):
            return _Prepared(text, sha256, [])
        rules = claim.rules or self.settings
        return _Prepared(text, sha256, _cut(text, rules.chunk_chars, rules.chunk_overlap_chars))

    async def _embedded(self, claim: Claim, title: str, chunks: list[Chunk]) -> list[Chunk]:
        """Return the chunks with vectors where the collection has an embedder.

        Chunks that are stored for the page as they are keep their vectors.
        """
        if not chunks:
            raise ExtractionError("The page holds no text.")
        found = await self.retry.call(self.embedders.remembered, claim.scope)
        if found is None:
            return chunks
        embedder, remembered = found
        texts = chunk_texts(remembered, ((title, chunk.whole_text) for chunk in chunks))
        known: dict[str, Vectors] = {}
        if claim.text_hash is not None:
            known = await self.retry.call(self._stored_vectors, claim, remembered)
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= zip(new, await self._vectors(embedder, claim, new), strict=True) if new else ()
        if len({len(known[text]) for text in texts}) > 1:  # the model's vectors have another size
            known = dict(zip(texts, await self._vectors(embedder, claim, texts), strict=True))
        return await compute(_with_vectors, chunks, [known[text] for text in texts])

    async def _vectors(self, embedder: Embedder, claim: Claim, texts: Sequence[str]) -> Vectors:
        payer = self.embedders.payer(embedder, claim)
        if payer.cassette is not None:  # in a replay other documents may be in progress
            account = await open_account(payer, payer.ids())
            return await vectors_of(embedder, texts, account=account)
        return await self.batches.vectors(
            embedder,
            texts,
            payer=payer_key(payer, claim),
            account=lambda: open_account(payer, payer.ids(), is_shared=True),
        )

    def _stored_vectors(self, claim: Claim, remembered: str) -> dict[str, Vectors]:
        """Return the vectors that the page has, by the text that was embedded."""
        stored = self.store.collections.get(claim.scope, [claim.url_key])
        if self.embedders.fingerprint(claim.scope) != remembered:  # embedded anew meanwhile
            return {}
        return {
            text: chunk.vector
            for one in stored
            for chunk, text in zip(
                one.chunks,
                chunk_texts(remembered, ((one.document.title, c.whole_text) for c in one.chunks)),
                strict=True,
            )
            if chunk.vector is not None
        }


class _Prepared(NamedTuple):
    """A text that can be stored, its SHA-256 and its chunks without vectors."""

    text: str
    sha256: str
    chunks: list[Chunk]


def _is_stored(claim: Claim, sha256: str, title: str) -> bool:
    """Return whether the page's text is stored, and under this title where that is the page's own.

    The document of a further address has the title of the page that it belongs to.
    """
    return sha256 == claim.text_hash and claim.document_title in {None, title}


def _hashed(text: str) -> tuple[str, str]:
    """Return the text as it can be stored, and its hash.

    They are computed in pieces, so that the loop can run meanwhile.
    """
    pieces, digest = [], hashlib.sha256()
    for start in range(0, len(text), _PIECE_CHARS):
        piece = to_unicode(text[start : start + _PIECE_CHARS])
        digest.update(piece.encode())
        pieces.append(piece)
    return "".join(pieces), digest.hexdigest()


def _cut(text: str, size: int, overlap: int) -> list[Chunk]:
    spans = chunk_spans(text, size=size, overlap=overlap)
    plain = text.replace("\f", "\n")
    paths, pages = heading_paths(text, spans), page_numbers(text, spans)
    known = zip(paths, pages, table_headers(plain, spans), strict=True)
    return [
        Chunk(n, plain[start:end], start, end, None, *places)
        for n, ((start, end), places) in enumerate(zip(spans, known, strict=True))
    ]


def _with_vectors(chunks: Sequence[Chunk], vectors: Sequence[Vectors]) -> list[Chunk]:
    return [replace(one, vector=vector) for one, vector in zip(chunks, vectors, strict=True)]


def trace_of(claim: Claim) -> TraceRef | None:
    """Return the trace of the run that selected the page; None without a run."""
    provenance: Mapping[str, Any] = claim.provenance
    if not (trace_id := provenance.get("trace_id")):
        return None
    case = provenance.get("case_id")
    return TraceRef(
        trace_id=str(trace_id),
        trace_name=str(provenance.get("workflow_id") or DEFAULT_WORKFLOW),
        session_id=None if case is None else str(case),
        tenant_id=claim.scope.tenant_id,
    )


def _facts_of(page: ReadPage, title: str, parser: str) -> Fetched:
    return Fetched(
        final_url=page.final_url,
        canonical_url=page.canonical_url,
        validators=page.validators,
        body_hash=page.content_hash,
        fetched_at=page.fetched_at,
        status=page.status,
        kind=page.kind,
        truncated_at_page=page.truncated_at_page,
        title=title,
        parser=parser,
    )


def _known_facts(page: NotModified, claim: Claim) -> Fetched:
    return Fetched(
        final_url=page.final_url,
        canonical_url=None,
        validators=page.validators,
        body_hash=claim.content_hash or "",
        fetched_at=page.fetched_at,
        status=304,
        kind=claim.page_kind,
        parser=claim.parser,
        title=claim.fetched_title,
    )
