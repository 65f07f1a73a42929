"""Which embedder a collection needs, and whether this process has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...bridge import compute
from ...errors import ConfigError, ModelError
from ...resolve import remembered_embedder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...ports import CollectionStore, Embedder
    from ...records import TenantScope, Vectors
    from ...settings import Settings


class MissingEmbedderError(ConfigError):
    """This process lacks the collection's embedder; another worker may have it."""


class Embedders:
    """The models that an engine has, by fingerprint."""

    def __init__(self, collections: CollectionStore, settings: Settings) -> None:
        self._collections = collections
        self._settings = settings
        self._known: dict[str, Embedder] = {}

    def add(self, embedder: Embedder | None) -> None:
        """Make a model available to the collections that it filled."""
        if embedder is not None:
            self._known[embedder.fingerprint] = embedder

    def of(self, scope: TenantScope) -> Embedder | None:
        """Return the collection's embedder, None when words suffice. Raises ConfigError."""
        fingerprint = self._collections.embedder(scope)
        if fingerprint is None:
            return None
        embedder = self._known.get(fingerprint) or embedder_that_filled(
            scope, fingerprint, self._settings, given=self._known
        )
        self.add(embedder)
        return embedder


def embedder_that_filled(
    scope: TenantScope, fingerprint: str, settings: Settings | None, *, given: Iterable[str]
) -> Embedder:
    """Return the embedder that the collection remembers, as the settings make it.

    `given` are the fingerprints of those that do not fit; without settings there is no other.
    Raises MissingEmbedderError with the way out.
    """
    try:
        embedder = None if settings is None else remembered_embedder(settings, fingerprint)
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


async def vectors_of(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return one vector per text, `(n, d)`. Raises ModelError, also for what holds no numbers."""
    vectors = (await embedder.embed(texts)).vectors
    if len(vectors) != len(texts) or not await compute(_are_numbers, vectors):
        raise ModelError(
            f"{embedder.fingerprint} gave {len(vectors)} vectors for {len(texts)} texts, or some"
            " that hold no numbers. Try again, or choose another model and embed the collection"
            " anew."
        )
    return vectors


def _are_numbers(vectors: Vectors) -> bool:
    import numpy as np

    return bool(np.isfinite(vectors).all())
