"""OpenAlex: an open catalogue of scholarly works. Needs no key for about a hundred searches a day.

A free key allows ten times as many. Every search costs a tenth of a cent of the day's budget,
whatever the number of its results. There is no faster service for a `mailto` parameter any more;
the contact of the operator is sent in the User-Agent, as to every other site.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...contracts.health import Health
from ...text.validation import number_within, whole_number
from ..http import HttpRequest, join_url, user_agent
from .http.adapter import HttpSearch, ResultPage
from .http.error_mapping import FailureRules
from .http.json_values import read_path, read_text
from .http.query_limits import date_parameters, supported_options
from .http.result_page import Paging, RowNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import date
    from typing import Self

    from httpx import AsyncClient
    from pydantic import SecretStr

    from ...contracts.options import SearchOptions
    from ...contracts.search import ProviderSearchResult
    from ...settings import Settings
    from ..http import HttpResponse
    from ..refusals import VendorRefusal

MAX_ABSTRACT_WORDS: Final = 500
MAX_ABSTRACT_CHARS: Final = 4000

_SEARCH_USD: Final = 0.001
"""The price of a search where an answer does not name it."""
_LEAST_USD: Final = 1e-6
_MAX_USD: Final = 1e6
_FIELDS: Final = (
    "id,doi,display_name,type,publication_date,primary_location,best_oa_location,"
    "abstract_inverted_index"
)
_WILDCARDS: Final = re.compile(r"[?*~]+")
"""Signs that make a word a pattern: OpenAlex refuses most of them, also after a question."""


class OpenAlexSearch(HttpSearch):
    """Searches titles, abstracts and texts of scholarly works.

    A snippet is the beginning of the abstract. The address of a result is its open-access text,
    else its page. Scores have no upper end and are left out.
    """

    provider_name = "openalex"
    title = "OpenAlex"
    index = "OpenAlex"
    key_variable = "OPENALEX_API_KEY"
    without_key = (
        "about 100 searches a day; a contact address is good manners there"
        " (COLLECTION_SEARCH_FETCH_CONTACT)"
    )
    address_variable = "OPENALEX_BASE_URL"
    default_base_url = "https://api.openalex.org"
    names = RowNames(title="display_name", dates=("publication_date",))
    method = "GET"
    path = "works"
    paging = Paging("page", first=1)
    page_size = 100
    max_pages = 100  # the first 10,000 works
    max_query_chars = 400  # an address may have 4 KB, and a character nine bytes
    always_sends = ("meta", "results")
    supports: ClassVar = supported_options("freshness", "language")
    rate_per_s = 10.0
    storage_rights = "allowed"  # CC0
    rules = FailureRules(
        texts={"insufficient budget": "quotaExceeded"},
        sentences={
            "quotaExceeded": "The day's budget at {name} is used up until midnight UTC. With a free"
            " key it is ten times as large: set {key}, or use another provider.",
        },
    )

    def __init__(
        self,
        *,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        contact: str | None = None,
        timeout: float = 10.0,
        today: Callable[[], date] | None = None,
        http_client: AsyncClient | None = None,
    ) -> None:
        super().__init__(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            today=today,
            http_client=http_client,
        )
        self._agent = {"User-Agent": user_agent(contact)} if contact else {}

    @classmethod
    def from_settings(cls, settings: Settings, *, http_client: AsyncClient | None = None) -> Self:
        """Return the adapter with key, address and contact of the settings. Raises ConfigError."""
        return cls(
            **cls.arguments(settings.access(cls.provider_name)),
            contact=settings.fetch_contact,
            timeout=settings.search_timeout_s,
            http_client=http_client,
        )

    def login(self) -> dict[str, str]:
        """Return the headers with the key and the operator's contact, if there are any."""
        return super().login() | self._agent

    def prepared(self, query: str) -> str:
        """Return the query without wildcards; quotes, AND, OR and NOT keep their meaning."""
        return _WILDCARDS.sub(" ", query)

    def parameters(self, query: str, count: int, options: SearchOptions) -> dict[str, Any]:
        """Return what the call for each page sends."""
        chosen = date_parameters(
            options, self.today(), from_publication_date="{}", to_publication_date="{}"
        )
        if options.language:
            chosen["language"] = options.language
        filters = ",".join(f"{name}:{value}" for name, value in chosen.items())
        form = {"search": query, "per_page": count, "select": _FIELDS}
        return form | ({"filter": filters} if filters else {})

    def parse(self, response: HttpResponse) -> ResultPage:
        """Return the page of results. Raises SearchProviderError."""
        answer = self.answer(response)
        raw = self.listed(answer.get("results"), response)
        spent = _amount(response.headers.get("x-ratelimit-cost-usd"))
        return self.page_of(
            raw,
            response,
            more=_has_more(answer.get("meta")),
            quota_remaining=_searches_left(response.headers, spent),
            cost_usd=spent if self.key() else 0.0,  # without a key nobody gets a bill
        )

    def row(self, row: dict[str, Any]) -> ProviderSearchResult:
        """Return the result in a row; without an abstract its snippet says what it is."""
        made = super().row(row)
        venue = next(_venues(row), "")
        made.url = next(_addresses(row), "")
        made.source = venue or made.source
        made.snippet = join_abstract(row.get("abstract_inverted_index")) or _describe(
            read_text(row.get("type")), venue, made.published_date
        )
        if made.url and made.url == read_path(row, "best_oa_location", "pdf_url"):
            made.content_type = "application/pdf"
        return made

    def refusal(self, response: HttpResponse, answer: Any) -> VendorRefusal:
        """Return the refusal, with the sentence that says which limit is meant."""
        read = super().refusal(response, answer)
        return replace(read, text=read_text(read_path(answer, "message")) or read.text)

    def check(self) -> HttpRequest | None:
        """Return the request for the day's budget of a key, None without a key."""
        if not self.key():
            return None
        return HttpRequest("GET", join_url(self.base_url, "rate-limit"), headers=self.login())

    def health(self, response: HttpResponse) -> Health:
        """Return the searches that the key has left today. Raises SearchProviderError."""
        told = self.answer(response).get("rate_limit")
        day = number_within(read_path(told, "daily_remaining_usd"), 0, _MAX_USD)
        prepaid = number_within(read_path(told, "prepaid_remaining_usd"), 0, _MAX_USD)
        price = number_within(read_path(told, "endpoint_costs_usd", "search"), 0, _MAX_USD)
        left = None if day is None else _count(day + (prepaid or 0.0), price)
        return Health(key_valid=True, quota_left=left, quota_unit="searches today")


