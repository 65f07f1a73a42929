"""Tavily: search for agents, over the indexes of others. Works without a key too, at low rates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...contracts import ProviderSearchResult
from ..http import HttpRequest, joined
from .failures import FailureRules, Refusal
from .http_search import HttpSearch, ResultPage
from .reading import published, share, text

if TYPE_CHECKING:
    from ...errors import ErrorCode
    from ..http import HttpResponse


class TavilySearch(HttpSearch):
    """Searches Tavily with the depth `basic`, one credit a search; without a key in keyless mode.

    A search is one request of at most 20 results: there are no further pages.
    """

    provider_name = "tavily"
    title = "Tavily"
    key_variable = "TAVILY_API_KEY"
    address_variable = "TAVILY_BASE_URL"
    default_base_url = "https://api.tavily.com"
    page_size = 20
    max_query_chars = 400
    rules = FailureRules(
        statuses={432: "quotaExceeded", 433: "quotaExceeded"}  # of the plan, of pay-as-you-go
    )

    def request(self, query: str, count: int, page: int) -> HttpRequest:  # noqa: ARG002 - one page
        """Return the only call."""
        key = self.key()
        return HttpRequest(
            "POST",
            joined(self.base_url, "search"),
            headers=(
                {"Authorization": f"Bearer {key}"} if key else {"X-Tavily-Access-Mode": "keyless"}
            ),
            # the depth is always said: left to Tavily, it may take one of two credits
            json={"query": query, "search_depth": "basic", "max_results": count},
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("results"), response)
        free = None if self.key() else 0.0
        return self.page_of(raw, self._row, response, more=False, cost_usd=free)

    def meaning(self, refusal: Refusal) -> ErrorCode:
        """Return what a refusal stands for; the keyless mode has limits of several lengths."""
        if re.search("da[iy]|month", text(refusal.error.get("window"))):
            return "quotaExceeded"
        return super().meaning(refusal)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=text(row.get("url")),
            title=text(row.get("title")),
            snippet=text(row.get("content")),
            source=self.provider_name,
            score=share(row.get("score")),
            published_date=published(row.get("published_date"), today=self.today()),
        )
