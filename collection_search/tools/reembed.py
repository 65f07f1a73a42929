"""Changes a collection's embedder: embeds all of its chunks again while it stays searchable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..contracts.collection import TenantScope
from ..contracts.embedded_text import chunk_texts, titled_fingerprint
from ..contracts.prices import sum_tokens
from ..errors import CostLimitReached, ModelError
from ..ports.collections import require_collection
from ..ranking.calibration import forget_scale
from ..runtime.concurrency import blocking, offload
from .ingestion.embedders import embed_texts
from .ingestion.process_engines import engine_of
from .public_arguments import context_for, validate_arguments
from .spending.run_spendings import open_account

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..context import SearchContext
    from ..contracts.collection import Vectors
    from ..ports import CollectionStore, Embedder
    from .spending.account import Account

BATCH: Final = 64
"""Chunks of one embedding request."""


@dataclass(frozen=True, slots=True)
class Reembedded:
    """A collection after its change of embedder."""

    embedder: str | None
    """Fingerprint; None: searched by its words alone."""
    chunks: int
    """Chunks that this call embedded; those of an interrupted call are not repeated."""
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
    """Embed the whole collection again with the context's embedder, then bind it to that.

    Chunks are embedded with their titles, also where an earlier version left these out.

    The old vectors are in use until the last chunk is embedded. After an interruption the next
    call continues. Pages that are ingested meanwhile are included. Without a model (`lexical`) the
    vectors are dropped. `on_progress` gets chunks done and in all. `tenant` is by default the
    context's, else the settings'. `reembed` blocks, inside a running event loop too; `areembed` is
    its coroutine.

    The model's scale is measured anew at the next use, since another model may have its name.

    Raises InputError for an unknown collection, ConfigError, StoreError, ModelError, after which a
    retry may help, and CostLimitReached before the first part that the ceiling does not allow.
    """
    validate_arguments(collection=collection, on_progress=on_progress)
    context = context_for(context, tenant)
    scope = TenantScope(context.tenant(), collection)
    store, embedder = await context.storage(), await context.embedder()
    await offload(require_collection, store.collections, scope)
    engine = engine_of(store, context.using())  # it lives while its pages return
    engine.add_embedder(embedder, context)
    payer = context.model_copy(update={"tenant_id": scope.tenant_id})
    account = await open_account(payer, payer.ids(), is_new=context.run_id is None)
    if embedder is not None and context.fetches():  # the model may have changed behind its name
        await offload(forget_scale, embedder.fingerprint, folder=context.using().home)
    return await _Change(store.collections, scope, on_progress, account).to(embedder)


reembed = blocking(areembed, "reembed")
"""`areembed` for code without an event loop."""


@dataclass(slots=True)
class _Change:
    """A change of embedder in progress."""

    collections: CollectionStore
    scope: TenantScope
    on_progress: Callable[[int, int], None] | None
    account: Account
    chunks: int = 0
    tokens: list[int | None] = field(default_factory=list)
    dimension: int | None = None
    prepared: tuple[int, int] = (0, 0)
    """The chunks with a new vector, and all."""

    async def to(self, embedder: Embedder | None) -> Reembedded:
        name = None if embedder is None else embedder.fingerprint
        remembered = None if name is None else titled_fingerprint(name)
        is_changed = False
        while not is_changed:  # pages may be ingested before the change is made
            if embedder is not None:
                await self._prepare(embedder)
            is_changed = await offload(self.collections.change_embedder, self.scope, remembered)
        tokens = sum_tokens(self.tokens)
        cost = 0.0 if name is None else self.account.prices.embedding_cost(name, tokens)
        return Reembedded(name, self.chunks, tokens, cost)

    async def _prepare(self, embedder: Embedder) -> None:
        """Embed until every chunk has a new vector."""
        name = titled_fingerprint(embedder.fingerprint)
        pending = self.collections.pending_vectors
        while True:
            chunks, left, total = await offload(pending, self.scope, name, limit=BATCH)
            self.prepared = total - left, total
            if self.on_progress is not None:
                self.on_progress(*self.prepared)
            if not chunks:
                return
            texts = chunk_texts(name, ((chunk.title, chunk.text) for chunk in chunks))
            vectors = await self._embedded(embedder, texts)
            await offload(self.collections.prepare_vectors, self.scope, name, chunks, vectors)
            self.chunks += len(chunks)

    async def _embedded(self, embedder: Embedder, texts: Sequence[str]) -> Vectors:
        try:
            answer = await embed_texts(embedder, texts, account=self.account)
        except ModelError as error:
            raise ModelError(f"{str(error).rstrip('.')}. {self._kept()}") from error
        except CostLimitReached as error:
            raise CostLimitReached(f"{error} {self._kept()}") from error
        self.tokens.append(answer.input_tokens)
        vectors = answer.vectors
        expected = len(texts), self.dimension or vectors.shape[-1]
        if vectors.shape != expected:
            raise ModelError(
                f"{embedder.fingerprint} gave vectors of the shape {vectors.shape} where"
                f" {expected} was expected: it changed meanwhile. {self._kept()}"
            )
        self.dimension = vectors.shape[1]
        return vectors

    def _kept(self) -> str:
        """Return what an error leaves, and how to go on."""
        done, total = self.prepared
        return (
            "The collection keeps its vectors; do this again to go on:"
            f" {done} of its {total} chunks have new ones."
        )
