"""Google's Custom Search JSON API, which ends on 2027-01-01 and takes no new customers."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...errors import ConfigError
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_path, read_text
from .http.query_limits import DOMAINS, supported_options
from .http.regions import map_codes
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx import AsyncClient
    from pydantic import SecretStr

    from ...contracts.options import Applied, OptionName, SearchOptions
    from ...contracts.search import ProviderSearchResult
    from ...errors import ErrorCode
    from ...settings.provider_access import ProviderAccess
    from ..http import HttpResponse
    from ..refusals import VendorRefusal

_DISABLED: Final = "api has not been used in project|or it is disabled"
_CLOSED: Final = "does not have the access to custom search"
_ENABLE: Final = (
    "The Custom Search API is not enabled in the project of {key}. Enable it in the Google Cloud"
    " console (APIs & Services, Library, Custom Search API), and try again some minutes later."
)
_MARKS: Final = ("kind", "queries", "searchInformation")
"""Of these an answer has at least one."""


class GoogleSearchAdapter(HttpSearch):
    """Searches with Google, 10 results a request and 100 a query; says when it ends.

    `source` of a result is its site. The API does not show the remaining quota.
    """

    provider_name = "google"
    title = "Google Custom Search"
    index = "Google"
    key_variable = "GOOGLE_API_KEY"
    address_variable = "GOOGLE_BASE_URL"
    needs_key = True
    default_base_url = "https://www.googleapis.com"
    names = RowNames(url="link")
    method = "GET"
    path = "customsearch/v1"
    key_header = ""
    paging = Paging("start", first=1, counts_rows=True)
    page_size = 10
    max_pages = 10  # start + num may be 101 at most
    supports: ClassVar = supported_options("freshness", "language", "country", emulated=DOMAINS)
    ranges_of_days = False
    languages: ClassVar = map_codes(
        "ar bg ca cs da de el en es et fi fr hr hu id is it ja ko lt lv nl no pl pt ro ru sk sl sr"
        " sv tr",
        "lang_{}",
    ) | {"he": "lang_iw", "zh": "lang_zh-CN"}
    ends_on = date(2027, 1, 1)
    rules = FailureRules(
        codes={
            "API_KEY_*": "authenticationFailed",  # comes with status 400
            "keyInvalid": "authenticationFailed",
            "dailyLimitExceeded*": "quotaExceeded",
            "quotaExceeded": "quotaExceeded",
            "rateLimitExceeded": "rateLimited",
            "userRateLimitExceeded": "rateLimited",
            "SERVICE_DISABLED": "invalidQuery",
            "accessNotConfigured": "invalidQuery",
        },
        texts={
            "api key not valid": "authenticationFailed",
            _DISABLED: "invalidQuery",
            _CLOSED: "invalidQuery",
        },
        sentences={
            **dict.fromkeys(("SERVICE_DISABLED", "accessNotConfigured", _DISABLED), _ENABLE),
            _CLOSED: "{name} takes no new projects: that of {key} has no access to it. "
            "Use another provider.",
        },
    )

    def __init__(
        self,
        *,
        api_key: str | SecretStr | None = None,
        search_engine_id: str | None = None,
        timeout: float = 10.0,
        base_url: str | None = None,
        today: Callable[[], date] | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        self.search_engine_id = (search_engine_id or "").strip()
        if api_key is None or not self.search_engine_id:
            raise ConfigError(
                f"{self.title} needs a key and the id of a search engine. "
                f"Set {self.key_variable} and GOOGLE_SEARCH_ENGINE_ID."
            )
        super().__init__(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            today=today,
            http_client=http_client,
        )

    @classmethod
    def arguments(cls, access: ProviderAccess) -> dict[str, Any]:
        """Return key, address and engine of the settings."""
        return super().arguments(access) | {"search_engine_id": access.search_engine_id}

    @property
    def answers_from(self) -> str:
        """The source with the engine, which limits the sites."""
        return f"{self.source}&cx={self.search_engine_id}"

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends."""
        params: dict[str, Any] = {
            "key": self.key(),
            "cx": self.search_engine_id,
            "q": query,
            "num": count,
        }
        made = self.applied(options)
        if made.get("include_domains") == "native":
            params |= {"siteSearch": options.include_domains[0], "siteSearchFilter": "i"}
        if made.get("exclude_domains") == "native":
            params |= {"siteSearch": options.exclude_domains[0], "siteSearchFilter": "e"}
        if options.freshness:
            params["dateRestrict"] = f"{options.freshness[0]}1"
        if options.language:
            params["lr"] = self.languages[options.language]
        if options.country:
            params["gl"] = options.country.lower()
        return params

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied: one site is a parameter, several are in the query.

        With both kinds of domains, the included one gets the parameter.
        """
        made = super().applied(options)
        included, excluded = len(options.include_domains), len(options.exclude_domains)
        if included == 1:
            made["include_domains"] = "native"
        elif excluded == 1 and not included:
            made["exclude_domains"] = "native"
        return made

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results; without hits no `items`. Raises SearchProviderError."""
        answer = self.answer(response)
        items = answer.get("items")
        raw = [] if items is None else self.listed(items, response)
        more = bool(read_path(answer, "queries", "nextPage"))
        return self.page_of(raw, response, more=more)

    def is_answer(self, answer: Any) -> bool:
        """Return whether it is an answer of Custom Search: of its marks one at least is right."""
        kind, queries, information = (read_path(answer, name) for name in _MARKS)
        return (
            kind == "customsearch#search"
            or isinstance(queries, dict)
            or isinstance(information, dict)
        )

    def meaning(self, refusal: VendorRefusal) -> ErrorCode:
        """Return the error code of a refusal; one code of Google's means two kinds of limit."""
        meaning = super().meaning(refusal)
        is_of_the_day = re.search("per.?day", str(refusal.error), re.IGNORECASE)
        return "quotaExceeded" if meaning == "rateLimited" and is_of_the_day else meaning

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row; its source is the site."""
        made = super().row(row)
        made.source = read_text(row.get("displayLink")) or made.source
        made.content_type = read_text(row.get("mime")) or None
        return made
