"""Requests, answers and expected errors as data, and the base class of every dialect."""

from __future__ import annotations

import gzip
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from ...contracts.options import NO_OPTIONS, SearchOptions
from ...errors import (
    ErrorCode,
    SearchProviderAuthenticationFailed,
    SearchProviderBadResponse,
    SearchProviderError,
    SearchProviderInvalidQuery,
    SearchProviderQuotaExceeded,
    SearchProviderTimeout,
    SearchProviderUnavailable,
)
from ...text.validation import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .sample_index import SamplePage

KEY: Final = "open-sesame/4+tests"
"""The key that the doubles accept: of no form that a mask knows, and quoted in an address."""

Mishap: TypeAlias = Literal["cut", "reset", "held", "slow", "garbled"]
"""`cut`: the connection ends within the body; `reset`: it ends without an answer; `held`: no answer
until the server stops; `slow`: the body comes byte by byte without end; `garbled`: not HTTP."""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """One request as it arrived."""

    method: str
    path: str
    """Without the query."""
    params: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    target: str = ""
    """Path and query as they came."""
    body: Any = None
    """The JSON value of a POST."""


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """One answer, or a mishap instead of one: `Reply.of_json(value)`, `Reply.of_text(...)`."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    mishap: Mishap | None = None
    padding: int = 0
    """Blanks that are sent before the body; no memory holds them."""
    shows_request: bool = False
    """The request's address and headers follow the body, as on many error pages."""

    def __repr__(self) -> str:
        """Return the status and sizes: a body may be as long as an answer that breaks a client."""
        mishap = f", mishap={self.mishap!r}" if self.mishap else ""
        return f"Reply({self.status}, {self.padding + len(self.body)} bytes{mishap})"

    @classmethod
    def of_json(cls, value: Any, status: int = 200, **headers: str) -> Reply:
        """Return a JSON answer; underscores in the names of headers stand for hyphens."""
        try:
            body = json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a surrogate pair
            body = json.dumps(value).encode()
        return cls(status, body, {"Content-Type": "application/json"}).having(**headers)

    @classmethod
    def of_text(cls, text: str, status: int, *, kind: str = "text/plain", **headers: str) -> Reply:
        """Return an answer of another type, such as an HTML page."""
        kinds = {"Content-Type": f"{kind}; charset=utf-8"}
        return cls(status, text.encode(), kinds).having(**headers)

    def having(self, **headers: str) -> Reply:
        """Return the same answer with further headers."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **more})

    def zipped(self) -> Reply:
        """Return the same answer, compressed."""
        return replace(self, body=gzip.compress(self.body, 1)).having(Content_Encoding="gzip")


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The error that an adapter raises for a failure, and the worker's retries."""

    error: type[SearchProviderError]
    code: ErrorCode
    http_status: int
    """As received; without an answer, the error class's own."""
    waits_s: tuple[float, ...] = ()
    """Seconds before each further attempt of a worker with its usual settings."""
    retry_in_ms: int | None = None
    names: str = ""
    """What the message has to name, so that a person knows what to do."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt may help."""
        return bool(self.waits_s)

    @property
    def attempts(self) -> int:
        """How often the worker tries in all."""
        return len(self.waits_s) + 1


def refused(status: int) -> ExpectedError:
    """Return the error of a wrong or missing key."""
    return ExpectedError(SearchProviderAuthenticationFailed, "authenticationFailed", status)


def throttled(status: int, retry_in_ms: int | None = None) -> ExpectedError:
    """Return the error of too many requests at once."""
    waits_s = _persistent(retry_in_ms)
    return ExpectedError(SearchProviderQuotaExceeded, "rateLimited", status, waits_s, retry_in_ms)


def used_up(status: int) -> ExpectedError:
    """Return the error of a plan without credit."""
    return ExpectedError(SearchProviderQuotaExceeded, "quotaExceeded", status)


def refused_query(status: int) -> ExpectedError:
    """Return the error of a request that the vendor does not accept."""
    return ExpectedError(SearchProviderInvalidQuery, "invalidQuery", status)


def unavailable(status: int = 503, retry_in_ms: int | None = None) -> ExpectedError:
    """Return the error of a vendor that is down or out of reach."""
    error, waits_s = SearchProviderUnavailable, _persistent(retry_in_ms)
    return ExpectedError(error, "serviceUnavailable", status, waits_s, retry_in_ms)


def timed_out(status: int = 504) -> ExpectedError:
    """Return the error of an answer that came too late."""
    return ExpectedError(SearchProviderTimeout, "timeout", status, (0.6,))


def not_understood(status: int, *, names: str = "") -> ExpectedError:
    """Return the error of an answer that makes no sense."""
    return ExpectedError(SearchProviderBadResponse, "unknown", status, names=names)


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """One way in which a search fails: the vendor's reply and the error to expect."""

    reply: Reply
    expected: ExpectedError


Meaning: TypeAlias = "ExpectedError | Callable[[int], ExpectedError]"
"""The error to expect, or a function that makes it from the reply's status."""
VendorErrors: TypeAlias = "Mapping[str, tuple[Reply, Meaning]]"


