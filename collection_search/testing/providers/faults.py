"""What goes wrong in front of any vendor: gateways, broken answers, broken connections."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import cache
from typing import TYPE_CHECKING, Final

from .wire import (
    ExpectedError,
    ProviderFailure,
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

    from .wire import Dialect

BOMB_BYTES: Final = 32 * 1024 * 1024
"""Size of an answer that nobody should read to its end; it would be a valid one."""

ENDLESS: Final = frozenset({"held", "slow"})
"""Misbehaviours that last until the caller leaves."""

_NO_ANSWER: Final = 502
"""The status of `SearchProviderBadResponse` where none was received or the answer broke off."""


@dataclass(frozen=True, slots=True)
class RetryAfterForm:
    """One way to write the header `Retry-After`, and the waiting time that it asks for."""

    value: Callable[[float], str]
    """The header's value, given the time in seconds since 1970."""
    at_least_ms: int | None
    """None: it says nothing, as if it were missing."""
    at_most_ms: int | None


def _fixed(value: str, milliseconds: int | None) -> RetryAfterForm:
    return RetryAfterForm(lambda _: value, milliseconds, milliseconds)


RETRY_AFTER: Final[Mapping[str, RetryAfterForm]] = {
    "seconds": _fixed("7", 7000),
    "padded": _fixed(" 7 ", 7000),
    "float": _fixed("1.5", 1500),
    "zero": _fixed("0", 0),
    "negative": _fixed("-5", 0),
    "a_day": _fixed("86400", 86_400_000),
    "date_to_come": RetryAfterForm(lambda now: formatdate(now + 20, usegmt=True), 1, 20_000),
    "date_past": RetryAfterForm(lambda now: formatdate(now - 45, usegmt=True), 0, 0),
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
    """Return the failures by status alone, as proxies and overloaded servers answer."""
    return {
        "unauthorized": _plain(401, refused(401, names=dialect.key_variable)),
        "payment_required": _plain(402, used_up(402)),
        "not_found": _plain(404, not_understood(404)),
        "request_timeout": _plain(408, timed_out(408)),
        "address_too_long": _plain(414, refused_query(414)),
        "too_many_requests": _plain(429, throttled(429)),
        "server_error": _plain(500, unavailable(500)),
        "bad_gateway": _plain(502, unavailable(502)),
        "overloaded": _plain(503, unavailable(503)),
        "overloaded_with_a_hint": ProviderFailure(
            _plain(503, unavailable(503)).reply.having(Retry_After="2"), unavailable(503, 2000)
        ),
        "gateway_timeout": _plain(504, timed_out(504)),
    }


def misbehaviours(dialect: Dialect) -> dict[str, ProviderFailure]:
    """Return the answers and connections that break; some are valid answers past every limit."""
    nothing = Reply.of_json(dialect.envelope([]))
    empty = Reply(200, headers={"Content-Type": "application/json"})
    page = Reply.of_text("<!doctype html><title>Please log in</title>", 200, kind="text/html")
    cut = Reply(200, nothing.body, nothing.headers, mishap="cut")
    return {
        "html": ProviderFailure(page, not_understood(200)),
        "html_said_to_be_json": ProviderFailure(
            page.having(Content_Type="application/json"), not_understood(200)
        ),
        "no_content": ProviderFailure(Reply(204), not_understood(204)),
        "empty": ProviderFailure(empty, not_understood(200)),
        "half_json": ProviderFailure(_json(nothing.body[:-9]), not_understood(200)),
        "not_utf8": ProviderFailure(_json(b'{"results": "\xff\xfe\xfa"}'), not_understood(200)),
        "deeply_nested": ProviderFailure(_json(b"[" * 200_000), not_understood(200)),
        "list": ProviderFailure(Reply.of_json([{}]), not_understood(200)),
        "null": ProviderFailure(Reply.of_json(None), not_understood(200)),
        "number": ProviderFailure(Reply.of_json(7), not_understood(200)),
        "text": ProviderFailure(Reply.of_json("no"), not_understood(200)),
        "redirect": ProviderFailure(
            Reply(302, headers={"Location": "/elsewhere"}), not_understood(302)
        ),
        "redirect_nowhere": ProviderFailure(
            Reply(307, headers={"Location": "http://[::bad/"}), not_understood(307)
        ),
        "cut_off": ProviderFailure(cut, not_understood(_NO_ANSWER)),
        "garbled": ProviderFailure(Reply(0, mishap="garbled"), not_understood(_NO_ANSWER)),
        "broken_gzip": ProviderFailure(
            nothing.having(Content_Encoding="gzip"), not_understood(_NO_ANSWER)
        ),
        "oversized": ProviderFailure(
            replace(nothing, padding=BOMB_BYTES), not_understood(_NO_ANSWER)
        ),
        "gzip_bomb": ProviderFailure(
            Reply(200, _bomb(nothing.body), nothing.headers).having(Content_Encoding="gzip"),
            not_understood(_NO_ANSWER),
        ),
        "reset": ProviderFailure(Reply(0, mishap="reset"), unavailable()),
        "held": ProviderFailure(Reply(0, mishap="held"), timed_out()),
        "slow": ProviderFailure(replace(nothing, mishap="slow"), timed_out()),
    }


def _plain(status: int, expected: ExpectedError) -> ProviderFailure:
    page = Reply.of_text(f"<html><h1>{status}</h1></html>", status, kind="text/html")
    return ProviderFailure(replace(page, shows_request=True), expected)


def _json(body: bytes) -> Reply:
    return Reply(200, body, {"Content-Type": "application/json"})


@cache
def _bomb(end: bytes) -> bytes:
    return gzip.compress(b" " * BOMB_BYTES + end, 1)
