"""Every search adapter that talks HTTP keeps the contract, against its vendor's wire format."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.httpx_clients import loopback_client, mock_client, one_way_client

from collection_search.adapters.httpx_client import choose_transmit
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
from collection_search.adapters.search.json_api import JsonApiSearch
from collection_search.adapters.search.kagi import KagiSearch
from collection_search.adapters.search.linkup import LinkupSearch
from collection_search.adapters.search.mojeek import MojeekSearch
from collection_search.adapters.search.openalex import OpenAlexSearch
from collection_search.adapters.search.perplexity import PerplexitySearch
from collection_search.adapters.search.searxng import SearxngSearch
from collection_search.adapters.search.serpapi import SerpApiSearch
from collection_search.adapters.search.serper import SerperSearch
from collection_search.adapters.search.tavily import TavilySearch
from collection_search.adapters.search.wikipedia import WikipediaSearch
from collection_search.settings import ProviderAccess, Settings
from collection_search.settings.adapter_factory import make_adapter
from collection_search.settings.endpoint_description import JsonApi
from collection_search.testing import HttpSearchAdapterContract, ProviderServer
from collection_search.testing.provider_server import DIALECTS
from collection_search.testing.providers.brave import MONTHLY_LEFT
from collection_search.testing.providers.google import ENGINE_ID
from collection_search.testing.providers.json_endpoint import JsonEndpoint, JsonPostEndpoint
from collection_search.testing.providers.openalex import SEARCHES_LEFT
from collection_search.testing.providers.sample_index import TODAY, find_hits
from collection_search.testing.providers.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx


class TestTavily(HttpSearchAdapterContract):
    """Keyed; keyless where no key is given."""

    def server(self) -> ProviderServer:
        return ProviderServer("tavily")

    def adapter_for(self, server: ProviderServer) -> TavilySearch:
        return TavilySearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )

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
        return BraveSearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )

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
        assert self._search().results[0].source == find_hits(self.query)[0].host

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


class TestSerper(HttpSearchAdapterContract):
    """Google's rows, dates as people write them."""

    def server(self) -> ProviderServer:
        return ProviderServer("serper")

    def adapter_for(self, server: ProviderServer) -> SerperSearch:
        return SerperSearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )

    def test_relative_dates_count_from_today(self):
        """The newest is of yesterday, the fourth says nothing, the ninth is written out."""
        dates = [row.published_date for row in self._search().results]
        assert (dates[0], dates[3], dates[8]) == ("2026-03-02", None, "2026-02-22")

    def test_boxes_are_no_rows(self):
        """Answers, questions and the like stand beside the rows."""
        urls = self._urls(self._search())
        assert len(urls) == 10
        assert not [url for url in urls if "example.net" in url]


class TestSerpApi(HttpSearchAdapterContract):
    """The key is in the address; no hits are told by an error text."""

    def server(self) -> ProviderServer:
        return ProviderServer("serpapi")

    def adapter_for(self, server: ProviderServer) -> SerpApiSearch:
        return SerpApiSearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )


class TestExa(HttpSearchAdapterContract):
    """Texts come when they are asked for."""

    def server(self) -> ProviderServer:
        return ProviderServer("exa")

    def adapter_for(self, server: ProviderServer) -> ExaSearch:
        return ExaSearch(api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY)

    def test_dates_are_optional(self):
        """Every other row has null."""
        dates = [row.published_date for row in self._search().results]
        assert dates[0] == "2026-03-02T09:30:00+00:00"
        assert None in dates


class TestLinkup(HttpSearchAdapterContract):
    """No hits are a 400, an empty account is a 429."""

    def server(self) -> ProviderServer:
        return ProviderServer("linkup")

    def adapter_for(self, server: ProviderServer) -> LinkupSearch:
        return LinkupSearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )

    def test_the_depth_is_always_set(self):
        """The vendor asks for it, and the deep one costs ten times as much."""
        self._search()
        assert self.running.requests[0].body["depth"] == "standard"


class TestPerplexity(HttpSearchAdapterContract):
    """Days without a time; an empty account is a 401."""

    def server(self) -> ProviderServer:
        return ProviderServer("perplexity")

    def adapter_for(self, server: ProviderServer) -> PerplexitySearch:
        return PerplexitySearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )

    def test_dates_are_days(self):
        """Without a time, or null."""
        dates = [row.published_date for row in self._search().results]
        assert dates[0] == "2026-03-02"
        assert None in dates


class TestMojeek(HttpSearchAdapterContract):
    """The key is in the address, the status in the body."""

    def server(self) -> ProviderServer:
        return ProviderServer("mojeek")

    def adapter_for(self, server: ProviderServer) -> MojeekSearch:
        return MojeekSearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )


class TestKagi(HttpSearchAdapterContract):
    """Version 1; a wrong key is a 400."""

    def server(self) -> ProviderServer:
        return ProviderServer("kagi")

    def adapter_for(self, server: ProviderServer) -> KagiSearch:
        return KagiSearch(api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY)

    def test_dates_are_optional(self):
        """Every other row has one."""
        dates = [row.published_date for row in self._search().results]
        assert dates[0] == "2026-03-02T09:30:00+00:00"
        assert None in dates


