"""Which embedder a collection needs, whether this process has it, and who pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...context import SearchContext
from ...contracts.prices import embedding_cost
from ...errors import ConfigError, ModelError
from ...runtime.concurrency import compute
from ...settings.resolve import remembered_embedder
from ..spending.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from httpx import AsyncClient

    from ...contracts.collection import Embedded, TenantScope, Vectors
    from ...contracts.ingestion import Claim
    from ...ports import CollectionStore, Embedder
    from ...settings import Settings


class MissingEmbedderError(ConfigError):
    """This process lacks the collection's embedder; another worker may have it."""


class Embedders:
    """The models that an engine has, by fingerprint."""

    def __init__(self, collections: CollectionStore, settings: Settings) -> None:
        self._collections = collections
        self._settings = settings
        self._known: dict[str, Embedder] = {}
        self._payer = SearchContext(settings=settings)
        self._payers: dict[str, SearchContext] = {}
        """By fingerprint: a model that is replayed costs nothing, others go on costing."""

    def add(self, embedder: Embedder | None, payer: SearchContext | None = None) -> None:
        """Make a model available to the collections that it filled.

        `payer` knows the books of what it embeds; by default they are those of the settings.
        """
        if embedder is not None:
            self._known[embedder.fingerprint] = embedder
        if embedder is not None and payer is not None:
            self._payers[embedder.fingerprint] = payer
        if payer is not None and payer.fetches():
            self._payer = payer

    def account(self, embedder: Embedder, claim: Claim) -> Account:
        """Return the account of the page's tenant, in the name of the run that chose the page."""
        payer = self._payers.get(embedder.fingerprint, self._payer)
        run_id = claim.provenance.get("run_id")
        return account_of(payer, claim.scope, str(run_id) if run_id else None)

    def of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None when words suffice. Raises ConfigError."""
        fingerprint = self._collections.embedder(scope)
        if fingerprint is None:
            return None
        embedder = self._known.get(fingerprint) or embedder_that_filled(
            scope,
            fingerprint,
            self._settings,
            given=self._known,
            http_client=self._payer.http_client,
        )
        self.add(embedder)
        return embedder


def embedder_that_filled(
    scope: TenantScope,
    fingerprint: str,
    settings: Settings | None,
    *,
    given: Iterable[str],
    http_client: AsyncClient | None = None,
) -> Embedder:
    """Return the embedder that the collection remembers, as the settings make it.

    `given` are the fingerprints of those that do not fit; without settings there is no other.
    Raises MissingEmbedderError with the way out.
    """
    try:
        embedder = None
        if settings is not None:
            embedder = remembered_embedder(settings, fingerprint, http_client)
    except ConfigError as error:  # a key is missing here, but perhaps not elsewhere
        raise MissingEmbedderError(str(error)) from error
    if embedder is None:
        raise MissingEmbedderError(
            f"Collection {scope.collection!r} was filled with the embedder {fingerprint}, but the"
            f" setting embeddings says {', '.join(given) or 'lexical'}. Set it to the embedder that"
            " filled the collection, or embed the collection anew:"
            f" collection-search collections reembed {scope.collection!r}."
        )
    return embedder


def account_of(context: SearchContext, scope: TenantScope, run_id: str | None) -> Account:
    """Return the account of what is embedded for the tenant; without a run, under a new id."""
    payer = context.model_copy(update={"tenant_id": scope.tenant_id, "run_id": run_id})
    return Account(payer, payer.ids())


async def vectors_of(
    embedder: Embedder, texts: Sequence[str], *, account: Account | None = None
) -> Vectors:
    """Return one vector per text, `(n, d)`. Raises ModelError, also for what holds no numbers."""
    vectors = (await embedded(embedder, texts, account=account)).vectors
    if len(vectors) != len(texts) or not await compute(_are_numbers, vectors):
        raise ModelError(
            f"{embedder.fingerprint} gave {len(vectors)} vectors for {len(texts)} texts, or some"
            " that hold no numbers. Try again, or choose another model and embed the collection"
            " anew."
        )
    return vectors


async def embedded(
    embedder: Embedder, texts: Sequence[str], *, account: Account | None
) -> Embedded:
    """Return or raise what the embedder does, with its cost in the account's books.

    A call that failed may be on the bill: its cost is not known, unless the error says otherwise.
    """
    tokens: int | None = None
    try:
        answer = await embedder.embed(texts)
    except ModelError as error:
        tokens = None if error.may_be_billed else 0
        raise
    else:
        tokens = answer.input_tokens
        return answer
    finally:
        if account is not None:
            cost = embedding_cost(embedder.fingerprint, tokens)
            account.spent("embedding", embedder.fingerprint, cost, input_tokens=tokens)
            await account.close()


def _are_numbers(vectors: Vectors) -> bool:
    import numpy as np

    return bool(np.isfinite(vectors).all())
