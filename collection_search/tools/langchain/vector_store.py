"""A collection as LangChain's vector store."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from langchain_core.vectorstores import VectorStore

from ...contracts.collection import Chunk, TenantScope
from ...contracts.embedded_text import chunk_texts
from ...errors import InputError
from ...runtime.concurrency import offload, run_blocking
from ...text.clean import to_unicode
from ..ingestion.embedders import bind_to, embed_in_batches, embedder_for, observed_vectors
from ..public_arguments import context_for, validate_arguments, validate_texts
from ..retrieve import POOL
from .document_mapping import build_document, to_langchain, to_store_filters, url_key_of
from .word_relevance import rank_by_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import Embeddings

    from ...context import SearchContext
    from ...contracts.collection import Filters, StoredChunk, Vectors
    from ...ports import Embedder, Storage

_NO_MARGINAL_RELEVANCE: Final = (
    "A collection has no search by maximal marginal relevance. Use `retrieve`, or"
    " `CollectionRetriever` in a chain: they return each text once."
)


class _Known(NamedTuple):
    """A document as LangChain's, with its key in the store."""

    url_key: str
    shown: LangChainDocument


class CollectionVectorStore(VectorStore):
    """A tenant's collection; texts that are added become documents of one chunk each.

    An empty collection is bound to `embedding`, any LangChain `Embeddings`; the default is the
    settings' embedder, or words alone. Pages that were ingested are found as well: their ids are
    `url_key#chunk`. A filter compares what a document's metadata show by the same name with a plain
    value, or with several of which one must fit; those of `retrieve`, such as `published_after`,
    work as well. What a document's chunks show (`start`, `end`, `headings`, `page`) is no filter
    for pages.
    `tenant` is by default the context's, else the settings'. Each asynchronous method has a
    blocking form. Raises ConfigError for another embedder than the one that filled the collection,
    InputError for metadata that is not JSON, StoreError, ModelError.
    """

    def __init__(
        self,
        collection: str,
        *,
        tenant: str | None = None,
        embedding: Embeddings | None = None,
        fingerprint: str | None = None,
        context: SearchContext | None = None,
    ) -> None:
        validate_arguments(collection=collection)
        self._context = context_for(context, tenant)
        self._scope = TenantScope(self._context.tenant(), collection)
        self._embedding = embedding
        self._fingerprint = fingerprint

    @property
    def embeddings(self) -> Embeddings | None:
        """Return the LangChain embeddings that were given."""
        return self._embedding

    # --- writing

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature is given
    ) -> list[str]:
        """Store the texts and return their ids; the text of a known id is replaced."""
        validate_arguments(metadatas=metadatas)
        said = [to_unicode(text) for text in validate_texts("texts", texts)]
        facts = metadatas or [{} for _ in said]
        known = validate_texts("ids", _or_empty(ids) if ids else [""] * len(said))
        keys = [key or str(uuid.uuid4()) for key in known]
        if not len(said) == len(facts) == len(keys):
            raise InputError("Give as many metadatas and ids as texts.")
        documents = [build_document(*one) for one in zip(keys, said, facts, strict=True)]
        store, embedder = await self._ports(binds=True)
        remembered = await offload(store.collections.embedder, self._scope) or ""
        titles = (document.title for document in documents)
        embedded = chunk_texts(remembered, zip(titles, said, strict=True))
        vectors = await embed_in_batches(embedder, embedded, self._context)

        def put() -> None:
            for document, text, vector in zip(documents, said, vectors, strict=True):
                chunk = Chunk(0, text, 0, len(text), vector)
                store.collections.replace_document(self._scope, document, [chunk])

        await offload(put)
        return keys

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Do the same, blocking."""
        return run_blocking(self.aadd_texts(texts, metadatas, ids=ids, **kwargs))

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:  # noqa: ARG002
        """Delete these documents; return False when some of them did not exist.

        The id of a page's chunk deletes the page.
        """
        if ids is None:
            raise InputError("Give the ids of what is to be deleted.")
        wanted = validate_texts("ids", ids)
        store = await self._context.storage()
        known = await self._known(store, wanted)
        keys = [known[key].url_key for key in wanted if key in known]
        await offload(store.collections.delete_documents, self._scope, keys)
        return all(key in known for key in wanted)

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Return the same as `adelete`. Blocks."""
        return run_blocking(self.adelete(ids, **kwargs))

    # --- reading

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[LangChainDocument]:
        """Return the documents with these ids; unknown ids are left out."""
        known = await self._known(await self._context.storage(), validate_texts("ids", ids))
        return [known[key].shown for key in ids if key in known]

    def get_by_ids(self, ids: Sequence[str], /) -> list[LangChainDocument]:
        """Return the same as `aget_by_ids`. Blocks."""
        return run_blocking(self.aget_by_ids(ids))

    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filters | None = None,  # noqa: A002 - LangChain's word
        **kwargs: Any,  # noqa: ARG002 - the signature is given
    ) -> list[tuple[LangChainDocument, float]]:
        """Return at most `k` documents with their similarity, best first.

        Words and vectors both decide the order. The score is the cosine (-1 to 1), in a collection
        without vectors BM25, which compares within one answer only.
        """
        validate_arguments(query=query, k=k)
        store, embedder = await self._ports()
        vector = None
        if embedder is not None:
            vector = await observed_vectors(embedder, [query], self._context)
        return await self._found(store, query, vector, k, filter)

    def similarity_search_with_score(
        self, *args: Any, **kwargs: Any
    ) -> list[tuple[LangChainDocument, float]]:
        """Return the same as `asimilarity_search_with_score`. Blocks."""
        return run_blocking(self.asimilarity_search_with_score(*args, **kwargs))

    async def asimilarity_search(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[LangChainDocument]:
        """Return at most `k` documents, best first."""
        return [one for one, _ in await self.asimilarity_search_with_score(query, k, **kwargs)]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[LangChainDocument]:
        """Return the same as `asimilarity_search`. Blocks."""
        return run_blocking(self.asimilarity_search(query, k, **kwargs))

    async def asimilarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Filters | None = None,  # noqa: A002 - LangChain's word
        **kwargs: Any,  # noqa: ARG002 - the signature is given
    ) -> list[LangChainDocument]:
        """Return at most `k` documents near the vector, best first."""
        validate_arguments(k=k)
        try:
            vector = np.asarray([embedding], np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"The vector must be a list of numbers: {error}.") from error
        length = float(np.linalg.norm(vector))
        if not 0 < length < np.inf:
            raise InputError("The vector holds no numbers, or zeros only.")
        store = await self._context.storage()
        return [one for one, _ in await self._found(store, "", vector / length, k, filter)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[LangChainDocument]:
        """Return the same as `asimilarity_search_by_vector`. Blocks."""
        return run_blocking(self.asimilarity_search_by_vector(embedding, k, **kwargs))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: max(0.0, min(1.0, cosine))

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[LangChainDocument, float]]:
        """Return the cosines as relevances, without vectors a hundredth of the passages' scores."""
        validate_arguments(query=query, k=k)
        store, embedder = await self._ports()
        if embedder is not None:
            return await super()._asimilarity_search_with_relevance_scores(query, k, **kwargs)
        found = await self._stored(store, query, None, max(k, POOL), kwargs.get("filter"))
        profile = self._context.profile()
        ranked = await offload(rank_by_words, query, found, profile=profile)
        best = ranked[: max(k, 0)]
        return [(to_langchain(one.document, one.chunk), relevance) for one, relevance in best]

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[LangChainDocument, float]]:
        return run_blocking(self._asimilarity_search_with_relevance_scores(query, k, **kwargs))

    def max_marginal_relevance_search(self, *_: Any, **__: Any) -> list[LangChainDocument]:
        """Raise NotImplementedError, which says what to use instead."""
        raise NotImplementedError(_NO_MARGINAL_RELEVANCE)

    def max_marginal_relevance_search_by_vector(
        self, *_: Any, **__: Any
    ) -> list[LangChainDocument]:
        """Raise NotImplementedError, which says what to use instead."""
        raise NotImplementedError(_NO_MARGINAL_RELEVANCE)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a store with these texts; `collection` is needed as a keyword."""
        store = cls(embedding=embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=list(ids) if ids else None)
        return store

    # --- inside

    async def _known(self, store: Storage, ids: Sequence[str]) -> dict[str, _Known]:
        """Return by id what is stored; a text's own id may look like that of a page's chunk."""
        keys = dict.fromkeys(key for one in ids for key in (one, url_key_of(one)))
        stored = await offload(store.collections.get, self._scope, list(keys))
        shown = (
            _Known(document.url_key, to_langchain(document, chunk))
            for document, chunks in stored
            for chunk in chunks
        )
        return {str(one.shown.id): one for one in shown}

    async def _ports(self, *, binds: bool = False) -> tuple[Storage, Embedder | None]:
        """Return the store and the collection's embedder; bind an empty collection if `binds`."""
        store = await self._context.storage()
        context = self._context
        if self._embedding is not None:
            context = context.model_copy(update={"embeddings": self._named(self._embedding)})
        if binds and (embedder := await context.embedder()) is not None:
            await offload(bind_to, store.collections, self._scope, embedder)
        return store, await embedder_for(context, store, self._scope)

    def _named(self, embedding: Embeddings) -> Any:
        if self._fingerprint is None:
            return embedding
        from ...settings.registry import load_adapter

        adapter = load_adapter("embeddings", "langchain")
        timeout_s = self._context.using().model_timeout_s
        return adapter(embedding, self._fingerprint, timeout_s=timeout_s)

    async def _found(
        self, store: Storage, query: str, vector: Vectors | None, k: int, filters: Filters | None
    ) -> list[tuple[LangChainDocument, float]]:
        found = await self._stored(store, query, vector, k, filters)
        return [(to_langchain(one.document, one.chunk), _score(one, vector)) for one in found]

    async def _stored(
        self, store: Storage, query: str, vector: Vectors | None, k: int, filters: Filters | None
    ) -> list[StoredChunk]:
        wanted = to_store_filters(filters)
        return await offload(
            store.collections.search, self._scope, query, vector=vector, limit=k, filters=wanted
        )


def _score(found: StoredChunk, vector: Vectors | None) -> float:
    if vector is None or found.chunk.vector is None:
        return found.score
    return float(found.chunk.vector @ vector[0])


def _or_empty(ids: Any) -> Any:
    """Return a list of ids with "" for None, by which LangChain asks for a new id."""
    return [key or "" for key in ids] if isinstance(ids, list | tuple) else ids
