"""A data set, searched by full text with a temporary index."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...tools.evaluation.beir import Dataset
    from ...tools.evaluation.pools import EvalCorpus
    from .terminal import Screen


def index_dataset(dataset: Dataset, screen: Screen) -> EvalCorpus:
    """Return the corpus, searched with an index that is deleted afterwards."""
    from ...adapters.stores.sqlite import SQLiteStore
    from ...tools.evaluation.pools import index_corpus

    with (
        TemporaryDirectory(prefix="collection-search-") as folder,
        screen.bar("Indexing the data set") as advance,
    ):
        store = SQLiteStore(Path(folder) / "pages.db")
        try:
            return index_corpus(dataset, store.collections, advance)
        finally:
            store.close()
