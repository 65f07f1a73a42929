"""The embedder of a collection, made from the settings of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.embedded_text import embedder_of_vectors
from ..errors import ConfigError
from . import registry
from .adapter_factory import make_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx import AsyncClient

    from ..contracts.collection import TenantScope
    from ..ports import Embedder
    from . import Settings


class MissingEmbedderError(ConfigError):
    """This process lacks the collection's embedder; another worker may have it."""


def collection_embedder(
    scope: TenantScope,
    fingerprint: str,
    settings: Settings | None,
    *,
    given: Mapping[str, Embedder],
    http_client: AsyncClient | None = None,
) -> Embedder:
    """Return the embedder that filled the collection, by the fingerprint that this remembers.

    It is one of the `given`, or made from the settings, if any. Blocks. Raises MissingEmbedderError
    with a remedy.
    """
    fingerprint = embedder_of_vectors(fingerprint)
    if fingerprint in given:
        return given[fingerprint]
    try:
        embedder = restore_embedder(settings, fingerprint, http_client) if settings else None
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


def restore_embedder(
    settings: Settings, fingerprint: str, http_client: AsyncClient | None = None
) -> Embedder | None:
    """Return the embedder of a fingerprint; None where the settings make another one.

    The fingerprint may be what a collection remembers. Raises ConfigError where something is
    missing, such as a key.
    """
    fingerprint = embedder_of_vectors(fingerprint)
    if fingerprint.partition(":")[0] not in registry.names("embeddings"):
        return None
    embedder: Embedder = make_adapter(settings, "embeddings", fingerprint, http_client)
    return embedder if embedder.fingerprint == fingerprint else None
