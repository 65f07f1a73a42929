"""Answers that come too slowly, not wholly, or not at all."""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from .case import page_case
from .replies import PAGE, SiteReply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .case import Case, CaseOutcome


def _bytewise(data: bytes) -> Iterable[bytes]:
    return (bytes((byte,)) for byte in data)


def _head(*lines: bytes) -> Iterable[bytes]:
    return [b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", b""))]


def _endless_headers() -> Iterable[bytes]:
    return chain([b"HTTP/1.1 200 OK\r\n"], (b"X-%d: %s\r\n" % (n, b"a" * 900) for n in _numbers()))


def _numbers() -> Iterable[int]:
    number = 0
    while True:
        yield number
        number += 1


def _endless_line() -> Iterable[bytes]:
    return chain([b"HTTP/1.1 200 OK\r\nX: "], repeat(b"a" * 4096))


def _interim() -> Iterable[bytes]:
    return repeat(b"HTTP/1.1 100 Continue\r\n\r\n")


def cases() -> tuple[Case, ...]:
    """Return the cases of time and of broken connections."""
    slow: CaseOutcome = "deadline"
    stopped: CaseOutcome = "incomplete"
    invalid: CaseOutcome = "bad_response"
    return (
        page_case(
            "drip",
            "a byte of the body each 0.5 s",
            slow,
            SiteReply(partial(_bytewise, PAGE), pause_s=0.5),
            slow=True,
        ),
        page_case(
            "slow head",
            "a byte of the headers each 0.5 s",
            slow,
            SiteReply(head=partial(_bytewise, b"HTTP/1.1 200 OK\r\nX: " + b"a" * 999), pause_s=0.5),
            slow=True,
        ),
        page_case(
            "endless headers", "headers without end", invalid, SiteReply(head=_endless_headers)
        ),
        page_case(
            "endless header line", "one header without end", invalid, SiteReply(head=_endless_line)
        ),
        page_case(
            "interim answers",
            "100 Continue without end",
            slow,
            SiteReply(head=_interim, pause_s=0.01),
            slow=True,
        ),
        page_case(
            "silence", "no answer at all", slow, SiteReply(head=list, ending="hold"), slow=True
        ),
        page_case(
            "silence after the head",
            "no body",
            slow,
            SiteReply(head=partial(_head, b"Content-Length: 9"), ending="hold"),
            slow=True,
        ),
        page_case(
            "hung up", "the connection ends without an answer", stopped, SiteReply(head=list)
        ),
        page_case(
            "reset at once",
            "the connection is torn down without an answer",
            stopped,
            SiteReply(head=list, ending="reset"),
        ),
        page_case(
            "reset in the middle",
            "the connection is torn down within the body",
            stopped,
            SiteReply(PAGE, length=len(PAGE) + 100_000, ending="reset"),
        ),
        page_case(
            "truncated",
            "the body ends before the promised length",
            stopped,
            SiteReply(PAGE, length=len(PAGE) + 1),
        ),
        page_case(
            "chunks cut off",
            "no last chunk",
            stopped,
            SiteReply(
                b"%x\r\n%s\r\n" % (len(PAGE), PAGE),
                length=None,
                head=partial(_head, b"Content-Type: text/html", b"Transfer-Encoding: chunked"),
            ),
        ),
        page_case(
            "length too small",
            "bytes after the promised length",
            invalid,
            SiteReply(PAGE + b"<p>of another answer</p>", length=len(PAGE)),
        ),
        page_case(
            "length and chunks",
            "two contradicting lengths",
            invalid,
            SiteReply(
                b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE),
                length=7,
                headers={"Transfer-Encoding": "chunked"},
            ),
        ),
        page_case(
            "two lengths",
            "Content-Length twice, differently",
            invalid,
            SiteReply(PAGE, head=partial(_head, b"Content-Length: 5", b"Content-Length: 900")),
        ),
        page_case(
            "negative length",
            "Content-Length: -1",
            invalid,
            SiteReply(PAGE, head=partial(_head, b"Content-Length: -1")),
        ),
        page_case(
            "not HTTP",
            "the greeting of a mail server",
            invalid,
            SiteReply(head=lambda: [b"220 mail.example ESMTP\r\n"]),
        ),
        page_case("HTTP 0.9", "a body without a head", invalid, SiteReply(head=lambda: [PAGE])),
        page_case(
            "no length",
            "the body ends with the connection",
            "read",
            SiteReply(partial(_bytewise, PAGE)),
        ),
    )
