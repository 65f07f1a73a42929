"""Perplexity: the results of its search, without an answer of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...contracts import ProviderSearchResult
from ..http import HttpRequest, joined
from .failures import FailureRules
from .http_search import HttpSearch, ResultPage
from .reading import published, text

if TYPE_CHECKING:
    from ..http import HttpResponse


class PerplexitySearch(HttpSearch):
    """Searches Perplexity; a search is one request of at most 20 results."""

    provider_name = "perplexity"
    title = "Perplexity"
    key_variable = "PERPLEXITY_API_KEY"
    address_variable = "PERPLEXITY_BASE_URL"
    needs_key = True
    default_base_url = "https://api.perplexity.ai"
    page_size = 20
    rules = FailureRules(  # whatever the status
        codes={"insufficient_quota": "quotaExceeded"},
        texts={"exceeded your current quota": "quotaExceeded"},
    )

    def request(self, query: str, count: int, page: int) -> HttpRequest:  # noqa: ARG002 - one page
        """Return the only call."""
        return HttpRequest(
            "POST",
            joined(self.base_url, "search"),
            headers={"Authorization": f"Bearer {self.key()}"},
            json={"query": query, "max_results": count},
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("results"), response)
        return self.page_of(raw, self._row, response, more=False)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=text(row.get("url")),
            title=text(row.get("title")),
            snippet=text(row.get("snippet")),
            source=self.provider_name,
            published_date=published(row.get("date"), today=self.today()),
        )
