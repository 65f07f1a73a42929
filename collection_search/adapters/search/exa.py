"""Exa: the web search of an index of its own, by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...text.clean import excerpt
from .http.adapter import HttpSearch, ResultPage
from .http.json_values import read_path, read_text
from .http.query_limits import DOMAINS, date_parameters, drop_empty, supported_options
from .http.result_page import RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ...contracts.search import ProviderSearchResult
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
    index = "Exa"
    key_variable = "EXA_API_KEY"
    address_variable = "EXA_BASE_URL"
    needs_key = True
    default_base_url = "https://api.exa.ai"
    names = RowNames(score="score", content="text", dates=("publishedDate",))
    key_header = "x-api-key"
    page_size = 10
    max_count = 100
    always_sends = ("results",)
    supports: ClassVar = supported_options(
        "search_depth", *DOMAINS, "include_content", "freshness", "country", emulated=["topic"]
    )  # a topic is a category

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the only call sends."""
        full_texts = {"text": True} if options.include_content else {}
        chosen = {
            "includeDomains": list(options.include_domains),
            "excludeDomains": list(options.exclude_domains),
            "category": "news" if options.topic == "news" else None,
            "userLocation": options.country,
        }
        return {
            "query": query,
            "type": "deep" if options.search_depth == "deep" else "auto",
            "numResults": count,
            "contents": {"highlights": True} | full_texts,
            **drop_empty(chosen),
            **date_parameters(
                options,
                self.today(),
                startPublishedDate="{}T00:00:00.000Z",
                endPublishedDate="{}T23:59:59.999Z",
            ),
        }

    def credits(self, options: SearchOptions, count: int) -> float:
        """Return the price in units of ten results with the type `auto`."""
        kind = DEEP_CREDITS if options.search_depth == "deep" else 1
        return kind + RESULT_CREDITS * max(0, count - self.page_size)

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        answer = self.answer(response)
        raw = self.listed(answer.get("results"), response)
        cost = read_path(answer, "costDollars", "total")
        return self.page_of(raw, response, more=False, cost_usd=cost)

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row; its snippet is what is highlighted, else the first words."""
        made = super().row(row)
        highlights = row.get("highlights")
        shown = map(read_text, highlights if isinstance(highlights, list) else ())
        made.snippet = " … ".join(filter(None, shown)) or excerpt(made.content or "")
        return made
