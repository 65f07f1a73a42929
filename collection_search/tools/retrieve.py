"""Retrieves passages of a collection for citation, with their sources."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ..contracts.collection import Passage, TenantScope, validate_filters
from ..errors import InputError
from ..ports.collections import require_collection
from ..ranking.calibration import await_calibration
from ..ranking.evidence import measure_evidence, passage_scale
from ..ranking.passages import ScoredChunk, choose_passages
from ..ranking.scoring import LEXICAL, PageText, rank
from ..runtime.concurrency import blocking, offload
from ..text.clean import normalize_query
from .ingestion.embedders import embedder_for, observed_vectors
from .public_arguments import context_for, validate_arguments
from .spending.paid_embedder import PaidEmbedder
from .spending.paid_scale import start_paid_scale
from .spending.run_spendings import open_account

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from ..context import SearchContext
    from ..contracts.collection import CollectionInfo, Filters, StoredChunk, Vectors
    from ..contracts.state import RunIds
    from ..ports import CollectionStore, Embedder, Storage
    from ..ranking.model_scale import ModelScale
    from ..ranking.passages import JoinedChunks
    from ..ranking.scoring import Calibration, Profile, Scored

MAX_K: Final = 100
MAX_QUESTION_CHARS: Final = 2000
POOL: Final = 40
"""Minimum number of chunks that are read from the store and ranked."""
STORE_WEIGHT: Final = 30.0
"""Points of the heuristic score that a standard deviation of the store's order is worth."""
_MORE: Final = (1, 4, 16)
"""Factors of the number of chunks, tried in turn while too many have the same text."""


async def aretrieve(
    question: str,
    *,
    collection: str,
    tenant: str | None = None,
    k: int = 8,
    filters: Filters | None = None,
    context: SearchContext | None = None,
) -> list[Passage]:
    """Return at most `k` (1 to 100) passages of the collection, best first.

    The score is 0-100, in the context's ranking profile, on the scale of passages. With a model the
    order also weighs how rare words are in the collection, so that scores may rise. A passage that
    shares words with the question need not answer it: `ranking.evidence.answering` picks those that
    do, by `evidence`. Neighbouring chunks are one passage, and a text with several addresses comes
    once. `provenance` has the passage's place in the document (`start`, `end`, in characters), the
    hash of the document's text, how the document was found, and its further URLs if there are any
    (`also_at`). `filters` choose among the documents, as `{"is_pdf": True}` does. `tenant` is by
    default the context's, else the settings'. `retrieve` blocks, inside a running event loop too;
    `aretrieve` is its coroutine.

    Raises InputError for a question without words or over 2000 characters, for a wrong filter and
    for an unknown collection, ConfigError when the collection needs another embedder, StoreError,
    and ModelError, after which a retry may help.
    """
    validate_arguments(question=question, collection=collection, k=k)
    validate_filters(filters)
    context = context_for(context, tenant)
    query = normalize_query(question)
    if len(query) > MAX_QUESTION_CHARS:
        raise InputError(f"The question is longer than {MAX_QUESTION_CHARS} characters; cut it.")
    if not 1 <= k <= MAX_K:
        raise InputError(f"k is {k}; ask for 1 to {MAX_K} passages.")
    scope = TenantScope(context.tenant(), collection)
    store: Storage = await context.storage()
    embedder = await embedder_for(context, store, scope)
    scale, vector, profile = None, None, context.profile()
    if embedder is not None:
        ids, is_new = context.ids(), context.run_id is None
        context = context.model_copy(update=dict(ids))  # both costs belong to one run
        if profile != "literal":
            scale = await _started_scale(embedder, context, ids, is_new=is_new)
        vector = await observed_vectors(embedder, [query], context)
    search = partial(_found, store.collections, scope, query, vector, k=k, filters=filters)
    choose = partial(_passages, query, vector=vector, profile=profile, k=k)
    if scale is None or scale.future.done():  # else it is measured while the store is searched
        calibration = None if scale is None else await scale.calibration(query, vector)
        passages = await offload(lambda: choose(search(), calibration=calibration))
    else:
        found = await offload(search)
        calibration = await scale.calibration(query, vector)
        passages = await offload(choose, found, calibration=calibration)
    if not passages:
        await figures_of(collection, context)
    return passages


retrieve = blocking(aretrieve, "retrieve")
"""`aretrieve` for code without an event loop."""


async def figures_of(collection: str, context: SearchContext) -> CollectionInfo:
    """Return the figures of the context's collection. Raises UnknownCollectionError, StoreError."""
    store, scope = await context.storage(), TenantScope(context.tenant(), collection)
    return await offload(require_collection, store.collections, scope)


