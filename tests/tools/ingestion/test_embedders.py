"""Which embedder a collection needs, and whether this process has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from collection_search import SearchContext, Settings
from collection_search.contracts.collection import Embedded, TenantScope
from collection_search.errors import ModelError
from collection_search.testing.embeddings import ScriptedEmbedder
from collection_search.tools.ingestion.embedders import Embedders, vectors_of
from collection_search.tools.spending.account import Account

if TYPE_CHECKING:
    from pathlib import Path

    from collection_search.adapters.stores.sqlite import SQLiteStore

SCOPE = TenantScope("local", "docs")
REMEMBERED = "openai:text-embedding-3-small"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, openai_base_url="http://127.0.0.1:9/v1")


def test_words_suffice_where_no_model_filled(store: SQLiteStore, settings: Settings) -> None:
    """Whatever models the process has."""
    embedders = Embedders(store.collections, settings)
    embedders.add(ScriptedEmbedder())
    assert embedders.of(SCOPE) is None


def test_a_model_that_was_added_is_taken(store: SQLiteStore, settings: Settings) -> None:
    """By its fingerprint."""
    store.collections.bind_embedder(SCOPE, "second:64")
    embedders = Embedders(store.collections, settings)
    second = ScriptedEmbedder(fingerprint="second:64")
    for embedder in (ScriptedEmbedder(fingerprint="first:64"), second, None):
        embedders.add(embedder)
    assert embedders.of(SCOPE) is second


def test_the_remembered_model_is_made_once(store: SQLiteStore, settings: Settings) -> None:
    """Its name leads to it, whatever the settings say."""
    store.collections.bind_embedder(SCOPE, REMEMBERED)
    embedders = Embedders(store.collections, settings)
    embedder = embedders.of(SCOPE)
    assert embedder is not None
    assert embedder.fingerprint == REMEMBERED
    assert embedders.of(SCOPE) is embedder


@pytest.mark.parametrize(
    "vectors",
    [np.ones((1, 4)), np.ones((3, 4)), np.array([[1.0, 0.0], [np.nan, 0.0]])],
    ids=["one", "three", "no numbers"],
)
async def test_unusable_vectors_are_a_failure(settings: Settings, vectors: Any) -> None:
    """Texts and vectors are never paired by chance, and nothing is stored that cannot be found."""

    class Broken(ScriptedEmbedder):
        async def embed(self, texts: Any) -> Embedded:
            return Embedded(vectors.astype(np.float32))

    context = SearchContext(settings=settings)
    with pytest.raises(ModelError, match=r"gave ([13] vectors for 2 texts|vectors that hold NaN)"):
        await vectors_of(Broken(), ["tea", "rice"], account=Account(context, context.ids()))
