"""Linkup: search for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...contracts import ProviderSearchResult
from ..http import HttpRequest, joined
from .failures import FailureRules
from .http_search import HttpSearch, ResultPage
from .reading import text

if TYPE_CHECKING:
    from ..http import HttpResponse


class LinkupSearch(HttpSearch):
    """Searches Linkup with the depth `standard`, at one price for any number of results.

    A search is one request: there are no further pages. No dates are told.
    """

    provider_name = "linkup"
    title = "Linkup"
    key_variable = "LINKUP_API_KEY"
    address_variable = "LINKUP_BASE_URL"
    needs_key = True
    default_base_url = "https://api.linkup.so"
    page_size = 100
    rules = FailureRules(
        codes={
            "TASKS_QUEUE_LIMIT_EXCEEDED": "rateLimited",
            "REQUEST_DEADLINE_EXCEEDED": "timeout",
        },
        no_hits="^SEARCH_QUERY_NO_RESULT$",  # with status 400
    )
    without_hits: ClassVar = {"results": []}

    def request(self, query: str, count: int, page: int) -> HttpRequest:  # noqa: ARG002 - one page
        """Return the only call."""
        return HttpRequest(
            "POST",
            joined(self.base_url, "v1/search"),
            headers={"Authorization": f"Bearer {self.key()}"},
            json={
                "q": query,
                "depth": "standard",
                "outputType": "searchResults",
                "maxResults": count,
            },
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("results"), response)
        return self.page_of(raw, self._row, response, more=False)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=text(row.get("url")),
            title=text(row.get("name")),
            snippet=text(row.get("content")),
            source=self.provider_name,
        )
