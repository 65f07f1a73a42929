"""The meaning of an answer: a page with its validators, or the error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ....contracts.page import FetchedPage, Validators
from ....errors import FetchError
from ..extract.blocking_pages import CHALLENGE, is_challenge_markup
from ..extract.charset import decode_page
from .public_hosts import show_host
from .sniffing import charset_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....contracts.page import RobotsVerdict
    from ....errors import FetchReason
    from .transfer import Received
    from .url_rules import Target

OK: Final = 200
NOT_MODIFIED: Final = 304
MOVED: Final = frozenset({301, 302, 303, 307, 308})
THROTTLED: Final = frozenset({429, 503})
_RETRYABLE_STATUSES: Final = frozenset({408, 425, 500, 502, 504, 520, 522, 524})
_STATUS_REASONS: Final[Mapping[int, FetchReason]] = {
    204: "empty",
    205: "empty",
    401: "needs_login",
    403: "needs_login",
    404: "gone",
    407: "needs_login",
    410: "gone",
}
MAX_RETRY_AFTER_S: Final = 7 * 24 * 3600.0
_NO_VALIDATORS: Final = Validators()
_VALIDATOR = re.compile(r"[\x20-\x7e]{1,1024}")


def build_page(
    url: str,
    target: Target,
    received: Received,
    *,
    fetched_at: float,
    hops: int,
    robots: RobotsVerdict,
) -> FetchedPage:
    """Return the page of the answer. Raises FetchError when there is none."""
    status, headers = received.status, received.headers
    if is_challenge(received):
        raise FetchError(CHALLENGE, reason="challenge", status=status)
    if status != OK:
        raise status_error(target.host, status)
    if received.kind is None:
        raise FetchError(
            f"{show_host(target.host)} sent an empty answer", reason="empty", status=status
        )
    declared = headers.get("Content-Type", "")
    return FetchedPage(
        url=url,
        final_url=target.url,
        status=status,
        content_type=media_type(declared),
        kind=received.kind,
        charset=None if received.kind in {"pdf", "gzip"} else charset_in(declared),
        body=received.body,
        fetched_at=fetched_at,
        validators=validators_in(headers),
        hops=hops,
        robots=robots,
        robots_tags=tuple(headers.getall("X-Robots-Tag", ())),
    )


def is_challenge(received: Received) -> bool:
    """Return whether a guard of the site answers, as its header or the refusal's body says."""
    if received.headers.get("cf-mitigated", "").lower() == "challenge":
        return True
    return received.status != OK and is_challenge_markup(decode_page(received.body))


def media_type(content_type: str) -> str:
    """Return a Content-Type header without its parameters.

    >>> media_type("Text/HTML; charset=utf-8")
    'text/html'
    """
    return content_type.partition(";")[0].strip().lower()[:200]


def validators_in(headers: Mapping[str, str]) -> Validators:
    """Return the validators of an answer, without those that are no valid header values."""
    etag, last_modified = headers.get("ETag"), headers.get("Last-Modified")
    if etag is None and last_modified is None:
        return _NO_VALIDATORS
    return Validators(_usable(etag), _usable(last_modified))


def conditions(validators: Validators | None) -> dict[str, str]:
    """Return the headers of a conditional request."""
    if validators is None:
        return {}
    pairs = (("If-None-Match", validators.etag), ("If-Modified-Since", validators.last_modified))
    return {name: value for name, value in pairs if _usable(value) and value}


def throttle_error(host: str, status: int, wait_s: float) -> FetchError:
    """Return the error for a 429 or 503."""
    return FetchError(
        f"{show_host(host)} throttles requests (HTTP status {status}): retry in {wait_s:.0f} s",
        reason="rate_limited",
        retry_in_s=wait_s,
        status=status,
    )


def status_error(host: str, status: int) -> FetchError:
    """Return the error for any other status than 200."""
    return FetchError(
        f"{show_host(host)} answered with HTTP status {status}",
        reason=_STATUS_REASONS.get(status, "http_error"),
        retryable=status in _RETRYABLE_STATUSES,
        status=status,
    )


def _usable(value: str | None) -> str | None:
    return value if value and _VALIDATOR.fullmatch(value) else None
