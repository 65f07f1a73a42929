"""The adapters of all search vendors over HTTP, and answers as each vendor wraps them."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from collection_search.adapters.http import HttpResponse
from collection_search.adapters.search.brave import BraveSearch
from collection_search.adapters.search.exa import ExaSearch
from collection_search.adapters.search.google import GoogleSearchAdapter
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
from collection_search.errors import SearchProviderBadResponse, SearchProviderError

if TYPE_CHECKING:
    from collection_search.adapters.search.http.vendor import Vendor
    from collection_search.contracts.search import ProviderSearchResult

KEY = "open-sesame/4+tests"
TODAY = date(2026, 11, 21)
URL = "https://example.com/a"

TAVILY = TavilySearch(api_key=KEY)
KEYLESS = TavilySearch()
BRAVE = BraveSearch(api_key=KEY, today=lambda: TODAY)
GOOGLE = GoogleSearchAdapter(api_key=KEY, search_engine_id="engine", today=lambda: TODAY)
SEARXNG = SearxngSearch(base_url="http://localhost:8080")
WIKIPEDIA = WikipediaSearch()
SERPER = SerperSearch(api_key=KEY, today=lambda: TODAY)
SERPAPI = SerpApiSearch(api_key=KEY, today=lambda: TODAY)
EXA = ExaSearch(api_key=KEY)
LINKUP = LinkupSearch(api_key=KEY)
PERPLEXITY = PerplexitySearch(api_key=KEY)
MOJEEK = MojeekSearch(api_key=KEY)
KAGI = KagiSearch(api_key=KEY)
OPENALEX = OpenAlexSearch(api_key=KEY)
KEYED = [TAVILY, BRAVE, GOOGLE, SERPER, SERPAPI, EXA, LINKUP, PERPLEXITY, MOJEEK, KAGI, OPENALEX]
VENDORS = [*KEYED, SEARXNG, WIKIPEDIA]

SERPAPI_SUCCESS = {"search_metadata": {"id": "1", "status": "Success"}}


def answer(value: Any, status: int = 200, **headers: str) -> HttpResponse:
    """Return an answer of JSON; `_` in the names of headers stands for `-`."""
    named = {name.replace("_", "-"): header for name, header in headers.items()}
    return HttpResponse(status, named, json.dumps(value).encode())


def envelope(vendor: Vendor, rows: Any) -> dict[str, Any]:
    """Return the rows as the vendor wraps them."""
    known = {
        "brave": {"type": "search", "web": {"results": rows}},
        "google": {"kind": "customsearch#search", "items": rows},
        "openalex": {"meta": {"count": 7, "page": 1, "per_page": 25}, "results": rows},
        "searxng": {"query": "x", "results": rows},
        "wikipedia": {"query": {"search": rows}},
        "serper": {"searchParameters": {"q": "x"}, "organic": rows, "credits": 1},
        "serpapi": SERPAPI_SUCCESS | {"organic_results": rows},
        "mojeek": {"response": {"status": "OK", "head": {"results": 7}, "results": rows}},
        "kagi": {"meta": {"id": "1", "ms": 7}, "data": {"search": rows, "related_search": []}},
    }
    return known.get(vendor.provider_name, {"results": rows, "requestId": "1"})


def rows_or_none(vendor: Vendor, value: Any) -> list[ProviderSearchResult]:
    """Return the rows, none where the answer is of another form."""
    try:
        return list(vendor.parse(answer(value)).rows)
    except SearchProviderBadResponse:
        return []


def refused(vendor: Vendor, status: int, body: Any = "", **headers: str) -> SearchProviderError:
    """Return the error that an answer becomes."""
    named = {name.replace("_", "-"): header for name, header in headers.items()}
    sent = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(SearchProviderError) as error:
        vendor.parse(HttpResponse(status, named, sent.encode()))
    return error.value