class Dialect(ABC):
    """One vendor's wire format over the made-up index. Third parties write their own."""

    name: ClassVar[str]
    fields: ClassVar[Mapping[str, str]]
    """The vendor's names of `url`, `title` and `snippet` in a row."""
    key_variable: ClassVar[str] = ""
    """The variable to set when the key is refused."""
    query_field: ClassVar[str] = "q"
    count_field: ClassVar[str] = "num"
    """Where query and number of rows stand, in the body of a POST, else in the parameters."""
    default_count: ClassVar[int] = 10
    """Rows of an answer to a request that names no number."""
    max_query_chars: ClassVar[int] = 1_000_000
    max_query_words: ClassVar[int] = 1_000_000
    reach: ClassVar[int]
    """Rows that the vendor gives for one query at most, all provider pages together."""
    knows_the_end: ClassVar[bool] = True
    """Whether an answer says that it is the last one."""
    without_text: ClassVar[frozenset[int]] = frozenset()
    """Numbers of pages whose rows have no snippet, so that an adapter may leave them out, or that
    the vendor leaves out itself, so that a page of its answers is not full and not the last one."""
    sends_html: ClassVar[bool] = False
    """Whether snippets are HTML, with what was found highlighted."""
    key_in_query: ClassVar[bool] = False
    """Whether the vendor takes the key in the address only."""

    def __init__(self, key: str = KEY) -> None:
        self.key = key

    @abstractmethod
    def answer(self, request: ProviderRequest) -> Reply:
        """Return what the vendor answers to this request: checks it, then searches."""

    def query(self, request: ProviderRequest) -> str:
        """Return what the request searches for."""
        return str(_fields_of(request)[self.query_field])

    def options(self, request: ProviderRequest) -> SearchOptions:  # noqa: ARG002 - may have none
        """Return the options that the request asks for, as they are called here; not the count."""
        return NO_OPTIONS

    @abstractmethod
    def row(self, page: SamplePage) -> dict[str, Any]:
        """Return the page as one row of an answer."""

    @abstractmethod
    def envelope(self, rows: Any) -> dict[str, Any]:
        """Return an answer with these rows, well-formed or not."""

    def rows_asked(self, request: ProviderRequest) -> int:
        """Return how many rows the answer to this request holds at most."""
        asked = _fields_of(request).get(self.count_field, self.default_count)
        return parse_int(asked, 0) or 0 if isinstance(asked, str) else int(asked)

    def errors(self) -> VendorErrors:
        """Return the replies of the vendor's own errors by name, each with its meaning."""
        return {}

    def failures(self) -> Mapping[str, ProviderFailure]:
        """Return the vendor's own errors by name."""
        return self.to_failures(self.errors())

    def to_failures(self, errors: VendorErrors) -> dict[str, ProviderFailure]:
        """Return the failures; those of a refused key name its variable."""
        failures = {}
        for name, (reply, meaning) in errors.items():
            expected = meaning if isinstance(meaning, ExpectedError) else meaning(reply.status)
            if expected.code == "authenticationFailed":
                expected = replace(expected, names=self.key_variable)
            failures[name] = ProviderFailure(reply, expected)
        return failures

    def address(self, page: SamplePage, base_url: str) -> str:  # noqa: ARG002 - for vendors without one
        """Return the address that a result of this page has."""
        return page.url


def _fields_of(request: ProviderRequest) -> Mapping[str, Any]:
    return request.body if request.method == "POST" else request.params


def sites_of(query: str) -> dict[str, Any]:
    """Return the domains that the operators of a query allow and deny, as options.

    >>> sites_of("asyncio (site:a.org OR site:b.org) -site:c.org")["include_domains"]
    ('a.org', 'b.org')
    """
    included = tuple(re.findall(r"(?<![-\w])site:([\w.-]+)", query))
    excluded = tuple(re.findall(r"-site:([\w.-]+)", query))
    return {
        "include_domains": included,
        "exclude_domains": excluded,
        "domain_mode": "restrict" if included else "prefer",
    }


def to_freshness(first: str | None, last: str | None = None) -> str | None:
    """Return the freshness that two days stand for, given as ISO dates or times.

    >>> (to_freshness("2026-01-01", "2026-03-31T23:59:59.999Z"), to_freshness("2026-01-01"),
    ...  to_freshness(None))
    ('2026-01-01..2026-03-31', '2026-01-01..', None)
    """
    return f"{first[:10]}..{(last or '')[:10]}" if first else None


def parse_int(text: str | None, default: int) -> int | None:
    """Return the parameter's whole number, or None where it is none.

    >>> parse_int("7", 1), parse_int(None, 1), parse_int("x", 1)
    (7, 1, None)
    """
    if text is None:
        return default
    return int(text) if text.lstrip("-").isdecimal() else None


def is_within(value: Any, least: int, most: int) -> bool:
    """Return whether a JSON value is a whole number from `least` to `most`.

    >>> is_within(7, 1, 10), is_within(11, 1, 10), is_within("7", 1, 10), is_within(True, 1, 10)
    (True, False, False, False)
    """
    return whole_number(value, least=least, most=most) is not None


def _persistent(retry_in_ms: int | None) -> tuple[float, ...]:
    return (0.6, 1.2) if retry_in_ms is None else (retry_in_ms / 1000,) * 2
