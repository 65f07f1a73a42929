"""The index of the offline documentation, which takes a processor eight seconds: built once a run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from collection_search import Settings
from collection_search.adapters.corpus.corpus import Corpus
from collection_search.adapters.corpus.index import draft_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from collection_search.adapters.corpus.entry import CorpusPage


def copy_offline_index(built: Path, *homes: Path) -> None:
    """Put the index into these data folders; in the folder `built` it is made if it is missing.

    Several processes may do so at once: one of them builds, the others wait.
    """
    settings = Settings(home=built)
    Corpus(settings).prepare()
    for home in homes:
        shutil.copy(settings.corpus_path, Settings(home=home).prepared_home())


def write_index(path: Path, fingerprint: str, pages: Iterable[CorpusPage]) -> None:
    """Build an index anew, as by `draft_of`. Of two pages with one address the first is used."""
    with draft_of(path, fingerprint) as draft:
        for page in pages:
            draft.add(page)
