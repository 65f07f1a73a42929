"""Answers that come too slowly, not wholly, or not at all."""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from .case import one
from .replies import PAGE, Reply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .case import Case, Outcome


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
    slow: Outcome = "deadline"
    stopped: Outcome = "incomplete"
    invalid: Outcome = "bad_response"
    return (
        one(
            "drip",
            "a byte of the body each 0.5 s",
            slow,
            Reply(partial(_bytewise, PAGE), pause_s=0.5),
            slow=True,
        ),
        one(
            "slow head",
            "a byte of the headers each 0.5 s",
            slow,
            Reply(head=partial(_bytewise, b"HTTP/1.1 200 OK\r\nX: " + b"a" * 999), pause_s=0.5),
            slow=True,
        ),
        one("endless headers", "headers without end", invalid, Reply(head=_endless_headers)),
        one("endless header line", "one header without end", invalid, Reply(head=_endless_line)),
        one(
            "interim answers",
            "100 Continue without end",
            slow,
            Reply(head=_interim, pause_s=0.01),
            slow=True,
        ),
        one("silence", "no answer at all", slow, Reply(head=list, ending="hold"), slow=True),
        one(
            "silence after the head",
            "no body",
            slow,
            Reply(head=partial(_head, b"Content-Length: 9"), ending="hold"),
            slow=True,
        ),
        one("hung up", "the connection ends without an answer", stopped, Reply(head=list)),
        one(
            "reset at once",
            "the connection is torn down without an answer",
            stopped,
            Reply(head=list, ending="reset"),
        ),
        one(
            "reset in the middle",
            "the connection is torn down within the body",
            stopped,
            Reply(PAGE, length=len(PAGE) + 100_000, ending="reset"),
        ),
        one(
            "truncated",
            "the body ends before the promised length",
            stopped,
            Reply(PAGE, length=len(PAGE) + 1),
        ),
        one(
            "chunks cut off",
            "no last chunk",
            stopped,
            Reply(
                b"%x\r\n%s\r\n" % (len(PAGE), PAGE),
                length=None,
                head=partial(_head, b"Content-Type: text/html", b"Transfer-Encoding: chunked"),
            ),
        ),
        one(
            "length too small",
            "bytes after the promised length",
            invalid,
            Reply(PAGE + b"<p>of another answer</p>", length=len(PAGE)),
        ),
        one(
            "length and chunks",
            "two contradicting lengths",
            invalid,
            Reply(
                b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE),
                length=7,
                headers={"Transfer-Encoding": "chunked"},
            ),
        ),
        one(
            "two lengths",
            "Content-Length twice, differently",
            invalid,
            Reply(PAGE, head=partial(_head, b"Content-Length: 5", b"Content-Length: 900")),
        ),
        one(
            "negative length",
            "Content-Length: -1",
            invalid,
            Reply(PAGE, head=partial(_head, b"Content-Length: -1")),
        ),
        one(
            "not HTTP",
            "the greeting of a mail server",
            invalid,
            Reply(head=lambda: [b"220 mail.example ESMTP\r\n"]),
        ),
        one("HTTP 0.9", "a body without a head", invalid, Reply(head=lambda: [PAGE])),
        one(
            "no length",
            "the body ends with the connection",
            "read",
            Reply(partial(_bytewise, PAGE)),
        ),
    )
