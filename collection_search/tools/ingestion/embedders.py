"""The embedder of a collection, and the account that pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...context import SearchContext
from ...contracts.collection import model_of
from ...contracts.embedded_text import embedder_of_vectors, titled_fingerprint
from ...runtime.concurrency import offload
from ...runtime.spans import NULL_SPAN
from ...runtime.unheard import NULL_LISTENER
from ...settings.adapter_factory import surrounding_listener
from ...settings.collection_embedder import collection_embedder
from ..spending.paid_embedder import PaidEmbedder
from ..spending.run_spendings import open_account
from .page_payers import paying_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...contracts.collection import Embedded, TenantScope, Vectors
    from ...contracts.ingestion import Claim
    from ...ports import CollectionStore, Embedder, Listener, Span, Storage
    from ...settings import Settings
    from ..spending.account import Account

BATCH: Final = 64
"""Texts that are embedded in one request."""


class Embedders:
    """The embedders of an engine, by fingerprint."""

    def __init__(self, collections: CollectionStore, settings: Settings) -> None:
        self._collections = collections
        self._settings = settings
        self._known: dict[str, Embedder] = {}
        self._payer = SearchContext(settings=settings)
        self._payers: dict[str, SearchContext] = {}
        """By fingerprint: a replayed model costs nothing, others do."""

    def add(self, embedder: Embedder | None, payer: SearchContext | None = None) -> None:
        """Add an embedder for the collections that it filled; `payer` records its cost."""
        if embedder is not None:
            self._known[embedder.fingerprint] = embedder
        if embedder is not None and payer is not None:
            self._payers[embedder.fingerprint] = payer
        if payer is not None and payer.fetches():
            self._payer = payer

    def payer(self, embedder: Embedder, claim: Claim) -> SearchContext:
        """Return the context of the page's tenant and of the run that pays for the page."""
        return paying_for(claim, self._payers.get(embedder.fingerprint, self._payer))

    def fingerprint(self, scope: TenantScope) -> str | None:
        """Return what the collection remembers of its embedder, None for a lexical one."""
        return self._collections.embedder(scope)

    def of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None for a lexical one. Raises ConfigError."""
        found = self.remembered(scope)
        return None if found is None else found[0]

    def remembered(self, scope: TenantScope) -> tuple[Embedder, str] | None:
        """Return the collection's embedder with what it remembers of it; None for a lexical one.

        Raises ConfigError.
        """
        if (remembered := self.fingerprint(scope)) is None:
            return None
        fingerprint = embedder_of_vectors(remembered)
        payer = self._payers.get(fingerprint)  # another caller's client is not for this one
        embedder = collection_embedder(
            scope,
            fingerprint,
            self._settings,
            given=self._known,
            http_client=None if payer is None else payer.http_client,
        )
        self.add(embedder)
        return embedder, remembered


def bind_to(collections: CollectionStore, scope: TenantScope, embedder: Embedder) -> None:
    """Bind an empty collection to the embedder, with titles. Blocks.

    A collection that it filled without titles goes on so. Raises ConfigError when another embedder
    filled it.
    """
    if collections.embedder(scope) != embedder.fingerprint:
        collections.bind_embedder(scope, titled_fingerprint(embedder.fingerprint))


async def embedder_for(
    context: SearchContext, store: Storage, scope: TenantScope
) -> Embedder | None:
    """Return the embedder that filled the collection, None for a lexical one.

    Raises ConfigError when the settings name another one.
    """
    fingerprint = await offload(store.collections.embedder, scope)
    if fingerprint is None:
        return None
    embedder = await context.embedder()
    given = {} if embedder is None else {embedder.fingerprint: embedder}
    if (known := given.get(embedder_of_vectors(fingerprint))) is not None:
        return known
    # The caller's object has priority.
    settings = context.using() if context.embeddings is None else None
    return await offload(
        collection_embedder,
        scope,
        fingerprint,
        settings,
        given=given,
        http_client=context.http_client,
    )


async def observed_vectors(
    embedder: Embedder, texts: Sequence[str], context: SearchContext
) -> Vectors:
    """Return what `vectors_of` returns, for a call that is no part of a graph's run.

    It is an observation, and a run below the LangChain run in which this is called.
    """
    ids, sink = context.ids(), await context.sink()
    with sink.span("embedding", kind="embedding", trace=context.trace(ids)) as span:
        span.set({"embedder": embedder.fingerprint, "input_count": len(texts)})
        return await vectors_of(
            embedder,
            texts,
            account=await open_account(context, ids, is_new=context.run_id is None),
            span=span,
            listener=surrounding_listener(),
        )


async def embed_in_batches(
    embedder: Embedder | None, texts: Sequence[str], context: SearchContext
) -> list[Any]:
    """Return a vector per text, None for each in a collection without an embedder."""
    if embedder is None:
        return [None] * len(texts)
    one_run = context.model_copy(update=dict(context.ids()))
    rows: list[Any] = []
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        rows.extend(await observed_vectors(embedder, part, one_run))
    return rows


async def vectors_of(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    account: Account,
    span: Span = NULL_SPAN,
    listener: Listener = NULL_LISTENER,
) -> Vectors:
    """Return one unit vector per text, `(n, d)`. Raises ModelError."""
    async with listener.embedding(model_of(embedder.fingerprint), len(texts)) as call:
        answer = await embed_texts(embedder, texts, account=account, span=span)
        vectors = answer.vectors
        dimension = vectors.shape[-1]
        call.embedded(count=len(texts), dimension=dimension, input_tokens=answer.input_tokens)
    return vectors


async def embed_texts(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    account: Account,
    span: Span = NULL_SPAN,
) -> Embedded:
    """Return or raise what `PaidEmbedder.embed` does, and close the account."""
    try:
        return await PaidEmbedder(embedder, account, span).embed(texts)
    finally:
        await account.close()
