"""Which embedder a collection's pages need, and whether this process has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ConfigError, ModelError
from ...resolve import remembered_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        if known := self._known.get(fingerprint):
            return known
        try:
            embedder = remembered_embedder(self._settings, fingerprint)
        except ConfigError as error:  # a key is missing here, but perhaps not elsewhere
            raise MissingEmbedderError(str(error)) from error
        if embedder is not None:
            self.add(embedder)
            return embedder
        given = ", ".join(self._known) or "lexical"
        raise MissingEmbedderError(
            f"Collection {scope.collection!r} was filled with the embedder {fingerprint}, but the"
            f" setting embeddings says {given}. Set it to {fingerprint}, use another collection, or"
            " embed this one anew:"
            f" collection-search collections reembed {scope.collection!r}."
        )


async def vectors_of(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return one vector per text. Raises ModelError."""
    vectors = (await embedder.embed(texts)).vectors
    if len(vectors) != len(texts):
        raise ModelError(
            f"{embedder.fingerprint} gave {len(vectors)} vectors for {len(texts)} texts."
        )
    return vectors
