"""One search vendor as data and pure functions, which build requests and read responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from ....contracts.health import Health
from ....contracts.options import NO_OPTIONS, Applied, OptionName, SearchOptions, utc_today
from ....contracts.prices import parse_usd
from ...http import HttpRequest, join_url
from ...refusals import reports_error
from .credentials import validate_address, validate_key
from .failing_vendor import FailingVendor
from .json_values import describe_body, has_path, read_json
from .result_page import Paging, ResultPage, RowNames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from pydantic import SecretStr

    from ....contracts.search import ProviderSearchResult
    from ...http import HttpResponse

SUCCESS: Final = range(200, 300)


class Vendor(FailingVendor):
    """The data of one vendor; a subclass gives it, with `parameters`, and `parse` where it differs.

    The constructor raises ConfigError for a key or an address that is missing or cannot be right.
    """

    max_count: ClassVar[int] = 0
    """Rows of a request at a higher price, made when `page_size` is too few; 0: there is none."""
    max_pages: ClassVar[int] = 1
    """Most pages of one query."""
    fills_pages: ClassVar[bool] = True
    """Whether a page that is not full is the last one."""
    page_is_open: ClassVar[bool] = False
    """Whether the server decides how many rows a page has, so that its reach is not known."""
    max_query_chars: ClassVar[int | None] = None
    max_query_words: ClassVar[int | None] = None

    supports: ClassVar[Mapping[OptionName, Applied]] = {"max_results": "native"}
    """How an option is applied: `native` by the API, `emulated` in another way. Domains that are
    `emulated` become `site:` in the query. Options that are not listed are left to the worker."""
    prefers_domains: ClassVar[bool] = False
    """Whether the API can prefer domains without excluding others."""
    ranges_of_days: ClassVar[bool] = True
    """Whether a supported `freshness` may be a range of days besides a word."""
    languages: ClassVar[Mapping[str, str]] = {}
    """The vendor's names by code where it knows only some languages; empty: every code."""
    countries: ClassVar[Mapping[str, str]] = {}
    """The same for countries."""

    method: Literal["GET", "POST"] = "POST"
    path: str = "search"
    news_path: ClassVar[str] = ""
    """The path for the topic `news`, where it has its own."""
    key_header: str = "Authorization"
    """The header of the key; blank where `parameters` contain the key."""
    paging: ClassVar[Paging | None] = None
    """The parameter for the page, if there are several."""
    names: ClassVar[RowNames] = RowNames()
    """The names of the parts of a result."""

    always_sends: ClassVar[tuple[str, ...]] = ()
    """Names that every answer to a search has, one without hits too. `query.search` is a name
    within another; of `kind|queries` an answer has at least one. An answer without rows that lacks
    a name is not the vendor's but, say, a proxy's."""
    without_hits: ClassVar[Mapping[str, Any]] = {}
    """The answer that is used in place of a refusal that matches `rules.no_hits`."""

    def __init__(
        self,
        *,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        today: Callable[[], date] | None = None,
    ) -> None:
        self.api_key = validate_key(
            api_key, title=self.title, variable=self.key_variable, required=self.needs_key
        )
        self.base_url = validate_address(
            base_url or self.default_base_url, title=self.title, variable=self.address_variable
        )
        self.today = today or utc_today

    def request(
        self, query: str, count: int, page: int, options: SearchOptions = NO_OPTIONS
    ) -> HttpRequest:
        """Return the call for one page of `count` rows; `page` counts from 0.

        All pages of a search have the same count: a full page's where there are several. The
        options are those of `taken`; `site:` is in the query already.
        """
        path = self.news_path if options.topic == "news" and self.news_path else self.path
        url, sent = join_url(self.base_url, path), self.parameters(query, count, options)
        if self.paging:
            sent |= self.paging.parameter(count, page)
        if self.method == "GET":
            return HttpRequest("GET", url, params=sent, headers=self.login())
        return HttpRequest("POST", url, headers=self.login(), json=sent)

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what `request` sends for any page: a query string, or the JSON of a POST."""
        raise NotImplementedError

    def login(self) -> dict[str, str]:
        """Return the headers that carry the key."""
        if not (self.key_header and (key := self.key())):
            return {}
        return {self.key_header: f"Bearer {key}" if self.key_header == "Authorization" else key}

    def applied(self, options: SearchOptions) -> dict[OptionName, Applied]:
        """Return how each option is applied; overridden where that depends on its value."""
        unknown: set[OptionName] = set()
        if not self.ranges_of_days and ".." in (options.freshness or ""):
            unknown.add("freshness")
        if self.languages and options.language not in self.languages:
            unknown.add("language")
        if self.countries and options.country not in self.countries:
            unknown.add("country")
        asked: list[OptionName] = [name for name in options.asked() if name not in unknown]
        return {name: self.supports[name] for name in asked if name in self.supports}

    def taken(self, options: SearchOptions) -> SearchOptions:
        """Return the options that `applied` lists, the only ones that the vendor gets.

        Domains that come first are left out where the API has no such option.
        """
        if options is NO_OPTIONS:
            return options
        if not (options.restricts or self.prefers_domains):
            options = options.model_copy(update={"include_domains": ()})
        applied = self.applied(options)
        left_out: dict[str, Any] = {
            name: SearchOptions.model_fields[name].default
            for name in options.asked()
            if name not in applied
        }
        return options.model_copy(update=left_out) if left_out else options

    def credits(self, options: SearchOptions, count: int) -> float:  # noqa: ARG002 - for subclasses
        """Return how many units of the list price one request of `count` rows costs."""
        return 1

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results in a response. Raises SearchProviderError.

        By default they are in the list `results` of an answer without further pages.
        """
        raw = self.listed(self.answer(response).get("results"), response)
        return self.page_of(raw, response, more=False)

    def parse_further(self, response: HttpResponse) -> ResultPage:
        """Return the page of results after the first; overridden where it is read otherwise."""
        return self.parse(response)

    def is_answer(self, answer: Any) -> bool:
        """Return whether a JSON value without rows is the vendor's answer to a search.

        Overridden where `always_sends` is not enough.
        """
        return all(
            any(has_path(answer, *name.split(".")) for name in names.split("|"))
            for names in self.always_sends
        )

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row of an answer; overridden where `names` are not enough."""
        return self.names.read(row, source=self.provider_name, today=self.today)

    def check(self) -> HttpRequest | None:
        """Return a free call that checks key and account, None if the API has none."""
        return None

    def health(self, response: HttpResponse) -> Health:
        """Return the health in the answer to `check`. Raises SearchProviderError."""
        self.answer(response)
        return Health(key_valid=True if self.key() else None)

    def prepared(self, query: str) -> str:
        """Return the query in the vendor's syntax, before it is cut to the limits."""
        return query

    def full_page(self, max_results: int) -> int:
        """Return how many rows a full page has in a search for `max_results`."""
        return self.max_count if max_results > self.page_size < self.max_count else self.page_size

    def value(self, response: HttpResponse) -> Any:
        """Return the JSON value of a successful answer, None where it holds none.

        Raises SearchProviderError.
        """
        answer = read_json(response)
        if response.status not in SUCCESS or (isinstance(answer, dict) and reports_error(answer)):
            refusal = self.refusal(response, answer)
            if self.rules.finds_nothing(refusal):
                return dict(self.without_hits)
            raise self.failure(refusal, response)
        return answer

    def answer(self, response: HttpResponse) -> dict[str, Any]:
        """Return the JSON object of a successful answer. Raises SearchProviderError."""
        answer = self.value(response)
        if not isinstance(answer, dict):
            self.unusable(f"{describe_body(response)} instead of a JSON object", response)
        return answer

    def listed(self, value: Any, response: HttpResponse) -> list[dict[str, Any]]:
        """Return the objects in a list of rows. Raises SearchProviderBadResponse without any."""
        if not isinstance(value, list):
            self.unusable("no list of results", response)
        rows = [row for row in value if isinstance(row, dict)]
        if value and not rows:
            self.unusable("a list of something else than results", response)
        return rows

    def page_of(
        self,
        raw: Sequence[dict[str, Any]],
        response: HttpResponse,
        *,
        more: bool | None = None,
        quota_remaining: int | None = None,
        notices: Sequence[str] = (),
        cost_usd: Any = None,
        complete: bool = True,
    ) -> ResultPage:
        """Return a page of the rows with an address.

        Raises SearchProviderBadResponse where all rows lack one, and for an answer without rows
        that is not the vendor's: it is no search that found nothing.
        """
        rows = [made for each in raw if (made := self.row(each)).url.strip()]
        if raw and not rows:
            self.unusable("results that have no address", response)
        if not raw and not self.is_answer(self.value(response)):
            self.unusable("JSON that is no answer to a search", response)
        return ResultPage(
            rows, raw, more, quota_remaining, notices, parse_usd(cost_usd), complete=complete
        )
