"""Failures of every vendor: errors of gateways, broken answers, broken connections."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import cache
from typing import TYPE_CHECKING, Final

from .wire import (
    Reply,
    not_understood,
    refused,
    refused_query,
    throttled,
    timed_out,
    unavailable,
    used_up,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .wire import Dialect, Meaning, ProviderFailure

BOMB_BYTES: Final = 32 * 1024 * 1024
"""Size of a valid answer that is too large to be read."""

ENDLESS: Final = frozenset({"held", "slow"})
"""Misbehaviours that last until the caller leaves."""

FOREIGN: Final[Mapping[str, object]] = {
    "object": {},
    "list": [],
    "state": {"status": "ok"},
    "message": {"message": "No route matched with those values"},
}
"""JSON with status 200 of a proxy, or of another server that runs at the address."""

_NO_ANSWER: Final = 502
"""The status of `SearchProviderBadResponse` where none was received or the answer broke off."""


@dataclass(frozen=True, slots=True)
class RetryAfterForm:
    """One way to write the header `Retry-After`, and the waiting time that it asks for."""

    value: Callable[[float], str]
    """The header's value, given the time in seconds since 1970."""
    at_least_ms: int | None
    """None: it says nothing, or a time that is over, as if it were missing."""
    at_most_ms: int | None


def _fixed(value: str, milliseconds: int | None) -> RetryAfterForm:
    return RetryAfterForm(lambda _: value, milliseconds, milliseconds)


RETRY_AFTER: Final[Mapping[str, RetryAfterForm]] = {
    "seconds": _fixed("7", 7000),
    "padded": _fixed(" 7 ", 7000),
    "float": _fixed("1.5", 1500),
    "zero": _fixed("0", None),
    "negative": _fixed("-5", None),
    "a_day": _fixed("86400", 86_400_000),
    "date_to_come": RetryAfterForm(lambda now: formatdate(now + 20, usegmt=True), 1, 20_000),
    "date_past": RetryAfterForm(lambda now: formatdate(now - 45, usegmt=True), None, None),
    "date_tomorrow": RetryAfterForm(
        lambda now: formatdate(now + 86_400, usegmt=True), 80_000_000, 86_400_000
    ),
    "garbage": _fixed("soon", None),
    "empty": _fixed("", None),
    "infinite": _fixed("inf", None),
    "not_a_number": _fixed("nan", None),
    "impossible_date": _fixed("Wed, 99 Foo 2026 25:61:61 GMT", None),
}
"""Every form that servers send; a wait past the worker's deadline ends the search at once."""


def gateway_failures(dialect: Dialect) -> dict[str, ProviderFailure]:
    """Return failures that only a status tells, as of proxies and overloaded servers."""
    statuses: Mapping[str, tuple[int, Meaning]] = {
        "unauthorized": (401, refused),
        "payment_required": (402, used_up),
        "not_found": (404, not_understood),
        "request_timeout": (408, timed_out),
        "address_too_long": (414, refused_query),
        "too_many_requests": (429, throttled),
        "server_error": (500, unavailable),
        "bad_gateway": (502, unavailable),
        "overloaded": (503, unavailable),
        "gateway_timeout": (504, timed_out),
    }
    errors = {name: (_page(status), meaning) for name, (status, meaning) in statuses.items()}
    hinted = (_page(503).having(Retry_After="2"), unavailable(503, 2000))
    return dialect.to_failures(errors | {"overloaded_with_a_hint": hinted})


def misbehaviours(dialect: Dialect) -> dict[str, ProviderFailure]:
    """Return broken answers and connections, and valid answers that are too large."""
    nothing = Reply.of_json(dialect.envelope([]))
    empty = Reply(200, headers={"Content-Type": "application/json"})
    page = Reply.of_text("<!doctype html><title>Please log in</title>", 200, kind="text/html")
    cut = Reply(200, nothing.body, nothing.headers, mishap="cut")
    nowhere = Reply(307, headers={"Location": "http://[::bad/"})
    broken = not_understood(_NO_ANSWER)
    bomb = Reply(200, _bomb(nothing.body), nothing.headers).having(Content_Encoding="gzip")
    return dialect.to_failures(
        {
            "html": (page, not_understood),
            "html_said_to_be_json": (page.having(Content_Type="application/json"), not_understood),
            "no_content": (Reply(204), not_understood),
            "empty": (empty, not_understood),
            "half_json": (_json(nothing.body[:-9]), not_understood),
            "not_utf8": (_json(b'{"results": "\xff\xfe\xfa"}'), not_understood),
            "deeply_nested": (_json(b"[" * 200_000), not_understood),
            **{
                f"foreign_{name}": (Reply.of_json(value), not_understood)
                for name, value in FOREIGN.items()
            },
            "list": (Reply.of_json([{}]), not_understood),
            "null": (Reply.of_json(None), not_understood),
            "number": (Reply.of_json(7), not_understood),
            "text": (Reply.of_json("no"), not_understood),
            "redirect": (Reply(302, headers={"Location": "/elsewhere"}), not_understood),
            "redirect_nowhere": (nowhere, not_understood),
            "cut_off": (cut, broken),
            "garbled": (Reply(0, mishap="garbled"), broken),
            "broken_gzip": (nothing.having(Content_Encoding="gzip"), broken),
            "oversized": (replace(nothing, padding=BOMB_BYTES), broken),
            "gzip_bomb": (bomb, broken),
            "reset": (Reply(0, mishap="reset"), unavailable()),
            "held": (Reply(0, mishap="held"), timed_out()),
            "slow": (replace(nothing, mishap="slow"), timed_out()),
        }
    )


def _page(status: int) -> Reply:
    page = Reply.of_text(f"<html><h1>{status}</h1></html>", status, kind="text/html")
    return replace(page, shows_request=True)


def _json(body: bytes) -> Reply:
    return Reply(200, body, {"Content-Type": "application/json"})


@cache
def _bomb(end: bytes) -> bytes:
    return gzip.compress(b" " * BOMB_BYTES + end, 1)
