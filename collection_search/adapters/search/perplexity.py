"""Perplexity: its search results without a model's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from .http.adapter import HttpSearch
from .http.error_mapping import FailureRules
from .http.query_limits import DOMAINS, supported_options
from .http.result_page import RowNames

if TYPE_CHECKING:
    from ...contracts.options import Applied, OptionName, SearchOptions

MAX_DOMAINS: Final = 20
"""Domains that one search takes, all to allow or all to deny."""
_DAY: Final = "{0.month:02}/{0.day:02}/{0.year:04}"


class PerplexitySearch(HttpSearch):
    """Searches Perplexity; a search is one request of at most 20 results."""

    provider_name = "perplexity"
    title = "Perplexity"
    key_variable = "PERPLEXITY_API_KEY"
    address_variable = "PERPLEXITY_BASE_URL"
    needs_key = True
    default_base_url = "https://api.perplexity.ai"
    names = RowNames(dates=("date",))
    page_size = 20
    supports: ClassVar = supported_options(
        *DOMAINS, "freshness", "language", "country", emulated=["search_depth"]
    )  # deep: more of each page
    rules = FailureRules(  # whatever the status
        codes={"insufficient_quota": "quotaExceeded"},
        texts={"exceeded your current quota": "quotaExceeded"},
    )

    def body(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the only call sends; it takes a word of `freshness`, or American dates."""
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
        return body | self.dates(
            options,
            "search_recency_filter",
            search_after_date_filter=_DAY,
            search_before_date_filter=_DAY,
        )

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied: up to 20 domains to allow, or to deny."""
        made = super().applied(options)
        if len(options.include_domains) > MAX_DOMAINS:
            made.pop("include_domains", None)
        if "include_domains" in made or len(options.exclude_domains) > MAX_DOMAINS:
            made.pop("exclude_domains", None)
        return made
