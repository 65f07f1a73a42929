"""No variable, file or data folder of this machine reaches a test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.register_assert_rewrite(
    "collection_search.testing.embedder_contract",
    "collection_search.testing.http_search",
    "collection_search.testing.search_adapter",
    "collection_search.testing.stores",
)

OURS = (
    "COLLECTION_SEARCH_",
    "OPENAI_",
    "LANGFUSE_",
    "LANGSMITH_",
    "LANGCHAIN_",
    "SEARXNG_",
    "GOOGLE_",
)
SUFFIXES = ("_API_KEY", "_BASE_URL", "_PROXY")


@pytest.fixture(autouse=True)
def clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in os.environ:
        if name.startswith(OURS) or name.upper().endswith(SUFFIXES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLLECTION_SEARCH_HOME", str(tmp_path / "home"))
    from collection_search.settings.process import process_settings

    process_settings.cache_clear()
    yield
    process_settings.cache_clear()
