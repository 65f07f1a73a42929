"""Mojeek: the web search of an index of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_path, read_text
from .http.query_limits import shift_day, supported_options
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from ...contracts.options import Applied, OptionName, SearchOptions
    from ..http import HttpResponse
    from ..refusals import VendorRefusal


class MojeekSearch(HttpSearch):
    """Searches Mojeek, 10 results a request.

    The key is part of the address: Mojeek reads it from there only.
    """

    provider_name = "mojeek"
    title = "Mojeek"
    index = "Mojeek"
    key_variable = "MOJEEK_API_KEY"
    address_variable = "MOJEEK_BASE_URL"
    needs_key = True
    default_base_url = "https://api.mojeek.com"
    names = RowNames(snippet="desc")
    method = "GET"
    key_header = ""
    paging = Paging("s", first=1, counts_rows=True)
    page_size = 10
    max_pages = 10
    always_sends = ("response.status", "response.results")
    supports: ClassVar = supported_options(
        "include_domains", "freshness", emulated=["exclude_domains"]
    )
    rules = FailureRules(
        texts={
            "daily|monthly|quota|credit": "quotaExceeded",
            "rate limit|too many": "rateLimited",
            r"\bkey\b": "authenticationFailed",
        }
    )

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends; the day `before` is excluded."""
        sent: dict[str, Any] = {"q": query, "t": count, "fmt": "json", "api_key": self.key()}
        if options.include_domains:
            sent["site"] = options.include_domains[0]
        first, last = options.published(self.today())
        if first:
            sent["since"] = first.isoformat().replace("-", "")
        if last:
            sent["before"] = shift_day(last, 1).isoformat().replace("-", "")
        return sent

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied: only one site can be searched."""
        made = super().applied(options)
        if len(options.include_domains) > 1:
            made.pop("include_domains", None)
        return made

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError, for an error in a 200 too."""
        answer = self.answer(response)
        if _complaint(answer):
            raise self.failure(self.refusal(response, answer), response)
        raw = self.listed(read_path(answer, "response", "results"), response)
        return self.page_of(raw, response)

    def refusal(self, response: HttpResponse, answer: Any) -> VendorRefusal:
        """Return the refusal in a response; Mojeek writes errors into `response.status`."""
        refusal = super().refusal(response, answer)
        return replace(refusal, text=_complaint(answer) or refusal.text)


def _complaint(answer: Any) -> str:
    """Return the error in an answer, such as "ERROR: Daily Limit Reached"; blank for "OK"."""
    status = read_text(read_path(answer, "response", "status")).strip()
    return "" if status.casefold() == "ok" else status
