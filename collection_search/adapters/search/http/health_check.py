"""A free check whether a vendor can be reached and accepts the key."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ....contracts.health import Health
from ....text.validation import number_within
from ...http import HttpError, HttpRequest, join_url
from .json_values import read_json, read_path

if TYPE_CHECKING:
    from ...http import Transmit
    from .vendor import Vendor

_NO_SUCH_CALL: Final = {
    HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED
}  # fmt: skip
"""What a gateway or a compatible server answers where it has the search alone."""
_GATEWAY: Final = range(502, 505)
"""The statuses of a gateway whose server does not answer."""


async def check_vendor_health(vendor: Vendor, transmit: Transmit, timeout_s: float) -> Health:
    """Return what the vendor's free call shows, else that its host answers.

    The host is asked without key and query, so nothing is billed. Raises SearchProviderError.
    """
    free = vendor.check()
    try:
        response = await transmit(
            free or HttpRequest("GET", join_url(vendor.base_url, "/")), timeout_s=timeout_s
        )
    except HttpError as error:  # its own cause may show the address, and in it a key
        raise vendor.unanswered(error.kind, str(error)) from None
    if free is None:
        if response.status in _GATEWAY:
            raise vendor.failure(vendor.refusal(response, read_json(response)), response)
        return Health(f"{urlsplit(vendor.base_url).hostname} answers")
    if vendor.key() and response.status in _NO_SUCH_CALL:
        said = f"{urlsplit(vendor.base_url).hostname} answers, but has no call that tells the quota"
        return Health(f"{said} (HTTP {response.status})", has_free_call=False)
    return vendor.read(vendor.health, response)


def remaining_quota(value: Any, used: str, limit: str) -> int | None:
    """Return how much of a limit is left, None where there is none or it cannot be read.

    >>> remaining_quota({"usage": 130, "limit": 1000}, "usage", "limit")
    870
    >>> remaining_quota({"usage": 130, "limit": None}, "usage", "limit") is None
    True
    """
    spent, most = to_whole_number(read_path(value, used)), to_whole_number(read_path(value, limit))
    return None if spent is None or most is None else max(most - spent, 0)


def to_whole_number(value: Any) -> int | None:
    """Return a number without its fraction, None for anything else.

    >>> (to_whole_number(250), to_whole_number(249.9), to_whole_number("250"),
    ...  to_whole_number(True), to_whole_number(float("nan")))
    (250, 249, None, None, None)
    """
    number = number_within(value, -_MAX_NUMBER, _MAX_NUMBER)
    return None if number is None else int(number)


_MAX_NUMBER: Final = 10**15
