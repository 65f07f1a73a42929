"""The embedder that filled a collection, as the settings of this process make it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Return the embedder that filled the collection, as its fingerprint says.

    It is among the `given`, by fingerprint, or the settings make it; without settings there is no
    other. Blocks. Raises MissingEmbedderError with the way out.
    """
    if fingerprint in given:
        return given[fingerprint]
    try:
        embedder = None
        if settings is not None:
            embedder = restore_embedder(settings, fingerprint, http_client)
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
    """Return the embedder that a collection remembers; None where its name does not lead to it.

    Raises ConfigError where it does but something is missing, such as a key.
    """
    if fingerprint.partition(":")[0] not in registry.names("embeddings"):
        return None
    embedder: Embedder = make_adapter(settings, "embeddings", fingerprint, http_client)
    return embedder if embedder.fingerprint == fingerprint else None