def join_abstract(index: Any) -> str:
    """Return the text whose words an index lists with their places; its beginning, if it is long.

    >>> join_abstract({"tasks": [1, 4], "Cancelled": [0], "and": [2], "other": [3]})
    'Cancelled tasks and other tasks'
    >>> join_abstract({"a": [-1, "0", 10**9], "b": None}), join_abstract(None)
    ('', '')
    """
    if not isinstance(index, dict):
        return ""
    words: dict[int, str] = {}
    for word, places in index.items():
        for place in places if isinstance(places, list) else ():
            at = whole_number(place, least=0, most=MAX_ABSTRACT_WORDS - 1)
            if at is not None:
                words[at] = word
    text = " ".join(words[at] for at in sorted(words))
    if len(text) <= MAX_ABSTRACT_CHARS:
        return text
    return text[:MAX_ABSTRACT_CHARS].rpartition(" ")[0] or text[:MAX_ABSTRACT_CHARS]


def _addresses(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of a work, the one with the most text first."""
    for path in (
        ("best_oa_location", "pdf_url"),
        ("best_oa_location", "landing_page_url"),
        ("primary_location", "landing_page_url"),
        ("doi",),
        ("id",),
    ):
        if address := read_text(read_path(row, *path)).strip():
            yield address


def _venues(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the journal or repository."""
    for place in ("primary_location", "best_oa_location"):
        if name := read_text(read_path(row, place, "source", "display_name")).strip():
            yield name


def _describe(kind: str, venue: str, published: str | None) -> str:
    """Return what a work without an abstract is, blank where nothing is known.

    >>> _describe("article", "PeerJ", "2018-02-13"), _describe("", "PeerJ", None)
    ('Article in PeerJ, 2018', 'PeerJ')
    """
    kind = kind.replace("-", " ").capitalize()
    place = " in ".join(filter(None, (kind, venue)))
    return ", ".join(filter(None, (place, (published or "")[:4])))


def _has_more(meta: Any) -> bool | None:
    """Return whether works follow after this page, None where the answer does not say."""
    parts = (whole_number(read_path(meta, name), least=0) for name in ("count", "page", "per_page"))
    count, page, size = parts
    if count is None or page is None or size is None:
        return None
    return count > page * size


def _searches_left(headers: Mapping[str, str], price: float | None) -> int | None:
    """Return how many searches the rest of the day's budget allows."""
    day = _amount(headers.get("x-ratelimit-remaining-usd"))
    prepaid = _amount(headers.get("x-ratelimit-prepaid-remaining-usd")) or 0.0
    return None if day is None else _count(day + prepaid, price)


def _count(budget: float, price: float | None) -> int:
    """Return how many searches a budget pays for.

    >>> _count(0.097, 0.001), _count(0.0009, None), _count(1.0, 0.0)
    (97, 0, 1000)
    """
    return int(budget / (_SEARCH_USD if price is None or price < _LEAST_USD else price) + 1e-6)


def _amount(header: str | None) -> float | None:
    with suppress(ValueError):
        return number_within(float(header or ""), 0, _MAX_USD)
    return None
