"""Perplexity: its search results without a model's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from .http.adapter import HttpSearch
from .http.error_mapping import FailureRules
from .http.query_limits import (
    AMERICAN_DAY,
    DOMAINS,
    date_parameters,
    drop_empty,
    supported_options,
)
from .http.result_page import RowNames

if TYPE_CHECKING:
    from ...contracts.options import Applied, OptionName, SearchOptions

MAX_DOMAINS: Final = 20
"""Domains that one search takes, all to allow or all to deny."""
_DAYS: Final = ("search_after_date_filter", "search_before_date_filter")


class PerplexitySearch(HttpSearch):
    """Searches Perplexity; a search is one request of at most 20 results."""

    provider_name = "perplexity"
    title = "Perplexity"
    index = "Perplexity"
    key_variable = "PERPLEXITY_API_KEY"
    address_variable = "PERPLEXITY_BASE_URL"
    needs_key = True
    default_base_url = "https://api.perplexity.ai"
    names = RowNames(dates=("date",))
    page_size = 20
    always_sends = ("results",)
    supports: ClassVar = supported_options(
        *DOMAINS, "freshness", "language", "country", emulated=["search_depth"]
    )  # deep: more of each page
    rules = FailureRules(  # whatever the status
        codes={"insufficient_quota": "quotaExceeded"},
        texts={"exceeded your current quota": "quotaExceeded"},
    )

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the only call sends; it takes a word of `freshness`, or American dates."""
        allowed, denied = options.include_domains, options.exclude_domains
        chosen = {
            "search_domain_filter": [*allowed, *(f"-{domain}" for domain in denied)],
            "search_context_size": "high" if options.search_depth == "deep" else None,
            "search_language_filter": [options.language] if options.language else None,
            "country": options.country,
        }
        days = dict.fromkeys(_DAYS, AMERICAN_DAY)
        dates = date_parameters(options, self.today(), word="search_recency_filter", **days)
        return {"query": query, "max_results": count} | drop_empty(chosen) | dates

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied: up to 20 domains to allow, or to deny."""
        made = super().applied(options)
        if len(options.include_domains) > MAX_DOMAINS:
            made.pop("include_domains", None)
        if "include_domains" in made or len(options.exclude_domains) > MAX_DOMAINS:
            made.pop("exclude_domains", None)
        return made
