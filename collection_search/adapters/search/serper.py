"""Serper: Google's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...contracts import ProviderSearchResult
from ..http import HttpRequest, joined
from .failures import FailureRules
from .http_search import HttpSearch, ResultPage
from .reading import published, text

if TYPE_CHECKING:
    from ..http import HttpResponse


class SerperSearch(HttpSearch):
    """Searches Google through Serper, 10 results and one credit a request."""

    provider_name = "serper"
    title = "Serper"
    key_variable = "SERPER_API_KEY"
    address_variable = "SERPER_BASE_URL"
    needs_key = True
    default_base_url = "https://google.serper.dev"
    page_size = 10  # more in one request cost two credits
    max_pages = 10
    fills_pages = False  # Google's pages hold less where other boxes take the room
    max_query_chars = 2048
    rules = FailureRules(texts={"not enough credits": "quotaExceeded"})  # with status 400

    def request(self, query: str, count: int, page: int) -> HttpRequest:
        """Return the call for one page; Serper counts pages from 1."""
        return HttpRequest(
            "POST",
            joined(self.base_url, "search"),
            headers={"X-API-KEY": self.key()},
            json={"q": query, "num": count, "page": page + 1},
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("organic"), response)
        return self.page_of(raw, self._row, response)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=text(row.get("link")),
            title=text(row.get("title")),
            snippet=text(row.get("snippet")),
            source=self.provider_name,
            published_date=published(row.get("date"), today=self.today()),
        )
