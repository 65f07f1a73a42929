"""Tavily: search for agents, over the indexes of others. Works without a key too, at low rates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.health import Health
from ..http import HttpRequest, join_url
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.health_check import remaining_quota
from .http.json_values import read_text
from .http.query_limits import DOMAINS, date_parameters, drop_empty, supported_options
from .http.regions import named_codes
from .http.result_page import RowNames

if TYPE_CHECKING:
    from ...contracts.options import Applied, OptionName, SearchOptions
    from ...errors import ErrorCode
    from ..http import HttpResponse
    from ..refusals import VendorRefusal

_NO_SITE: Final = "(include|exclude)_domains.* invalid|must have a valid suffix"
"""What is said of domains such as `gov.uk`, which are no site but a suffix."""


class TavilySearch(HttpSearch):
    """Searches Tavily, in keyless mode without a key; one credit a search, two for a deep one.

    A search is one request of at most 20 results: there are no further pages.
    """

    provider_name = "tavily"
    title = "Tavily"
    key_variable = "TAVILY_API_KEY"
    without_key = "few searches, if it is asked for by name"
    address_variable = "TAVILY_BASE_URL"
    default_base_url = "https://api.tavily.com"
    names = RowNames(
        snippet="content", score="score", content="raw_content", dates=("published_date",)
    )
    page_size = 20
    max_query_chars = 400
    supports: ClassVar = supported_options(
        "search_depth", *DOMAINS, "topic", "include_content", "freshness", "language", "country"
    )
    prefers_domains = True
    countries = named_codes("tavily_countries.txt")
    always_sends = ("results",)
    rules = FailureRules(
        statuses={432: "quotaExceeded", 433: "quotaExceeded"},  # of the plan, of pay-as-you-go
        texts={_NO_SITE: "invalidQuery"},
        sentences={
            _NO_SITE: "{name} takes whole domains only, such as service.gov.uk, and not a suffix"
            " that many share, such as gov or gov.uk. Leave the suffix out of the domains."
        },
    )

    def login(self) -> dict[str, str]:
        """Return the header that carries the key, or asks for the mode without one."""
        return super().login() or {"X-Tavily-Access-Mode": "keyless"}

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the only call sends; it takes a word of `freshness`, or days."""
        dates = date_parameters(
            options, self.today(), word="time_range", start_date="{}", end_date="{}"
        )
        chosen = {
            # always sent: without it Tavily may choose the depth that costs two credits
            "search_depth": "advanced" if options.search_depth == "deep" else "basic",
            "include_domains": list(options.include_domains),
            "include_domains_mode": options.domain_mode if options.include_domains else None,
            "exclude_domains": list(options.exclude_domains),
            "topic": "news" if options.topic == "news" else None,
            "include_raw_content": "markdown" if options.include_content else None,
            "language": options.language,
            "filter_by_language": bool(options.language),
            "country": self.countries[options.country] if options.country else None,
        }
        return {"query": query, "max_results": count} | drop_empty(chosen) | dates

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied; only the general topic has a country."""
        made = super().applied(options)
        if options.topic == "news":
            made.pop("country", None)
        return made

    def credits(self, options: SearchOptions, count: int) -> float:  # noqa: ARG002
        """Return the credits of one search."""
        return 2 if options.search_depth == "deep" else 1

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        raw = self.listed(self.answer(response).get("results"), response)
        free = None if self.key() else 0.0
        return self.page_of(raw, response, more=False, cost_usd=free)

    def check(self) -> HttpRequest | None:
        """Return the request for the account's usage, None without a key."""
        if not self.key():
            return None
        return HttpRequest("GET", join_url(self.base_url, "usage"), headers=self.login())

    def health(self, response: HttpResponse) -> Health:
        """Return the credits left to the key and to its account. Raises SearchProviderError."""
        answer = self.answer(response)
        account = answer.get("account")
        plan = remaining_quota(account, "plan_usage", "plan_limit")
        if plan is not None:
            plan += remaining_quota(account, "paygo_usage", "paygo_limit") or 0
        limits = (remaining_quota(answer.get("key"), "usage", "limit"), plan)
        left = min((limit for limit in limits if limit is not None), default=None)
        return Health(key_valid=True, quota_left=left, quota_unit="credits")

    def meaning(self, refusal: VendorRefusal) -> ErrorCode:
        """Return the error code of a refusal; the mode without a key has daily limits too."""
        if re.search("da[iy]|month", read_text(refusal.error.get("window"))):
            return "quotaExceeded"
        return super().meaning(refusal)
