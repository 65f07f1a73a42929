"""The embedder that filled a collection: given, made from what is remembered, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search import Settings
from collection_search.contracts.collection import TenantScope
from collection_search.contracts.embedded_text import titled_fingerprint
from collection_search.settings.collection_embedder import (
    MissingEmbedderError,
    collection_embedder,
    restore_embedder,
)
from collection_search.testing.embeddings import ScriptedEmbedder

if TYPE_CHECKING:
    from pathlib import Path

SCOPE = TenantScope("local", "docs")
REMEMBERED = "openai:text-embedding-3-small"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, openai_base_url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("given", "told"), [((), "lexical"), (("a:1", "b:2"), "a:1, b:2")], ids=["words", "models"]
)
def test_a_name_that_leads_nowhere_is_refused(
    settings: Settings, given: tuple[str, ...], told: str
) -> None:
    """The sentence names what is needed, what is there, and the way out."""
    says = (
        r"^Collection 'docs' was filled with the embedder first:64, but the setting embeddings says"
        rf" {told}\. .* collection-search collections reembed 'docs'\.$"
    )
    with pytest.raises(MissingEmbedderError, match=says):
        collection_embedder(
            SCOPE,
            "first:64",
            settings,
            given={name: ScriptedEmbedder(fingerprint=name) for name in given},
        )


def test_without_settings_none_is_made() -> None:
    """The caller chose another one."""
    with pytest.raises(MissingEmbedderError, match="reembed 'docs'"):
        collection_embedder(SCOPE, REMEMBERED, None, given={"first:64": ScriptedEmbedder()})


def test_a_missing_key_may_be_there_elsewhere(tmp_path: Path) -> None:
    """It is not the end of a page: another worker may have the key."""
    with pytest.raises(MissingEmbedderError, match="OPENAI_API_KEY"):
        collection_embedder(SCOPE, REMEMBERED, Settings(home=tmp_path), given={})


def test_the_form_of_the_texts_is_no_other_embedder(settings: Settings) -> None:
    """A collection remembers it behind the fingerprint, a setting never names it."""
    ours = ScriptedEmbedder(fingerprint="first:64")
    remembered = titled_fingerprint("first:64")
    assert collection_embedder(SCOPE, remembered, None, given={"first:64": ours}) is ours
    restored = restore_embedder(settings, titled_fingerprint(REMEMBERED))
    assert restored is not None
    assert restored.fingerprint == REMEMBERED
    with pytest.raises(MissingEmbedderError, match="with the embedder first:64, but"):
        collection_embedder(SCOPE, remembered, settings, given={})
