"""The offline search keeps the contract of search adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.corpus.corpus import Corpus
from collection_search.adapters.corpus.entry import CorpusPage, CorpusSource
from collection_search.adapters.search.offline import OfflineSearch
from collection_search.settings import Settings
from collection_search.testing.search_adapter import SearchAdapterContract

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    CorpusPage(
        f"https://docs.example.org/tasks/{n}", f"Tasks {n}", f"How to cancel a task, part {n}."
    )
    for n in range(12)
]


class TestOfflineSearch(SearchAdapterContract):
    """Runs on a small corpus: building that of the running Python takes seconds."""

    query = "cancel a task"

    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path) -> None:
        self.settings = Settings(home=tmp_path)

    def adapter(self) -> OfflineSearch:
        source = CorpusSource("1", lambda: [lambda page=page: page for page in PAGES])  # type: ignore[misc]
        return OfflineSearch(Corpus(self.settings, source))
