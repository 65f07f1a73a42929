"""A collection as LangChain's retriever: passages with their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import patch_config, var_child_runnable_config
from pydantic import ConfigDict, Field

from ..context import SearchContext  # noqa: TC001 - pydantic reads the annotations
from ..runtime.concurrency import run_blocking
from .retrieve import aretrieve

if TYPE_CHECKING:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        BaseCallbackManager,
        CallbackManagerForRetrieverRun,
    )

    from ..contracts.collection import Passage


class CollectionRetriever(BaseRetriever):
    """Finds passages of a tenant's collection, best first, with scores of 0-100 in the metadata.

    `filters` are those of `retrieve`, such as `{"is_pdf": True}`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    collection: str
    tenant: str | None = None
    """By default the search context's, else the settings'."""
    k: int = Field(default=8, ge=1, le=100)
    filters: dict[str, Any] | None = None
    search_context: SearchContext | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
    ) -> list[Document]:
        return run_blocking(self._find(query, k, run_manager.get_child()))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
    ) -> list[Document]:
        return await self._find(query, k, run_manager.get_child())

    async def _find(
        self, query: str, k: int | None, callbacks: BaseCallbackManager
    ) -> list[Document]:
        # A tool of LangChain does the same for what it calls, a retriever does not.
        token = var_child_runnable_config.set(patch_config(None, callbacks=callbacks))
        try:
            passages = await aretrieve(
                query,
                collection=self.collection,
                tenant=self.tenant,
                k=k or self.k,
                filters=self.filters,
                context=self.search_context,
            )
        finally:
            var_child_runnable_config.reset(token)
        return [_document(passage) for passage in passages]


def _document(passage: Passage) -> Document:
    return Document(
        page_content=passage.text,
        metadata={
            **passage.provenance,
            "source": passage.url,
            "title": passage.title,
            "score": passage.score,
            "evidence": passage.evidence,
            "n": passage.n,
        },
    )
