"""A collection as LangChain's retriever: LangChain's own suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.context import SearchContext
from collection_search.tools.langchain.vector_store import CollectionVectorStore
from collection_search.tools.langchain_retriever import CollectionRetriever

if TYPE_CHECKING:
    from pathlib import Path


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's suite for retrievers."""

    @property
    def retriever_constructor(self) -> type[CollectionRetriever]:
        return CollectionRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"collection": "notes", "tenant": "acme", "search_context": self.filled}

    @property
    def retriever_query_example(self) -> str:
        return "herons"

    @pytest.fixture(autouse=True)
    def _filled(self, tmp_path: Path) -> None:
        self.filled = context = SearchContext(store=SQLiteStore(tmp_path / "collections.db"))
        words = CollectionVectorStore("notes", tenant="acme", context=context)
        words.add_texts([f"Text {n} is about herons that wade." for n in range(12)])
