"""Search over the documentation on this machine: no key, no server, no network."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlsplit

from ...contracts.search import ProviderSearchResult, SearchAdapterResponse
from ...errors import SearchProviderUnavailable, StoreError
from ...ports.provider_info import ProviderInfo
from ...ranking.languages.guess import guess_language
from ..corpus.corpus import Corpus

if TYPE_CHECKING:
    from ...settings import Settings
    from ..corpus.entry import ReadProgress
    from ..corpus.index import Hit

_OK: Final = 200
_LANGUAGE: Final = "English"
"""Of the documentation that comes with Python and its packages."""


class OfflineSearch:
    """Finds pages of the offline corpus; the results carry their text.

    Safe to use from several threads. The first search builds the index, which takes seconds:
    `prepare` does it at a chosen time and shows its progress.
    """

    provider_name = "offline"
    info: ClassVar = ProviderInfo(name="offline", storage_rights="allowed")

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    @classmethod
    def from_settings(cls, settings: Settings) -> OfflineSearch:
        """Return the adapter over the corpus in the settings' data folder."""
        return cls(Corpus(settings))

    def prepare(self, progress: ReadProgress | None = None) -> None:
        """Build the index if need be. Raises ConfigError or StoreError."""
        self._corpus.prepare(progress)

    def count_folders(self) -> int:
        """Return how many folders were added. Raises ConfigError, StoreError for a damaged file."""
        return len(self._corpus.folders())

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return pages that share words with the query, best first; none is no error.

        Raises ConfigError when the data folder cannot be written, SearchProviderUnavailable when a
        file in it cannot be used; a retry does not help.
        """
        try:
            hits = self._corpus.search(query, max_results)
        except (StoreError, sqlite3.Error, OSError) as error:
            raise SearchProviderUnavailable(str(error), retryable=False) from error
        return SearchAdapterResponse(
            results=[_row(hit) for hit in hits],
            status_code=_OK,
            notices=() if hits or self._corpus.folders() else _language_notices(query),
        )


def _language_notices(query: str) -> tuple[str, ...]:
    asked = guess_language(query)
    if asked in (None, _LANGUAGE):
        return ()
    notice = f"The query is in {asked}. The documentation on this machine is in {_LANGUAGE}, and is"
    return (f"{notice} found by its words: ask in {_LANGUAGE}.",)


def _row(hit: Hit) -> ProviderSearchResult:
    return ProviderSearchResult(
        url=hit.url,
        title=hit.title,
        snippet=hit.snippet,
        source=urlsplit(hit.url).hostname or "",
        score=hit.score,
        content_type="text/plain",
        content=hit.text,
    )
