"""Answers that come too slowly, not wholly, or not at all."""

from __future__ import annotations

from functools import partial
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, Final

from .case import page_case, page_cases
from .replies import PAGE, SiteReply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .case import Case

_CHUNK: Final = b"%x\r\n%s\r\n" % (len(PAGE), PAGE)


def _bytewise(data: bytes) -> Iterable[bytes]:
    return (bytes((byte,)) for byte in data)


def _head(*lines: bytes) -> Iterable[bytes]:
    return [b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"", b""))]


def _endless_headers() -> Iterable[bytes]:
    return chain([b"HTTP/1.1 200 OK\r\n"], (b"X-%d: %s\r\n" % (n, b"a" * 900) for n in count()))


def _slow() -> Iterator[Case]:
    head = b"HTTP/1.1 200 OK\r\nX: " + b"a" * 999
    drip = SiteReply(partial(_bytewise, PAGE), pause_s=0.5)
    slow_head = SiteReply(head=partial(_bytewise, head), pause_s=0.5)
    interim = SiteReply(head=lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), pause_s=0.01)
    headed = SiteReply(head=partial(_head, b"Content-Length: 9"), ending="hold")
    pages = {
        "drip": ("a byte of the body each 0.5 s", drip),
        "slow head": ("a byte of the headers each 0.5 s", slow_head),
        "interim answers": ("100 Continue without end", interim),
        "silence": ("no answer at all", SiteReply(head=list, ending="hold")),
        "silence after the head": ("no body", headed),
    }
    yield from page_cases("deadline", pages, slow=True)


def _ended() -> Iterator[Case]:
    torn = SiteReply(PAGE, length=len(PAGE) + 100_000, ending="reset")
    head = partial(_head, b"Content-Type: text/html", b"Transfer-Encoding: chunked")
    unended = SiteReply(_CHUNK, head=head)
    promised = SiteReply(PAGE, length=len(PAGE) + 1)
    reset = SiteReply(head=list, ending="reset")
    pages = {
        "hung up": ("the connection ends without an answer", SiteReply(head=list)),
        "reset at once": ("the connection is torn down without an answer", reset),
        "reset in the middle": ("the connection is torn down within the body", torn),
        "truncated": ("the body ends before the promised length", promised),
        "chunks cut off": ("no last chunk", unended),
    }
    yield from page_cases("incomplete", pages)


def _invalid() -> Iterator[Case]:
    endless_line = SiteReply(head=lambda: chain([b"HTTP/1.1 200 OK\r\nX: "], repeat(b"a" * 4096)))
    (head,) = _head(b"Content-Type: text/html", b"Content-Length: %d" % len(PAGE))
    whole = head + PAGE + b"<p>of another answer</p>"  # in one write: the outcome depends on it
    longer = SiteReply(head=lambda: [whole])
    chunked = {"Transfer-Encoding": "chunked"}
    both = SiteReply(_CHUNK + b"0\r\n\r\n", length=7, headers=chunked)
    two = SiteReply(PAGE, head=partial(_head, b"Content-Length: 5", b"Content-Length: 900"))
    negative = SiteReply(PAGE, head=partial(_head, b"Content-Length: -1"))
    mail = SiteReply(head=lambda: [b"220 mail.example ESMTP\r\n"])
    pages = {
        "endless headers": ("headers without end", SiteReply(head=_endless_headers)),
        "endless header line": ("one header without end", endless_line),
        "length too small": ("bytes after the promised length", longer),
        "length and chunks": ("two contradicting lengths", both),
        "two lengths": ("Content-Length twice, differently", two),
        "negative length": ("Content-Length: -1", negative),
        "not HTTP": ("the greeting of a mail server", mail),
        "HTTP 0.9": ("a body without a head", SiteReply(head=lambda: [PAGE])),
    }
    yield from page_cases("bad_response", pages)


def cases() -> tuple[Case, ...]:
    """Return the cases of time and of broken connections."""
    unmeasured = SiteReply(partial(_bytewise, PAGE))
    good = page_case("no length", "the body ends with the connection", "read", unmeasured)
    return (*_slow(), *_ended(), *_invalid(), good)
