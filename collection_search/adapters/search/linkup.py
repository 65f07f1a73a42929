"""Linkup: search for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...contracts.options import NO_OPTIONS, SearchOptions
from ...contracts.search import ProviderSearchResult
from ..http import HttpRequest, join_url
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_text

if TYPE_CHECKING:
    from ..http import HttpResponse


class LinkupSearch(HttpSearch):
    """Searches Linkup, at one price for any number of results; a deep search costs ten times that.

    A search is one request: there are no further pages. No dates are told.
    """

    provider_name = "linkup"
    title = "Linkup"
    key_variable = "LINKUP_API_KEY"
    address_variable = "LINKUP_BASE_URL"
    needs_key = True
    default_base_url = "https://api.linkup.so"
    page_size = 100
    supports: ClassVar = {
        "max_results": "native",
        "search_depth": "native",
        "include_domains": "native",
        "exclude_domains": "native",
        "include_content": "native",
        "freshness": "native",
    }
    rules = FailureRules(
        codes={
            "TASKS_QUEUE_LIMIT_EXCEEDED": "rateLimited",
            "REQUEST_DEADLINE_EXCEEDED": "timeout",
        },
        no_hits="^SEARCH_QUERY_NO_RESULT$",  # with status 400
    )
    without_hits: ClassVar = {"results": []}

    def request(
        self,
        query: str,
        count: int,
        page: int,  # noqa: ARG002 - one page
        options: SearchOptions = NO_OPTIONS,
    ) -> HttpRequest:
        """Return the only call."""
        return HttpRequest(
            "POST",
            join_url(self.base_url, "v1/search"),
            headers={"Authorization": f"Bearer {self.key()}"},
            json=self._body(query, count, options),
        )

    def _body(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "q": query,
            "depth": "deep" if options.search_depth == "deep" else "standard",
            "outputType": "searchResults",
            "maxResults": count,
        }
        if options.include_domains:
            body["includeDomains"] = list(options.include_domains)
        if options.exclude_domains:
            body["excludeDomains"] = list(options.exclude_domains)
        days = zip(("fromDate", "toDate"), options.published(self.today()), strict=True)
        return body | {name: day.isoformat() for name, day in days if day}

    def credits(self, options: SearchOptions, count: int) -> float:  # noqa: ARG002
        """Return the units of the price of a search of the depth `standard`."""
        return 10 if options.search_depth == "deep" else 1

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("results"), response)
        return self.page_of(raw, self._row, response, more=False)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=read_text(row.get("url")),
            title=read_text(row.get("name")),
            snippet=read_text(row.get("content")),
            source=self.provider_name,
            content=read_text(row.get("content")) or None,
        )
