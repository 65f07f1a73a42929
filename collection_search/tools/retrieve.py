"""Answers from a collection: passages that can be cited, with where they come from."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ..context import SearchContext
from ..contracts.collection import Passage, TenantScope
from ..errors import InputError
from ..ranking.calibration import begun, settled
from ..ranking.scoring import Page, rank
from ..runtime.concurrency import offload, run_blocking
from ..text.clean import normalize_query
from .ingestion.embedders import account_of, embedder_that_filled, vectors_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts.collection import StoredChunk, Vectors
    from ..ports import CollectionStore, Embedder, Storage
    from ..ranking.scoring import Calibration, Profile

MAX_K: Final = 100
MAX_QUESTION_CHARS: Final = 2000
POOL: Final = 40
"""Chunks that the store offers for the closer look, at least."""
_MORE: Final = (1, 4, 16)
"""How many times as many are asked for, where the same texts are stored again and again."""
MAX_PER_DOCUMENT: Final = 3
"""Passages of one document, as long as others have something to say."""


def retrieve(
    question: str,
    *,
    collection: str,
    tenant: str,
    k: int = 8,
    context: SearchContext | None = None,
) -> list[Passage]:
    """Return at most `k` (1 to 100) passages of the collection, best first.

    They are scored as search results are, 0-100, in the context's ranking profile. A text that is
    stored under several addresses comes once. `provenance` says where in the document the passage
    stands (`start`, `end`, in characters), the hash of the document's text and how the document
    was found.

    Raises InputError for a question without words or over 2000 characters and for
    an unknown collection, ConfigError when the collection needs another embedder, StoreError, and
    ModelError, after which a retry may help.
    """
    return run_blocking(
        aretrieve(question, collection=collection, tenant=tenant, k=k, context=context)
    )


async def aretrieve(
    question: str,
    *,
    collection: str,
    tenant: str,
    k: int = 8,
    context: SearchContext | None = None,
) -> list[Passage]:
    """Return what `retrieve` returns, without blocking the event loop."""
    context = context or SearchContext()
    query = normalize_query(question)
    if len(query) > MAX_QUESTION_CHARS:
        raise InputError(f"The question is longer than {MAX_QUESTION_CHARS} characters; cut it.")
    if not 1 <= k <= MAX_K:
        raise InputError(f"k is {k}; ask for 1 to {MAX_K} passages.")
    scope = scope_of(tenant, collection)
    store: Storage = await context.storage()
    embedder = await embedder_for(context, store, scope)
    scale, profile = None, context.profile()
    if embedder is not None and profile != "literal":
        scale = begun(embedder, folder=context.using().home)
    vector = None
    if embedder is not None:
        account = account_of(context, scope, context.run_id)
        vector = await vectors_of(embedder, [query], account=account)
    found = await offload(_found, store.collections, scope, query, vector, k)
    if not found:
        await offload(refuse_unknown, store, scope)
        return []
    calibration = None if scale is None else await settled(scale)
    return await offload(
        _passages, query, found, vector, calibration=calibration, profile=profile, k=k
    )


def scope_of(tenant_id: str, collection: str) -> TenantScope:
    """Return the tenant's collection. Raises InputError for a name that no collection can have."""
    try:
        return TenantScope(tenant_id, collection)
    except ValueError as error:
        raise InputError(f"{error}.") from error


async def embedder_for(
    context: SearchContext, store: Storage, scope: TenantScope
) -> Embedder | None:
    """Return the embedder that filled the collection, None where words suffice.

    Raises ConfigError when the settings lead to another one.
    """
    fingerprint = await offload(store.collections.embedder, scope)
    if fingerprint is None:
        return None
    embedder = await context.embedder()
    if embedder is not None and embedder.fingerprint == fingerprint:
        return embedder
    settings = context.using() if context.embeddings is None else None  # a caller's choice stands
    given = () if embedder is None else (embedder.fingerprint,)
    return await offload(
        embedder_that_filled,
        scope,
        fingerprint,
        settings,
        given=given,
        http_client=context.http_client,
    )


def refuse_unknown(store: Storage, scope: TenantScope) -> None:
    """Raise InputError naming the tenant's collections, unless this is one of them."""
    names = [info.collection for info in store.collections.collections(scope.tenant_id)]
    if scope.collection not in names:
        known = f"Known: {', '.join(names)}." if names else "It has none yet: ingest pages first."
        raise InputError(
            f"Tenant {scope.tenant_id!r} has no collection {scope.collection!r}. {known}"
        )


def _found(
    collections: CollectionStore, scope: TenantScope, query: str, vector: Vectors | None, k: int
) -> list[StoredChunk]:
    """Return chunks for `k` passages, each text once: as the store finds it best."""
    first: dict[tuple[str, str], StoredChunk] = {}
    for limit in (max(POOL, 5 * k) * more for more in _MORE):
        found = collections.search(scope, query, vector=vector, limit=limit)
        first = {}
        for one in found:
            first.setdefault((one.document.content_hash, one.chunk.text), one)
        if len(first) >= k or len(found) < limit:
            break
    return list(first.values())


def _passages(
    query: str,
    found: Sequence[StoredChunk],
    vector: Vectors | None,
    *,
    calibration: Calibration | None,
    profile: Profile,
    k: int,
) -> list[Passage]:
    pages = [
        Page(title=one.document.title, snippet=one.chunk.text, url=one.document.url)
        for one in found
    ]
    cosines = _cosines(found, vector)
    scored = rank(
        query,
        pages,
        similarities=cosines,
        profile=profile,
        limit=len(pages),
        calibration=calibration,
    )
    documents = [found[one.index].document for one in scored]
    chosen = _varied([one.content_hash or one.url_key for one in documents], k)
    return [
        _passage(n, found[scored[place].index], scored[place].embedding_rank_score)
        for n, place in enumerate(chosen, start=1)
    ]


def _cosines(found: Sequence[StoredChunk], vector: Vectors | None) -> list[float] | None:
    if vector is None:
        return None
    return [0.0 if (own := one.chunk.vector) is None else float(own @ vector[0]) for one in found]


def _varied(documents: Sequence[str], k: int) -> list[int]:
    """Return the places of the `k` best, in order, with few of one document while others are left.

    >>> _varied(["a", "a", "a", "a", "b"], k=4)
    [0, 1, 2, 4]
    """
    seen: Counter[str] = Counter()
    first: list[int] = []
    spare: list[int] = []
    for place, document in enumerate(documents):
        seen[document] += 1
        (first if seen[document] <= MAX_PER_DOCUMENT else spare).append(place)
    return sorted((first + spare)[:k])


def _passage(n: int, found: StoredChunk, score: float) -> Passage:
    document, chunk = found.document, found.chunk
    return Passage(
        n=n,
        url=document.url,
        title=document.title,
        text=chunk.text,
        score=score,
        provenance={
            **document.provenance,
            "content_hash": document.content_hash,
            "start": chunk.start,
            "end": chunk.end,
        },
    )
