"""Any object with `embed_documents`, such as a LangChain `Embeddings`, as `Embedder`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Self

import anyio.to_thread

from ...contracts.collection import Embedded
from ..models.error_mapping import Remedies, model_errors
from ..models.object_memo import Memory
from ..models.single_retry import retries_itself, retry_once
from ..models.vendors import EMBEDDINGS, make_vendor_model
from .batches import clean_texts, empty_vectors, unit_vectors
from .fingerprint import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...settings import Settings

_DIMENSIONS: Final[Memory[dict[str, int]]] = Memory(dict)
"""The last dimension of each object by fingerprint: a host may change the object's model."""


class LangChainEmbedder:
    """An object with `embed_documents`, and mostly `aembed_documents`, as `Embedder`.

    Two embedders with equal class, model, deployment and address need a `fingerprint`. Raises
    ConfigError without one for an object that names no model.
    """

    def __init__(
        self,
        embeddings: Any,
        fingerprint: str | None = None,
        *,
        timeout_s: float = 30.0,
        remedies: Remedies | None = None,
    ) -> None:
        self.fingerprint = fingerprint or fingerprint_of(embeddings)
        self._embeddings = embeddings
        self._timeout_s = timeout_s
        self._remedies = remedies or Remedies()
        self._dimensions = _DIMENSIONS.of(embeddings)

    @classmethod
    def from_vendor(cls, settings: Settings, *, vendor: str, model: str) -> Self:
        """Return the embedder `vendor:model`; the vendor's package reads its own variables.

        Raises ConfigError for a vendor that is not known, and MissingExtraError naming the package.
        """
        name = model.strip()
        return cls(
            make_vendor_model(EMBEDDINGS, vendor, name),
            f"{vendor}:{name}",
            timeout_s=settings.model_timeout_s,
            remedies=Remedies.of_vendor(vendor, model="COLLECTION_SEARCH_EMBEDDINGS"),
        )

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return `(len(texts), d)` float32, unit length, in order. Raises `ModelError`."""
        if not texts:
            return Embedded(empty_vectors(self._dimensions.get(self.fingerprint)))
        subject = f"The embedding model {self.fingerprint}"
        with model_errors(subject, remedies=self._remedies, timeout_s=self._timeout_s):
            async with asyncio.timeout(self._timeout_s):
                rows = await self._rows_of_busy(clean_texts(texts))
        vectors = unit_vectors(rows, count=len(texts), subject=subject)
        self._dimensions[self.fingerprint] = vectors.shape[1]
        return Embedded(vectors)

    async def _rows_of_busy(self, texts: list[str]) -> Any:
        """Return the rows; a busy endpoint is asked twice if the object does not do so itself."""
        if retries_itself(self._embeddings):
            return await self._rows(texts)
        until = asyncio.get_running_loop().time() + self._timeout_s
        return await retry_once(lambda _: self._rows(texts), until=until)

    async def _rows(self, texts: list[str]) -> Any:
        if _is_asynchronous(self._embeddings):
            return await self._embeddings.aembed_documents(texts)
        # a thread that outlives the time limit is left to itself
        return await anyio.to_thread.run_sync(
            self._embeddings.embed_documents, texts, abandon_on_cancel=True
        )


def _is_asynchronous(embeddings: Any) -> bool:
    """Return whether the class has a coroutine of its own.

    LangChain's default would run in the event loop's own thread pool, which may be too small.
    """
    own = getattr(type(embeddings), "aembed_documents", None)
    module = getattr(own, "__module__", "")
    return own is not None and module != "langchain_core.embeddings.embeddings"
