"""Exa: the web search of an index of its own, by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...contracts import ProviderSearchResult
from ...text import excerpt
from ..http import HttpRequest, joined
from .http_search import HttpSearch, ResultPage
from .reading import at, published, share, text

if TYPE_CHECKING:
    from ..http import HttpResponse


class ExaSearch(HttpSearch):
    """Searches Exa with the type `auto`, 10 results and their highlights for one price.

    A search is one request; it gives up to 100 results, each beyond the tenth at a further price.
    A result without a title has none here; its snippet is what Exa highlights.
    """

    provider_name = "exa"
    title = "Exa"
    key_variable = "EXA_API_KEY"
    address_variable = "EXA_BASE_URL"
    needs_key = True
    default_base_url = "https://api.exa.ai"
    page_size = 10
    max_count = 100

    def request(self, query: str, count: int, page: int) -> HttpRequest:  # noqa: ARG002 - one page
        """Return the only call."""
        return HttpRequest(
            "POST",
            joined(self.base_url, "search"),
            headers={"x-api-key": self.key()},
            json={
                "query": query,
                "type": "auto",
                "numResults": count,
                "contents": {"highlights": True},
            },
        )

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        answer = self.answer(response)
        raw = self.listed(answer.get("results"), response)
        cost = at(answer, "costDollars", "total")
        return self.page_of(
            raw, self._row, response, more=False, cost_usd=cost if isinstance(cost, float) else None
        )

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=text(row.get("url")),
            title=text(row.get("title")),
            snippet=_snippet(row),
            source=self.provider_name,
            score=share(row.get("score")),
            published_date=published(row.get("publishedDate"), today=self.today()),
        )


def _snippet(row: dict[str, Any]) -> str:
    """Return what is highlighted, else the beginning of the text."""
    highlights = row.get("highlights")
    shown = " … ".join(filter(None, map(text, highlights if isinstance(highlights, list) else ())))
    return shown or excerpt(text(row.get("text")))
