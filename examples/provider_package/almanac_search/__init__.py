"""A search provider in a package of its own: `--provider almanac` once it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from collection_search.contracts import ProviderSearchResult, SearchAdapterResponse
from collection_search.ports import ProviderInfo

if TYPE_CHECKING:
    from collection_search import Settings

SHORT: Final = 2
"""Words that are not longer say nothing."""
ENTRIES: Final = {
    "Sowing": "Carrots are sown in April, beans after the middle of May.",
    "Storks": "White storks return to Central Europe in March and leave in August.",
    "Frost": "The last night frost is usual in the middle of May.",
}


class AlmanacSearch:
    """Searches an almanac of three entries."""

    info = ProviderInfo(name="almanac", storage_rights="allowed")
    provider_name = "almanac"

    @classmethod
    def from_settings(cls, settings: Settings) -> AlmanacSearch:  # noqa: ARG003 - it needs none
        """Return the adapter for a run."""
        return cls()

    def search(self, query: str, *, max_results: int) -> SearchAdapterResponse:
        """Return the entries that have a word of the query."""
        words = [word for word in query.lower().split() if len(word) > SHORT]
        rows = [
            ProviderSearchResult(
                url=f"https://almanac.example.org/{title.lower()}",
                title=title,
                snippet=text,
                content=text,
                source="almanac.example.org",
            )
            for title, text in ENTRIES.items()
            if any(word in f"{title} {text}".lower() for word in words)
        ]
        return SearchAdapterResponse(results=rows[:max_results], status_code=200)
