"""A search service that answers by script, for tests of programs that use `WebSearchService`."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from pydantic import SecretStr

from ..contracts.service import Attempt, SearchRequest, SearchResponse, ServiceSearchResult
from ..errors import ConfigError, ErrorCode, WebSearchError
from ..settings import Settings, registry
from ..tools.service import WebSearchService, validate_request
from .clock import FakeClock

if TYPE_CHECKING:
    from ..tools.service import Credentials

ServiceAnswer: TypeAlias = SearchResponse | Sequence[ServiceSearchResult] | BaseException
"""What one request gets: a response, the results of a usual one, or an exception to raise."""
Match: TypeAlias = str | re.Pattern[str] | Callable[[SearchRequest], bool]
"""Which requests: by the whole query, by a pattern found in it, or by anything of the request."""

DEFAULT_RESULTS: Final = 5
_MESSAGES: Final[dict[ErrorCode, str]] = {
    "authenticationFailed": "The key was refused. Check it, or set another one.",
    "rateLimited": "Too many requests. Wait, then ask again.",
    "quotaExceeded": "The credits of this month are used up. Use another provider.",
    "invalidQuery": "The query cannot be used. Write it in other words.",
    "serviceUnavailable": "The provider is down. Try again later.",
    "timeout": "The provider did not answer in time. Try again.",
    "unknown": "The provider gave an answer of an unknown form. Use another provider.",
}


def service_error(code: ErrorCode, *, retry_after_ms: int | None = None) -> WebSearchError:
    """Return an error as the service raises it for this code.

    >>> error = service_error("rateLimited", retry_after_ms=1500)
    >>> error.retryable, error.retry_after_ms
    (True, 1500)
    """
    return WebSearchError(_MESSAGES[code], code=code, retry_after_ms=retry_after_ms)


def service_results(count: int = 3, *, about: str = "asyncio") -> list[ServiceSearchResult]:
    """Return that many different results, best first, to script answers with.

    >>> service_results(1)[0].url
    'https://example.com/asyncio/1'
    """
    return [
        ServiceSearchResult(
            title=f"{about} {n}",
            url=f"https://example.com/{about}/{n}",
            snippet=f"Page {n} about {about}.",
            content=f"All that page {n} says about {about}.",
            score=round(1 / n, 3),
        )
        for n in range(1, count + 1)
    ]


class MockWebSearchService(WebSearchService):
    """A double of `WebSearchService` without network, key or waiting; thread-safe.

    The answers of the constructor are for every query without answers of its own; each list is
    given in order, its last answer for ever. Without any nothing is found. Requests are checked,
    results are cut to `max_results` and lose their content as those of the service do.

    >>> service = MockWebSearchService().on("asyncio", service_results(9))
    >>> len(service.search("asyncio").results), service.search("soup").results
    (5, [])
    >>> service.queries
    ['asyncio', 'soup']
    """

    def __init__(
        self,
        *answers: ServiceAnswer,
        provider: str = "tavily",
        accepts_key: bool = True,
        latency_ms: int = 0,
        clock: FakeClock | None = None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(settings or Settings())
        self.requests: list[SearchRequest] = []
        """Every request that could be used, in the order of arrival, failed ones too."""
        self.credentials: list[tuple[Credentials, str | None]] = []
        """What `initialize` was called with."""
        self.clock = clock or FakeClock()
        """Advanced by the latency of every request."""
        self.latency_ms = latency_ms
        self.accepts_key = accepts_key
        """False: `initialize` finds that the provider refuses the key."""
        self._provider = provider
        self._default = deque(answers or ([],))
        self._scripts: list[tuple[Match, deque[ServiceAnswer]]] = []
        self._failures: tuple[WebSearchError, int | None] | None = None
        self._lock = threading.Lock()

    @property
    def queries(self) -> list[str]:
        """The queries of the requests, in the order of arrival."""
        return [request.query for request in self.requests]

    def on(self, match: Match, *answers: ServiceAnswer) -> Self:
        """Script the answers for these requests and return the service; the first match counts."""
        self._scripts.append((match, deque(answers or ([],))))
        return self

    def on_words(self, part: str, *answers: ServiceAnswer) -> Self:
        """Script the answers for queries that hold this text, capitals or not."""
        return self.on(re.compile(re.escape(part), re.IGNORECASE), *answers)

    def fail(
        self, code: ErrorCode, *, retry_after_ms: int | None = None, times: int | None = None
    ) -> WebSearchError:
        """Fail the next `times` requests, every further one by default; return the error."""
        error = service_error(code, retry_after_ms=retry_after_ms)
        self._failures = error, times
        return error

    def recover(self) -> None:
        """Answer as scripted again."""
        self._failures = None

    def initialize(self, credentials: Credentials = None, provider: str | None = None) -> bool:
        """Return whether the key is taken: not an empty one, and none if `accepts_key` is False.

        Raises ConfigError for an unknown provider.
        """
        self.credentials.append((credentials, provider))
        if provider is not None and provider not in registry.names("search"):
            raise ConfigError(f"There is no search adapter called {provider!r}.")
        if not self.accepts_key or _is_blank(credentials):
            return False
        self._provider = provider or self._provider
        return True

    async def ainitialize(
        self, credentials: Credentials = None, provider: str | None = None
    ) -> bool:
        """Return the same as `initialize`."""
        return self.initialize(credentials, provider)

    def get_provider(self) -> str:
        """Return the name of the provider."""
        return self._provider

    def search(self, request: SearchRequest | Mapping[str, Any] | str) -> SearchResponse:
        """Return or raise the next answer for this request."""
        asked = validate_request(request)
        answer = self._next(asked)
        self.clock.sleep(self.latency_ms / 1000)
        return self._response(asked, answer)

    async def asearch(self, request: SearchRequest | Mapping[str, Any] | str) -> SearchResponse:
        """Return or raise the same as `search`, after other tasks have run once."""
        asked = validate_request(request)
        answer = self._next(asked)
        await self.clock.asleep(self.latency_ms / 1000)
        return self._response(asked, answer)

    def _next(self, request: SearchRequest) -> ServiceAnswer:
        with self._lock:
            self.requests.append(request)
            if self._failures:
                error, times = self._failures
                left = None if times is None else times - 1
                self._failures = None if left == 0 else (error, left)
                return error
            scripts = (answers for match, answers in self._scripts if _fits(match, request))
            answers = next(scripts, self._default)
            return answers.popleft() if len(answers) > 1 else answers[0]

    def _response(self, request: SearchRequest, answer: ServiceAnswer) -> SearchResponse:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, SearchResponse):
            return answer
        options = request.options
        changes = {} if options.include_content is not False else {"content": None}
        results = answer[: options.max_results or DEFAULT_RESULTS]
        name, latency_ms = self._provider, self.latency_ms
        attempt = Attempt(provider=name, rationale="search_completed", latency_ms=latency_ms)
        return SearchResponse(
            results=[result.model_copy(update=changes) for result in results],
            query=request.query,
            response_time_ms=latency_ms,
            provider=name,
            routing=[attempt],
        )


def _fits(match: Match, request: SearchRequest) -> bool:
    if isinstance(match, str):
        return match == request.query
    if isinstance(match, re.Pattern):
        return match.search(request.query) is not None
    return match(request)


def _is_blank(credentials: Credentials) -> bool:
    """Return whether a key is given and empty."""
    if isinstance(credentials, SecretStr):
        return not credentials.get_secret_value().strip()
    if isinstance(credentials, Mapping):
        return not any(str(value).strip() for value in credentials.values())
    return credentials is not None and not credentials.strip()
