"""Exa: the web search of an index of its own, by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import NO_OPTIONS, SearchOptions
from ...contracts.search import ProviderSearchResult
from ...text.clean import excerpt
from ..http import HttpRequest, join_url
from .http.adapter import HttpSearch, ResultPage
from .http.json_values import read_date, read_path, read_share, read_text

if TYPE_CHECKING:
    from ..http import HttpResponse


DEEP_CREDITS: Final = 12 / 7
"""What a search of the type `deep` costs in prices of one of the type `auto`."""
RESULT_CREDITS: Final = 1 / 7
"""What each result beyond the tenth costs in the same unit."""


class ExaSearch(HttpSearch):
    """Searches Exa with the type `auto`, 10 results with highlights and texts for one price.

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
    supports: ClassVar = {
        "max_results": "native",
        "search_depth": "native",
        "include_domains": "native",
        "exclude_domains": "native",
        "topic": "emulated",  # a category
        "include_content": "native",
        "freshness": "native",
        "country": "native",
    }

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
            join_url(self.base_url, "search"),
            headers={"x-api-key": self.key()},
            json=self._body(query, count, options),
        )

    def _body(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "query": query,
            "type": "deep" if options.search_depth == "deep" else "auto",
            "numResults": count,
            "contents": {"highlights": True},
        }
        if options.include_content:
            body["contents"]["text"] = True
        if options.include_domains:
            body["includeDomains"] = list(options.include_domains)
        if options.exclude_domains:
            body["excludeDomains"] = list(options.exclude_domains)
        if options.topic == "news":
            body["category"] = "news"
        if options.country:
            body["userLocation"] = options.country
        first, last = options.published(self.today())
        if first:
            body["startPublishedDate"] = f"{first}T00:00:00.000Z"
        if last:
            body["endPublishedDate"] = f"{last}T23:59:59.999Z"
        return body

    def credits(self, options: SearchOptions, count: int) -> float:
        """Return the units of the price of ten results with the type `auto`."""
        kind = DEEP_CREDITS if options.search_depth == "deep" else 1
        return kind + RESULT_CREDITS * max(0, count - self.page_size)

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        answer = self.answer(response)
        raw = self.listed(answer.get("results"), response)
        cost = read_path(answer, "costDollars", "total")
        return self.page_of(raw, self._row, response, more=False, cost_usd=cost)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=read_text(row.get("url")),
            title=read_text(row.get("title")),
            snippet=_snippet(row),
            source=self.provider_name,
            score=read_share(row.get("score")),
            content=read_text(row.get("text")) or None,
            published_date=read_date(row.get("publishedDate"), today=self.today()),
        )


def _snippet(row: dict[str, Any]) -> str:
    """Return what is highlighted, else the beginning of the text."""
    highlights = row.get("highlights")
    shown = " … ".join(
        filter(None, map(read_text, highlights if isinstance(highlights, list) else ()))
    )
    return shown or excerpt(read_text(row.get("text")))
