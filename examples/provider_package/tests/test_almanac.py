"""The provider passes the contract that Collection Search ships for all of them."""

from __future__ import annotations

from almanac_search import AlmanacSearch

from collection_search.testing import SearchAdapterContract


class TestAlmanac(SearchAdapterContract):
    """Everything that a provider must do."""

    query = "frost in May"

    def adapter(self) -> AlmanacSearch:
        """Return a fresh adapter."""
        return AlmanacSearch()