class _ScaleUnderWay(NamedTuple):
    """The scale of an embedder, known or being measured."""

    future: asyncio.Future[ModelScale]
    embedder: PaidEmbedder
    context: SearchContext

    async def calibration(self, query: str, vector: Vectors | None) -> Calibration:
        """Return the calibration for the question, of the model that made its vector."""
        dimension = None if vector is None else vector.shape[-1]
        again = partial(start_paid_scale, self.embedder, self.context, dimension=dimension)
        return await await_calibration(self.future, query, dimension=dimension, again=again)


async def _started_scale(
    embedder: Embedder, context: SearchContext, ids: RunIds, *, is_new: bool
) -> _ScaleUnderWay:
    """Return the scale under way; its first measurement is paid by the run."""
    account = await open_account(context, ids, is_new=is_new)
    await account.close(is_last=False)  # what is recorded from now on is written by itself
    paid = PaidEmbedder(embedder, account)
    return _ScaleUnderWay(start_paid_scale(paid, context), paid, context)


def _found(
    collections: CollectionStore,
    scope: TenantScope,
    query: str,
    vector: Vectors | None,
    *,
    k: int,
    filters: Filters | None,
) -> list[StoredChunk]:
    """Return the store's best chunks for `k` passages, each text once."""
    first: dict[tuple[str, str], StoredChunk] = {}
    for limit in (max(POOL, 5 * k) * more for more in _MORE):
        found = collections.search(scope, query, vector=vector, limit=limit, filters=filters)
        first = {}
        for one in found:
            first.setdefault((one.document.content_hash, one.chunk.text), one)
        if len(first) >= k or len(found) < limit:
            break
    return list(first.values())


def page_texts(found: Sequence[StoredChunk]) -> list[PageText]:
    """Return the chunks as the ranking reads them."""
    return [
        PageText(title=one.document.title, snippet=one.chunk.whole_text, url=one.document.url)
        for one in found
    ]


def rank_chunks(
    query: str,
    pages: Sequence[PageText],
    *,
    cosines: Sequence[float] | None = None,
    profile: Profile,
    calibration: Calibration | None = None,
) -> list[Scored]:
    """Return all chunks with their scores, best first; without cosines words are compared."""
    return rank(
        query,
        pages,
        similarities=cosines,
        profile=profile,
        limit=len(pages),
        calibration=passage_scale(calibration, is_dense=cosines is not None),
    )


def _passages(
    query: str,
    found: Sequence[StoredChunk],
    *,
    vector: Vectors | None,
    calibration: Calibration | None,
    profile: Profile,
    k: int,
) -> list[Passage]:
    """Return the best passages of the chunks that were found."""
    pages = page_texts(found)
    cosines = None
    if vector is not None:
        own = (one.chunk.vector for one in found)
        cosines = [0.0 if each is None else float(each @ vector[0]) for each in own]
    scored = rank_chunks(query, pages, cosines=cosines, profile=profile, calibration=calibration)
    if cosines is not None and (calibration or LEXICAL).scale == "dense":
        scored.sort(key=lambda one: -_standing(one, found[one.index]))
    spans = choose_passages(
        [ScoredChunk(found[one.index], one.embedding_rank_score, one.index) for one in scored], k
    )
    places = [place for span in spans for place in span.places]
    measured = measure_evidence(
        query,
        pages,
        similarities=None if calibration is None else cosines,
        calibration=calibration,
        places=places,
    )
    evidence = dict(zip(places, measured, strict=True))
    return [
        _passage(n, span, max(round(evidence[place], 2) for place in span.places))
        for n, span in enumerate(spans, start=1)
    ]


def _standing(one: Scored, found: StoredChunk) -> float:
    """Return a chunk's place in the order where a model takes part.

    The store compares the cosines with words whose rarity is that in the whole collection, which
    the score does not know.
    """
    return one.heuristic_score + STORE_WEIGHT * found.score


def _passage(n: int, span: JoinedChunks, evidence: float) -> Passage:
    document, chunk = span.document, span.chunk
    return Passage(
        n=n,
        url=document.url,
        title=document.title,
        text=chunk.whole_text,
        score=span.score,
        evidence=evidence,
        provenance={
            **document.provenance,
            "content_hash": document.content_hash,
            "start": chunk.start,
            "end": chunk.end,
            "headings": list(chunk.headings),
            "page": chunk.page,
            **({"also_at": list(document.also_at)} if document.also_at else {}),
        },
    )