class TestOpenAlex(HttpSearchAdapterContract):
    """Works with and without a key; a question mark would make a word a pattern."""

    query = "How does asyncio work"

    def server(self) -> ProviderServer:
        return ProviderServer("openalex")

    def adapter_for(self, server: ProviderServer) -> OpenAlexSearch:
        return OpenAlexSearch(
            api_key=server.dialect.key, base_url=server.base_url, today=lambda: TODAY
        )

    def test_the_query_arrives_as_it_is(self):
        """All but the wildcards, which OpenAlex refuses."""
        assert self._search('größe? & "100 %" + asyn* asyncio~ #1 = a/b?').results
        assert self._queries() == ['größe & "100 %" + asyn asyncio #1 = a/b']

    def test_the_rest_of_the_day_is_known(self):
        """In searches, as the budget and the price of one allow."""
        assert self._search().quota_remaining == SEARCHES_LEFT

    def test_a_search_costs_what_the_answer_says(self):
        """With a key; without one nobody gets a bill, and no header is sent."""
        assert self._search().cost_usd == 0.001
        keyless = OpenAlexSearch(base_url=self.running.base_url)
        assert keyless.search(self.query, max_results=3).cost_usd == 0.0
        assert "authorization" not in self.running.requests[-1].headers


class TestJsonEndpoint(HttpSearchAdapterContract):
    """Described in the settings: a GET with a key header of its own."""

    dialect = JsonEndpoint

    def server(self) -> ProviderServer:
        return ProviderServer(self.dialect())

    def adapter_for(self, server: ProviderServer) -> JsonApiSearch:
        return JsonApiSearch(
            JsonApi.model_validate(self.dialect.description),
            name="intranet",
            api_key=server.dialect.key,
            base_url=server.base_url,
            today=lambda: TODAY,
        )

    def test_every_part_has_its_path(self):
        """Names and list indexes; a score on the scale of the description."""
        (best, *_) = self._search(max_results=2).results
        page = find_hits(self.query)[0]
        assert best.published_date == page.published.isoformat()
        assert (best.score, best.source) == (1.0, "intranet")


class TestJsonPostEndpoint(TestJsonEndpoint):
    """A POST with nested fields and a bearer token, and no number of results."""

    dialect = JsonPostEndpoint

    def test_every_part_has_its_path(self):
        """Below the document; what has no path is missing."""
        (best, *rest) = self._search(max_results=2).results
        assert (best.score, best.content, best.published_date) == (None, None, None)
        assert len(rest) == 1
        sent = {"lang": ["en", "de"], "text": self.query}
        assert self.running.requests[0].body == {"query": sent, "index": "wiki"}


# --- through the caller's own client


class ThroughClient:
    """A suite whose calls go through a client of the caller's, a new one for each adapter."""

    test_connections_are_kept = None  # these clients keep none; see `test_transmit`

    def client(self, _: ProviderServer) -> httpx.AsyncClient:
        return one_way_client()

    def adapter_for(self, server: ProviderServer) -> Any:
        adapter = super().adapter_for(server)  # type: ignore[misc]
        adapter.transmit = choose_transmit(self.client(server))
        return adapter


@pytest.mark.slow
class TestGoogleThroughClient(ThroughClient, TestGoogle):
    """Its key is in the address."""


@pytest.mark.slow
class TestTavilyThroughTransport(ThroughClient, TestTavily):
    """Without a network; its key is in a header."""

    def client(self, server: ProviderServer) -> httpx.AsyncClient:
        return mock_client(server)


@pytest.mark.parametrize("client_of", [loopback_client, mock_client])
@pytest.mark.parametrize("name", DIALECTS)
async def test_every_adapter_goes_through_the_client(
    name: str, client_of: Callable[[ProviderServer], httpx.AsyncClient]
) -> None:
    """Its searches, pages and failures are those of the product's own session."""
    with ProviderServer(name) as server:
        access = ProviderAccess(
            api_key=server.key or None, base_url=server.base_url, search_engine_id=ENGINE_ID
        )
        settings = Settings(providers={name: access})
        async with client_of(server) as client:
            own, theirs = (
                make_adapter(settings, "search", name),
                make_adapter(settings, "search", name, client),
            )
            assert own is not theirs
            pairs = []
            for adapter in (own, theirs):
                before = len(server.requests)
                server.recover()
                found = await adapter.asearch("python", max_results=25, timeout=30.0)
                server.reply(Reply(429, b"slow down"))
                failures = await asyncio.gather(
                    adapter.asearch("python", max_results=1, timeout=30.0),
                    adapter.acheck(timeout=30.0),
                    return_exceptions=True,
                )
                asked = [(one.method, one.target, one.body) for one in server.requests[before:]]
                pairs.append((found, [str(each) for each in failures], sorted(map(str, asked))))
        assert pairs[0] == pairs[1]
        agents = {request.headers["user-agent"] for request in server.requests}
        assert len(agents) == 1
