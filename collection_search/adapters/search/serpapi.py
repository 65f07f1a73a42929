"""SerpApi: Google's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...contracts.health import Health
from ..http import HttpRequest, join_url
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.health_check import to_whole_number
from .http.json_values import read_path
from .http.query_limits import DOMAINS, google_parameters, supported_options
from .http.regions import GOOGLE_LANGUAGES
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ..http import HttpResponse


class SerpApiSearch(HttpSearch):
    """Searches Google through SerpApi, 10 results a request.

    The key is part of the address: SerpApi reads it from there only.
    """

    provider_name = "serpapi"
    title = "SerpApi"
    index = "Google"
    key_variable = "SERPAPI_API_KEY"
    address_variable = "SERPAPI_BASE_URL"
    needs_key = True
    default_base_url = "https://serpapi.com"
    names = RowNames(url="link", dates=("date",))
    method = "GET"
    key_header = ""
    paging = Paging("start", counts_rows=True)
    page_size = 10
    max_pages = 10
    always_sends = ("search_metadata",)
    supports: ClassVar = supported_options("freshness", "language", "country", emulated=DOMAINS)
    languages = GOOGLE_LANGUAGES
    rules = FailureRules(
        texts={
            "invalid api key": "authenticationFailed",
            "throughput": "rateLimited",
            "run out of searches|searches for the month": "quotaExceeded",  # with status 429 or 200
        },
        no_hits="hasn.t returned any results",  # with status 200
    )
    without_hits: ClassVar = {"search_metadata": {"status": "Success"}, "organic_results": []}

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends."""
        sent = {"engine": "google", "q": query, "num": count, "api_key": self.key()}
        return sent | google_parameters(options, self.today(), self.languages)

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError, for an error in a 200 too."""
        answer = self.answer(response)
        organic = answer.get("organic_results")
        if organic is None and read_path(answer, "search_metadata", "status") == "Success":
            organic = []  # a page of other boxes alone
        more = bool(read_path(answer, "serpapi_pagination", "next"))
        return self.page_of(self.listed(organic, response), response, more=more)

    def check(self) -> HttpRequest:
        """Return the request for the account, which is free."""
        params = {"api_key": self.key()}
        return HttpRequest("GET", join_url(self.base_url, "account"), params=params)

    def health(self, response: HttpResponse) -> Health:
        """Return the searches left. Raises SearchProviderError."""
        answer = self.answer(response)
        left = to_whole_number(answer.get("total_searches_left"))
        if left is None:
            left = to_whole_number(answer.get("plan_searches_left"))
        return Health(key_valid=True, quota_left=left)
