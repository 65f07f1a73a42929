"""Every search adapter that talks HTTP keeps the contract, against its vendor's wire format."""

from __future__ import annotations

import pytest

from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.testing import HttpSearchAdapterContract, ProviderServer
from collection_search.testing.providers.brave import MONTHLY_LEFT
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.pages import found


class TestTavily(HttpSearchAdapterContract):
    """Keyed; keyless where no key is given."""

    def server(self) -> ProviderServer:
        return ProviderServer("tavily")

    def adapter_for(self, server: ProviderServer) -> TavilySearch:
        return TavilySearch(api_key=server.dialect.key, base_url=server.base_url)

    def test_without_a_key_it_is_keyless(self):
        """The header of the keyless mode, and no other."""
        adapter = TavilySearch(base_url=self.running.base_url)
        assert adapter.search(self.query, max_results=3).results
        headers = self.running.requests[0].headers
        assert headers["x-tavily-access-mode"] == "keyless"
        assert "authorization" not in headers

    def test_the_depth_is_always_set(self):
        """Otherwise the vendor may choose the one that costs twice."""
        self._search()
        assert self.running.requests[0].body["search_depth"] == "basic"


class TestBrave(HttpSearchAdapterContract):
    """Pages by index; the month's rest is in the headers."""

    def server(self) -> ProviderServer:
        return ProviderServer("brave")

    def adapter_for(self, server: ProviderServer) -> BraveSearch:
        return BraveSearch(api_key=server.dialect.key, base_url=server.base_url)

    def test_a_time_without_a_zone_is_utc(self):
        """`page_age` names no zone."""
        assert self._search().results[0].published_date == "2026-03-02T09:30:00+00:00"

    def test_the_rest_of_the_month_is_known(self):
        """The last of the pair, not that of the second."""
        assert self._search().quota_remaining == MONTHLY_LEFT


class TestGoogle(HttpSearchAdapterContract):
    """The key is in the address, a hundred rows are the end."""

    def server(self) -> ProviderServer:
        return ProviderServer("google")

    def adapter_for(self, server: ProviderServer) -> GoogleSearchAdapter:
        return GoogleSearchAdapter(
            api_key=server.dialect.key, search_engine_id=ENGINE_ID, base_url=server.base_url
        )

    def test_the_source_is_the_site(self):
        """`displayLink`, as documented."""
        assert self._search().results[0].source == found(self.query)[0].host

    def test_no_date_is_guessed(self):
        """The date in the text may be that of anything."""
        assert {row.published_date for row in self._search().results} == {None}


class TestSearxng(HttpSearchAdapterContract):
    """No key; operators that only the server knows are taken out of a query."""

    def server(self) -> ProviderServer:
        return ProviderServer("searxng")

    def adapter_for(self, server: ProviderServer) -> SearxngSearch:
        return SearxngSearch(base_url=server.base_url)

    def test_dates_are_optional(self):
        """Every other row has one."""
        dates = [row.published_date for row in self._search().results]
        assert dates[0] == "2026-03-02T09:30:00+00:00"
        assert None in dates

    @pytest.mark.parametrize("query", ["!!w asyncio", "!al :de asyncio", "<1 asyncio"])
    def test_bangs_lead_nowhere(self, query):
        """A model's query is no command to the server."""
        assert self._search(query).results
        assert self._queries() == ["asyncio"]


class TestWikipedia(HttpSearchAdapterContract):
    """No key, no addresses in the rows."""

    def server(self) -> ProviderServer:
        return ProviderServer("wikipedia")

    def adapter_for(self, server: ProviderServer) -> WikipediaSearch:
        return WikipediaSearch(base_url=server.base_url)
