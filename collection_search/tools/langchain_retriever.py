"""A collection as LangChain's retriever: passages with their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from ..context import SearchContext  # noqa: TC001 - pydantic reads the annotations
from ..runtime.concurrency import run_blocking
from .retrieve import aretrieve

if TYPE_CHECKING:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )

    from ..contracts.collection import Passage


class CollectionRetriever(BaseRetriever):
    """Finds passages of a tenant's collection, best first, with scores of 0-100 in the metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    collection: str
    tenant: str | None = None
    """By default the search context's, else the settings'."""
    k: int = Field(default=8, ge=1, le=100)
    search_context: SearchContext | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the signature is given
        k: int | None = None,
    ) -> list[Document]:
        return run_blocking(self._find(query, k))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - the signature is given
        k: int | None = None,
    ) -> list[Document]:
        return await self._find(query, k)

    async def _find(self, query: str, k: int | None) -> list[Document]:
        passages = await aretrieve(
            query,
            collection=self.collection,
            tenant=self.tenant,
            k=k or self.k,
            context=self.search_context,
        )
        return [_document(passage) for passage in passages]


def _document(passage: Passage) -> Document:
    return Document(
        page_content=passage.text,
        metadata={
            **passage.provenance,
            "source": passage.url,
            "title": passage.title,
            "score": passage.score,
            "n": passage.n,
        },
    )
