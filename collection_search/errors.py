"""Every error that this package raises.

```
CollectionSearchError
+ InputError (ValueError)                  what the caller passed cannot be used
  - InvalidUrlError                        not an http(s) URL
  - InvalidQueryError                      nothing to search for
  - ArrowSyntaxError                       an arrow command is not written as it should be
  - UnknownCollectionError                 the tenant has no collection of this name
  - AlreadyDecidedError                    the review is not open any more
+ ConfigError (ValueError)                 a name, key, file or folder of the settings is wrong
  - MissingExtraError (ImportError)        an optional package is not installed
+ SearchProviderError (RuntimeError)       a search provider failed
  - SearchProviderTimeout                  504
  - SearchProviderQuotaExceeded            429, throttled or used up
  - SearchProviderBadResponse              502
  - SearchProviderAuthenticationFailed     401
  - SearchProviderInvalidQuery             400
  - SearchProviderUnavailable              503
+ WebSearchError (RuntimeError)            the search service failed: the service contract's own
+ CostLimitReached (RuntimeError)          the run's cost limit does not allow another paid call
+ ModelError (RuntimeError)                a chat or embedding model failed
+ StoreError (RuntimeError)                the database cannot be read or written
  - ReadOnlyStoreError                     it can be read, not written
+ FetchError (RuntimeError)                a page of the web could not be fetched
+ ExtractionError (ValueError)             a file or page has no usable text
+ IngestError (RuntimeError)               ingestion could not be started
+ QualityThresholdError (ValueError)       no result is good enough to ingest
```

`code` and `retryable` are class attributes where they are the same for every instance; a message
says what happened and what to do.
"""

from __future__ import annotations

import unicodedata
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ErrorCode = Literal[
    "authenticationFailed",
    "rateLimited",
    "quotaExceeded",
    "invalidQuery",
    "serviceUnavailable",
    "timeout",
    "unknown",
]

FetchReason = Literal[
    "bad_url", "bad_scheme", "credentials_in_url", "blocked_host", "blocked_address",
    "blocked_port", "dns_failed", "connect_failed", "connect_timeout", "tls_failed",
    "too_many_redirects", "bad_redirect", "robots_disallowed", "robots_unreachable",
    "rate_limited", "host_busy", "too_large", "ratio_exceeded", "too_slow", "deadline",
    "incomplete", "bad_response", "bad_encoding", "unsupported_type", "http_error", "gone",
    "needs_login", "needs_javascript", "challenge", "noindex", "empty", "soft_404", "paywalled",
    "extraction_failed", "extraction_killed", "render_failed",
]  # fmt: skip
"""Why a page could not be fetched. `rate_limited`: the site answered 429 or 503. `host_busy`: too
many of our own requests wait for the host. `incomplete`: the answer broke off or never began.
`bad_response`: no valid HTTP. `gone`: 404 or 410. `needs_login`: 401, 403 or 407. `challenge`: it
is for a person or a browser to act first. `needs_javascript`: a script would load the text.
`render_failed`: the browser that runs the scripts had to give the page up.
`noindex`: the page asks not to be indexed, and a setting honours that."""
NEVER_PERMITTED: Final = "which no setting permits"
"""In the message of a refused address that the setting `fetch_allowed` cannot permit."""


class CollectionSearchError(Exception):
    """Base of every error of this package."""


class InputError(CollectionSearchError, ValueError):
    """The input cannot be used; a retry with the same input fails again."""


class InvalidUrlError(InputError):
    """The text is not a valid http(s) URL."""


class InvalidQueryError(InputError):
    """The query is empty or has search operators only."""


class AlreadyDecidedError(InputError):
    """The review is not open any more: another answer to it was first, and nothing was changed."""


class ArrowSyntaxError(InputError):
    """An arrow command is not written as it should be; the message shows the place."""

    def __init__(self, message: str, line: str, position: int) -> None:
        before = "".join(map(_blank, line[:position]))
        super().__init__(f"{message}\n{line}\n{before}^")
        self.reason = message
        self.line = line
        self.position = position
        """Of the mistake in the line, in characters from 0."""


class UnknownCollectionError(InputError):
    """The tenant has no collection of this name; `known` are those that it has."""

    def __init__(
        self, message: str, *, collection: str, known: Sequence[str], tenant_id: str = ""
    ) -> None:
        super().__init__(message)
        self.collection, self.known, self.tenant_id = collection, known, tenant_id


def _blank(char: str) -> str:
    """Return white space as wide as the character."""
    if char == "\t":
        return char
    return "\u3000" if unicodedata.east_asian_width(char) in "WF" else " "


class ConfigError(CollectionSearchError, ValueError):
    """A name, key, file or folder of the settings is wrong; the message names the setting."""


