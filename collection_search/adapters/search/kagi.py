"""Kagi: a search engine without advertisements, through version 1 of its API."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.prices import format_usd, parse_usd
from ...text.validation import number_within
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_path
from .http.query_limits import DOMAINS, date_parameters, drop_empty, supported_options
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from ...contracts.options import SearchOptions
    from ..http import HttpResponse
    from ..refusals import VendorRefusal

_NO_BALANCE: Final = "no balance"
"""A code that is added to a refusal when the balance is used up."""
_OF_BALANCE: Final = {200, 400, 402, 403, 429}
"""Statuses that an empty balance may cause; 401 only concerns the key."""
LOW_USD: Final = 1.0


class KagiSearch(HttpSearch):
    """Searches Kagi, 10 results a request and 100 a query; a notice tells of a low balance."""

    provider_name = "kagi"
    title = "Kagi"
    key_variable = "KAGI_API_KEY"
    address_variable = "KAGI_BASE_URL"
    needs_key = True
    default_base_url = "https://kagi.com"
    names = RowNames(dates=("time",))
    path = "api/v1/search"
    paging = Paging("page", first=1)
    page_size = 10
    max_pages = 10
    always_sends = ("meta", "data")
    supports: ClassVar = supported_options("freshness", "country", emulated=DOMAINS)
    rules = FailureRules(
        codes={"general.invalid_token": "authenticationFailed", _NO_BALANCE: "quotaExceeded"},
        texts={
            "invalid (api )?(key|token)|token signature|unauthori[sz]ed": "authenticationFailed",
            "(insufficient|out of|no) (api )?(balance|credit|funds)": "quotaExceeded",
        },
    )

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends; both days of a range are included."""
        filters = date_parameters(options, self.today(), after="{}", before="{}")
        if options.country:
            filters["region"] = options.country.lower()
        return {"query": query, "limit": count} | drop_empty({"filters": filters})

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results; without hits no `search`. Raises SearchProviderError."""
        answer = self.answer(response)
        found = answer.get("data")
        if not isinstance(found, dict):
            raise self.failure(self.refusal(response, answer), response)
        raw = self.listed(found["search"], response) if "search" in found else []
        left, notices = _dollars_left(answer), []
        if left is not None and left <= LOW_USD:
            notices = [f"{self.title}: {format_usd(left)} of the balance left"]
        return self.page_of(raw, response, notices=notices)

    def refusal(self, response: HttpResponse, answer: Any) -> VendorRefusal:
        """Return the refusal in a response; its list of errors has one of two names."""
        errors = read_path(answer, "errors") or read_path(answer, "error")
        refusal = super().refusal(response, {"error": errors} if errors else answer)
        if response.status in _OF_BALANCE and _dollars_left(answer) == 0:
            return replace(refusal, codes=(*refusal.codes, _NO_BALANCE))
        return refusal


def _dollars_left(answer: Any) -> float | None:
    """Return the account's balance in US dollars, at least 0."""
    left = read_path(answer, "meta", "api_balance")
    return parse_usd(left) if number_within(left, -math.inf, 0) is None else 0.0
