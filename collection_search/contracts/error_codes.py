"""Error codes of the HTTP statuses of search providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..errors import ErrorCode

BY_STATUS: Final[Mapping[int, ErrorCode]] = {
    400: "invalidQuery", 401: "authenticationFailed", 402: "quotaExceeded",
    403: "authenticationFailed", 408: "timeout", 414: "invalidQuery", 422: "invalidQuery",
    429: "rateLimited", 504: "timeout",
}  # fmt: skip
"""Error codes of a search provider's HTTP statuses; others: see `code_of_status`."""
_SERVER_FAILURE: Final = 500


def code_of_status(status: int) -> ErrorCode:
    """Return the error code of an HTTP status that is no success.

    >>> code_of_status(429), code_of_status(503), code_of_status(404)
    ('rateLimited', 'serviceUnavailable', 'unknown')
    """
    return BY_STATUS.get(status, "serviceUnavailable" if status >= _SERVER_FAILURE else "unknown")
