"""Perplexity: the results of its search, without an answer of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.options import NO_OPTIONS, SearchOptions
from ...contracts.search import ProviderSearchResult
from ..http import HttpRequest, join_url
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_date, read_text

if TYPE_CHECKING:
    from ...contracts.options import Applied, OptionName
    from ..http import HttpResponse

MAX_DOMAINS: Final = 20
"""Domains that one search takes, all to allow or all to deny."""


class PerplexitySearch(HttpSearch):
    """Searches Perplexity; a search is one request of at most 20 results."""

    provider_name = "perplexity"
    title = "Perplexity"
    key_variable = "PERPLEXITY_API_KEY"
    address_variable = "PERPLEXITY_BASE_URL"
    needs_key = True
    default_base_url = "https://api.perplexity.ai"
    page_size = 20
    supports: ClassVar = {
        "max_results": "native",
        "search_depth": "emulated",  # more of each page
        "include_domains": "native",
        "exclude_domains": "native",
        "freshness": "native",
        "language": "native",
        "country": "native",
    }
    rules = FailureRules(  # whatever the status
        codes={"insufficient_quota": "quotaExceeded"},
        texts={"exceeded your current quota": "quotaExceeded"},
    )

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
            headers={"Authorization": f"Bearer {self.key()}"},
            json=self._body(query, count, options),
        )

    def _body(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        body: dict[str, Any] = {"query": query, "max_results": count}
        domains = [*options.include_domains, *(f"-{each}" for each in options.exclude_domains)]
        if domains:
            body["search_domain_filter"] = domains
        if options.search_depth == "deep":
            body["search_context_size"] = "high"
        if options.language:
            body["search_language_filter"] = [options.language]
        if options.country:
            body["country"] = options.country
        return body | self._dates(options)

    def _dates(self, options: SearchOptions) -> dict[str, str]:
        """Return a word, or the days of a range in American form."""
        if options.freshness and ".." not in options.freshness:
            return {"search_recency_filter": options.freshness}
        names = ("search_after_date_filter", "search_before_date_filter")
        days = zip(names, options.published(self.today()), strict=True)
        form = "{0.month:02}/{0.day:02}/{0.year:04}"
        return {name: form.format(day) for name, day in days if day}

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return what is made of each option: a few domains to allow, or a few to deny."""
        made = super().applied(options)
        if len(options.include_domains) > MAX_DOMAINS:
            made.pop("include_domains", None)
        if "include_domains" in made or len(options.exclude_domains) > MAX_DOMAINS:
            made.pop("exclude_domains", None)
        return made

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("results"), response)
        return self.page_of(raw, self._row, response, more=False)

    def _row(self, row: dict[str, Any]) -> ProviderSearchResult:
        return ProviderSearchResult(
            url=read_text(row.get("url")),
            title=read_text(row.get("title")),
            snippet=read_text(row.get("snippet")),
            source=self.provider_name,
            published_date=read_date(row.get("date"), today=self.today()),
        )
