"""Another embedder for a collection: all of its chunks embedded anew, without a gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..contracts.collection import TenantScope
from ..contracts.prices import embedding_cost
from ..errors import ModelError
from ..ports.collections import require_collection
from ..runtime.concurrency import blocking, offload
from .ingestion.embedders import account_of, embed_texts
from .ingestion.engine import engine_of
from .public_arguments import context_for, validate_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..context import SearchContext
    from ..contracts.collection import PendingChunk, Vectors
    from ..ports import CollectionStore, Embedder
    from .spending.account import Account

BATCH: Final = 64
"""Chunks of one embedding request."""
_KEPT: Final = "The collection keeps its vectors; do this again to go on."


@dataclass(frozen=True, slots=True)
class Reembedded:
    """A collection after its change of embedder."""

    embedder: str | None
    """Fingerprint; None: searched by its words alone."""
    chunks: int
    """Chunks that were embedded by this call; what an interrupted one had done is not repeated."""
    input_tokens: int | None
    """None when the embedder does not say."""
    cost_usd: float | None
    """None when the price is not known."""


async def areembed(
    collection: str,
    *,
    tenant: str | None = None,
    context: SearchContext | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Reembedded:
    """Embed the whole collection anew with the context's embedder, then search it by that.

    Until the last chunk is embedded the old vectors are in use, and they stay when it ends early:
    the next call goes on where it stopped. What is ingested meanwhile is included. Without a model
    (`lexical`) the vectors are dropped. `on_progress` gets chunks done and in all. `tenant` is by
    default the context's, else the settings'. `reembed` blocks, inside a running event loop too;
    `areembed` is its coroutine.

    Raises InputError for an unknown collection, ConfigError, StoreError, and ModelError, after
    which a retry may help.
    """
    validate_arguments(collection=collection, on_progress=on_progress)
    context = context_for(context, tenant)
    scope = TenantScope(context.tenant(), collection)
    store, embedder = await context.storage(), await context.embedder()
    await offload(require_collection, store.collections, scope)
    engine = engine_of(store, context.using())  # held: the change puts its pages back
    engine.add_embedder(embedder, context)
    account = account_of(context, scope, context.run_id)
    return await _Change(store.collections, scope, on_progress, account).to(embedder)


reembed = blocking(areembed, "reembed")
"""`areembed` for code without an event loop."""


class _Change:
    """One change of embedder under way."""

    def __init__(
        self,
        collections: CollectionStore,
        scope: TenantScope,
        on_progress: Callable[[int, int], None] | None,
        account: Account,
    ) -> None:
        self._collections = collections
        self._scope = scope
        self._on_progress = on_progress
        self._account = account
        self._chunks = 0
        self._tokens: list[int | None] = []
        self._dimension: int | None = None

    async def to(self, embedder: Embedder | None) -> Reembedded:
        name = None if embedder is None else embedder.fingerprint
        is_changed = False
        while not is_changed:  # pages may be ingested before the change is made
            if embedder is not None:
                await self._prepare(embedder)
            is_changed = await offload(self._collections.change_embedder, self._scope, name)
        tokens = None if None in self._tokens else sum(filter(None, self._tokens))
        cost = 0.0 if name is None else embedding_cost(name, tokens)
        return Reembedded(name, self._chunks, tokens, cost)

    async def _prepare(self, embedder: Embedder) -> None:
        """Embed until every chunk has a vector prepared."""
        collections, scope, name = self._collections, self._scope, embedder.fingerprint
        while True:
            chunks, left, total = await offload(
                collections.pending_vectors, scope, name, limit=BATCH
            )
            if self._on_progress is not None:
                self._on_progress(total - left, total)
            if not chunks:
                return
            vectors = await self._embedded(embedder, chunks)
            await offload(collections.prepare_vectors, scope, name, chunks, vectors)
            self._chunks += len(chunks)

    async def _embedded(self, embedder: Embedder, chunks: Sequence[PendingChunk]) -> Vectors:
        try:
            texts = [chunk.text for chunk in chunks]
            answer = await embed_texts(embedder, texts, account=self._account)
        except ModelError as error:
            raise ModelError(f"{str(error).rstrip('.')}. {_KEPT}") from error
        self._tokens.append(answer.input_tokens)
        vectors = answer.vectors
        expected = len(chunks), self._dimension or vectors.shape[-1]
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise ModelError(
                f"{embedder.fingerprint} gave vectors of the shape {vectors.shape} for"
                f" {len(chunks)} texts, or some that hold no numbers. {_KEPT}"
            )
        self._dimension = vectors.shape[1]
        return vectors