class MissingExtraError(ConfigError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


class SearchProviderError(CollectionSearchError, RuntimeError):
    """A search provider failed.

    `http_status` is the provider's status, or the class's own mapping where none was received.
    `retry_in_ms` is the waiting time that the provider asked for, in milliseconds.
    """

    default_code: ClassVar[ErrorCode] = "unknown"
    default_http_status: ClassVar[int | None] = None

    def __init__(
        self,
        message: str = "",
        *,
        code: ErrorCode | None = None,
        retryable: bool | None = None,
        retry_in_ms: int | None = None,
        http_status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code or self.default_code
        self.retryable: bool = self.code in RETRYABLE_CODES if retryable is None else retryable
        self.retry_in_ms = retry_in_ms
        self.http_status = self.default_http_status if http_status is None else http_status


class SearchProviderTimeout(SearchProviderError):  # noqa: N818 - the specified name
    """The provider did not answer in time; one retry with a longer limit may help."""

    default_code = "timeout"
    default_http_status = 504


class SearchProviderQuotaExceeded(SearchProviderError):  # noqa: N818 - the specified name
    """Throttled (`rateLimited`, a retry helps) or plan used up (`quotaExceeded`, it does not)."""

    default_code = "rateLimited"
    default_http_status = 429


class SearchProviderBadResponse(SearchProviderError):  # noqa: N818 - the specified name
    """The answer could not be understood; a retry does not help."""

    default_http_status = 502


class SearchProviderAuthenticationFailed(SearchProviderError):  # noqa: N818 - follows its siblings
    """The key is missing or was refused; the message names the variable to set."""

    default_code = "authenticationFailed"
    default_http_status = 401


class SearchProviderInvalidQuery(SearchProviderError):  # noqa: N818 - follows its siblings
    """The provider refused the query itself; a retry does not help."""

    default_code = "invalidQuery"
    default_http_status = 400


class SearchProviderUnavailable(SearchProviderError):  # noqa: N818 - follows its siblings
    """The provider is down or out of reach; a retry may help."""

    default_code = "serviceUnavailable"
    default_http_status = 503


BY_CODE: Final[Mapping[ErrorCode, Callable[..., SearchProviderError]]] = {
    "authenticationFailed": SearchProviderAuthenticationFailed,
    "rateLimited": SearchProviderQuotaExceeded,
    "quotaExceeded": partial(SearchProviderQuotaExceeded, code="quotaExceeded"),
    "invalidQuery": SearchProviderInvalidQuery,
    "serviceUnavailable": SearchProviderUnavailable,
    "timeout": SearchProviderTimeout,
    "unknown": SearchProviderBadResponse,
}


class WebSearchError(CollectionSearchError, RuntimeError):
    """The search service failed; `retryable` says whether the same request may succeed later.

    `retry_after_ms` is how long to wait, in milliseconds, where that is known.
    """

    def __init__(
        self,
        message: str,
        *,
        code: ErrorCode = "unknown",
        retryable: bool | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.retryable: bool = code in RETRYABLE_CODES if retryable is None else retryable
        self.retry_after_ms = retry_after_ms


RETRYABLE_CODES: Final = frozenset({"rateLimited", "serviceUnavailable", "timeout"})
"""Codes after which a retry makes sense."""


class CostLimitReached(CollectionSearchError, RuntimeError):  # noqa: N818 - an end, no mistake
    """The cost limit of the run does not allow the next paid call; results so far remain."""


class ModelError(CollectionSearchError, RuntimeError):
    """A chat or embedding model failed or answered with something unusable.

    `may_be_billed` is False when the model made no answer: the key was refused or it was down.
    `unavailable` is True when the model answers nobody at present, whatever the input is.
    `key_refused` is True when it refused the key: only another key helps. `input_tokens` and
    `output_tokens` are those of the answers that were given all the same, None where not known.
    """

    def __init__(
        self,
        message: str = "",
        *,
        may_be_billed: bool = True,
        unavailable: bool = False,
        key_refused: bool = False,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
    ) -> None:
        super().__init__(message)
        self.may_be_billed = may_be_billed
        self.unavailable = unavailable
        self.key_refused = key_refused
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class StoreError(CollectionSearchError, RuntimeError):
    """The database cannot be read or written; the message says which file and what to do.

    `retryable` is True when the same call may succeed later: it was locked, or its disk was full.
    """

    def __init__(self, message: str = "", *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ReadOnlyStoreError(StoreError):
    """The database can be searched, not changed: its file or folder is read-only."""


class FetchError(CollectionSearchError, RuntimeError):
    """A page of the web could not be fetched.

    `retryable` says whether a retry may help, `retry_in_s` how many seconds to wait before it if
    that is known. `status` is the HTTP status if one was received. `host` is the host and port that
    failed where that is known: after a redirect it may be another one than the URL's.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: FetchReason,
        retryable: bool | None = None,
        retry_in_s: float | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.reason: FetchReason = reason
        self.retryable: bool = reason in RETRYABLE_FETCHES if retryable is None else retryable
        self.retry_in_s = retry_in_s
        self.status = status
        self.host: str | None = None


RETRYABLE_FETCHES: Final[frozenset[FetchReason]] = frozenset({
    "dns_failed", "connect_failed", "connect_timeout", "robots_unreachable", "rate_limited",
    "host_busy", "too_slow", "deadline", "incomplete",
})  # fmt: skip
"""Reasons after which a retry makes sense, unless the error says otherwise."""


class ExtractionError(CollectionSearchError, ValueError):
    """A file or page has no text that could be indexed."""


class IngestError(CollectionSearchError, RuntimeError):
    """Ingestion could not be started."""


class QualityThresholdError(CollectionSearchError, ValueError):
    """No result reaches the score that an ingestion needs.

    `threshold` is the score that was asked for in the end, None where scores did not decide.
    """

    def __init__(
        self, message: str = "", *, threshold: float | None = None, fallback_used: bool = False
    ) -> None:
        super().__init__(message)
        self.threshold = threshold
        self.fallback_used = fallback_used
