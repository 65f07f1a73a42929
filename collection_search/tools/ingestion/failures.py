"""The consequence of a page's failure: a retry, a pause, a dead letter or its removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast, get_args

from ...errors import (
    NEVER_PERMITTED,
    CollectionSearchError,
    ConfigError,
    CostLimitReached,
    ExtractionError,
    FetchError,
    FetchReason,
    IngestError,
    ModelError,
    StoreError,
)
from ...ports.ledger import FAILED_BEFORE, host_cause, is_revisit
from ...settings.collection_embedder import MissingEmbedderError
from ...text.redaction import redact
from ..criteria.text_judgement import CriteriaNotJudgedError
from .leases import netloc

if TYPE_CHECKING:
    from ...contracts.ingestion import Claim

_PERMANENT: Final = (ConfigError, CostLimitReached, ExtractionError, IngestError)
"""Failures that a retry would repeat."""
BACKOFF_S: Final = 1.0
"""First delay before another attempt; it doubles with every attempt."""
MAX_BACKOFF_S: Final = 60.0
_ALLOWED: Final = (
    ". A page of your own network needs its host:port in the setting fetch_allowed, such as"
    " wiki.intra:443."
)
_KEPT: Final = (
    " The page's text is kept: to go on with it, 'collection-search ingest retry-failed' with a"
    " higher --max-cost."
)
_NOT_PUBLIC: Final = frozenset({"blocked_address", "blocked_host"})
VANISHED: Final = frozenset({"gone", "soft_404"})
"""Reasons of a page that is gone."""
MAX_POSTPONE_S: Final = 86_400.0
UNJUDGED_S: Final = 600.0
"""Pause of a page that no model could judge."""
_UNREACHED: Final = frozenset({"dns_failed", "connect_failed", "connect_timeout"})
"""Reasons of a site that gave no answer at all, which may be on our own side."""
_OUR_OWN: Final = frozenset({"host_busy", *_UNREACHED})
_NO_CONTACT: Final = frozenset({
    *_OUR_OWN, "bad_url", "bad_scheme", "credentials_in_url", "blocked_host", "blocked_address",
    "blocked_port", "robots_disallowed",
})  # fmt: skip
"""Reasons without a request to the site, or with one that a cache may have replaced."""
_SLOW: Final = frozenset({"deadline", "too_slow"})
_SLOW_ATTEMPTS: Final = 2
"""Each of them takes the whole time limit of a page."""
_GONE: Final = 410
_UNAVAILABLE: Final = 503
_REASONS: Final = frozenset(get_args(FetchReason))
_ADAPTIVE_S: Final = 30.0
"""A longer wait was requested by the site itself."""


def retry_delay_s(
    claim: Claim, error: Exception, *, max_attempts: int, backoff_s: float
) -> float | None:
    """Return the seconds until another attempt; None where none is left, or none would help."""
    if isinstance(error, FetchError) and error.reason in _SLOW:
        max_attempts = min(max_attempts, _SLOW_ATTEMPTS)
    if claim.attempts >= max_attempts or _is_lasting(error):
        return None
    return min(MAX_BACKOFF_S, backoff_s * 2.0 ** (claim.attempts - 1))


def has_vanished(claim: Claim, error: Exception, *, retire_forbidden: bool = False) -> bool:
    """Return whether a page that existed before is gone, or no longer to be stored.

    A 410 is final. A 404, or a page that looks like one, may be temporary: the stored page is
    removed only after two in a row. A retired page stays retired whatever the site answers; a
    failure on our own side is retried. A page that asks not to be indexed, where that is honoured,
    is removed at once; one that robots.txt forbids, with `retire_forbidden`.
    """
    if is_revisit(claim) and _has_answered(error):
        return True
    if not (claim.is_refresh and isinstance(error, FetchError)):
        return False
    if error.reason == "noindex" or (retire_forbidden and error.reason == "robots_disallowed"):
        return True
    if error.reason not in VANISHED:
        return False
    if is_gone_for_good(error) or claim.text_hash is None:
        return True
    return fetch_reason_in(str(claim.provenance.get(FAILED_BEFORE))) in VANISHED


def is_gone_for_good(error: Exception) -> bool:
    """Return whether the site says that the page is gone for good: 410 (RFC 9110, 15.5.11)."""
    return isinstance(error, FetchError) and error.status == _GONE


def postponed_s(error: Exception) -> float | None:
    """Return the pause that the site asks for, or a page's judgement needs.

    None for any other failure, such as a plain 503.
    """
    if isinstance(error, CriteriaNotJudgedError):
        return UNJUDGED_S
    if not isinstance(error, FetchError) or not error.retryable or error.retry_in_s is None:
        return None
    if error.status == _UNAVAILABLE and error.retry_in_s <= _ADAPTIVE_S:
        return None
    return min(error.retry_in_s, MAX_POSTPONE_S)


def failed_host(claim: Claim, error: Exception) -> str | None:
    """Return the host that a failed fetch did not reach, as in a URL; None for other failures.

    A name that does not exist is no such failure: the name service has answered.
    """
    if not isinstance(error, FetchError) or not error.retryable:
        return None
    if error.reason not in _UNREACHED and error.reason != "robots_unreachable":
        return None
    return error.host or netloc(claim.url)


def asking_cause(claim: Claim, error: Exception) -> str | None:
    """Return the cause of the pause that a host asks for; None where our own throttle does."""
    if isinstance(error, FetchError) and error.status is not None:
        return host_cause(error.host or netloc(claim.url))
    return None


def is_model_unavailable(error: Exception) -> bool:
    """Return whether the embedder answers nobody at present."""
    return isinstance(error, ModelError) and error.unavailable


def is_store_unavailable(error: Exception) -> bool:
    """Return whether the store may work again without a change of the page."""
    return isinstance(error, StoreError) and error.retryable


def reached_host(claim: Claim, error: Exception | None) -> bool:
    """Return whether the claim's fetch got an answer, good or bad."""
    if error is None or not isinstance(error, FetchError):
        return claim.needs_fetch
    has_answered = error.reason not in _NO_CONTACT and failed_host(claim, error) is None
    return claim.needs_fetch and (has_answered or error.status is not None)


def _has_answered(error: Exception) -> bool:
    """Return whether the page itself failed, not our own throttle, network, store or model."""
    if isinstance(error, FetchError):
        return error.reason not in _OUR_OWN
    return isinstance(error, ExtractionError)


def _is_lasting(error: Exception) -> bool:
    if isinstance(error, FetchError):
        return not error.retryable
    return isinstance(error, _PERMANENT) and not isinstance(error, MissingEmbedderError)


def cause_of(error: Exception) -> str:
    """Return the cause for the ledger, with secrets redacted."""
    if isinstance(error, FetchError):
        way_out = _ALLOWED if may_be_allowed(error) else ""
        return redact(f"{error.reason}: {error}{way_out}")
    if isinstance(error, CostLimitReached):
        return f"{error}{_KEPT}"
    return redact(str(error) if isinstance(error, CollectionSearchError) else repr(error))


def may_be_allowed(error: FetchError) -> bool:
    """Return whether the setting fetch_allowed may permit the page, which is not public."""
    return error.reason in _NOT_PUBLIC and NEVER_PERMITTED not in str(error)


def fetch_reason_in(cause: str) -> FetchReason | None:
    """Return the reason that such a cause begins with; None where no fetch failed.

    >>> fetch_reason_in("dns_failed: the name a.example cannot be resolved")
    'dns_failed'
    >>> fetch_reason_in("The page has no text") is None
    True
    """
    word = cause.partition(":")[0]
    return cast("FetchReason", word) if word in _REASONS else None
