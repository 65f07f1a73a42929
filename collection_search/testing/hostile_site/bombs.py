"""Bodies that are larger than they look, or never end."""

from __future__ import annotations

import gzip
import zlib
from functools import cache, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from .case import page_case
from .replies import HTML, PAGE, SiteReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .case import Case

_MIB: Final = 1 << 20
_WORDS: Final = b"<p>" + b"heron " * 10_922 + b"</p>"
"""About 64 KiB of HTML."""


def _packed(mib: int, wbits: int) -> bytes:
    """Return the packed form of a page with that many MiB of blanks."""
    squeezer = zlib.compressobj(9, wbits=wbits)
    parts = [squeezer.compress(piece) for piece in (PAGE, *repeat(b" " * _MIB, mib))]
    return b"".join([*parts, squeezer.flush()])


@cache
def gzip_bomb() -> bytes:
    """Return a gzip stream, a thousandth of what it decodes to."""
    return _packed(200, 16 + zlib.MAX_WBITS)


@cache
def deflate_bomb(*, raw: bool) -> bytes:
    """Return a deflate stream of 200 MiB, with or without its zlib frame."""
    return _packed(200, -zlib.MAX_WBITS if raw else zlib.MAX_WBITS)


@cache
def text_bomb() -> bytes:
    """Return a gzip stream of 9 MB of HTML: within the size, beyond the ratio."""
    body = PAGE + _WORDS * (9_000_000 // len(_WORDS))
    return gzip.compress(body, 9, mtime=0)


@cache
def double_bomb() -> bytes:
    """Return a few hundred bytes that decode, twice, to 200 MiB."""
    return gzip.compress(gzip_bomb(), 9, mtime=0)


def _lazily(make: Callable[[], bytes]) -> Iterator[bytes]:
    yield make()


def _endless() -> Iterable[bytes]:
    return chain([PAGE], repeat(_WORDS))


def _endless_chunks() -> Iterable[bytes]:
    return repeat(b"%x\r\n%s\r\n" % (len(_WORDS), _WORDS))


def _endless_chunk_size() -> Iterable[bytes]:
    return repeat(b"0" * 4096)


def _endless_gzip() -> Iterable[bytes]:
    squeezer = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    while True:
        yield squeezer.compress(_WORDS) + squeezer.flush(zlib.Z_SYNC_FLUSH)


def _encoded(coding: str, body: bytes) -> SiteReply:
    return SiteReply(body, headers={"Content-Encoding": coding})


def cases() -> tuple[Case, ...]:
    """Return the cases of sizes and encodings."""
    gzipped = gzip.compress(PAGE, mtime=0)
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    raw_deflated = raw.compress(PAGE) + raw.flush()
    chunked = {"Transfer-Encoding": "chunked"}
    lazy = {
        "gzip": partial(_lazily, gzip_bomb),
        "deflate": partial(_lazily, partial(deflate_bomb, raw=False)),
        "raw": partial(_lazily, partial(deflate_bomb, raw=True)),
        "text": partial(_lazily, text_bomb),
        "double": partial(_lazily, double_bomb),
    }
    gz, flate = {"Content-Encoding": "gzip"}, {"Content-Encoding": "deflate"}
    return (
        page_case(
            "gzip bomb",
            "200 KB that decode to 200 MiB",
            "ratio_exceeded",
            SiteReply(lazy["gzip"], headers=gz),
        ),
        page_case(
            "gzip bomb of text",
            "9 MB of HTML in 30 KB",
            "ratio_exceeded",
            SiteReply(lazy["text"], headers=gz),
        ),
        page_case(
            "gzip in gzip, both named",
            "two codings, of which one is allowed",
            "bad_encoding",
            SiteReply(lazy["double"], headers={"Content-Encoding": "gzip, gzip"}),
        ),
        page_case(
            "gzip in gzip, one named",
            "the body decodes to a gzip file",
            "unsupported_type",
            SiteReply(lazy["double"], headers=gz),
        ),
        page_case(
            "deflate bomb",
            "zlib frame, 200 MiB",
            "ratio_exceeded",
            SiteReply(lazy["deflate"], headers=flate),
        ),
        page_case(
            "raw deflate bomb",
            "no zlib frame, 200 MiB",
            "ratio_exceeded",
            SiteReply(lazy["raw"], headers=flate),
        ),
        page_case(
            "endless gzip",
            "a stream that decodes to ever more",
            "ratio_exceeded",
            SiteReply(_endless_gzip, headers=gz),
        ),
        page_case(
            "claimed length",
            "a Content-Length of 10 GB",
            "too_large",
            SiteReply(PAGE, length=10_000_000_000, ending="hold"),
        ),
        page_case("endless page", "HTML without end", "too_large", SiteReply(_endless)),
        page_case(
            "endless chunks",
            "chunks without end",
            "too_large",
            SiteReply(_endless_chunks, headers=chunked),
        ),
        page_case(
            "endless chunk size",
            "a chunk's size in endless zeros",
            "deadline",
            SiteReply(_endless_chunk_size, headers=chunked, pause_s=0.01),
            slow=True,
        ),
        page_case(
            "11 MB of HTML",
            "a little over the limit",
            "too_large",
            SiteReply(lambda: chain([PAGE], repeat(_WORDS, 170))),
        ),
        page_case(
            "31 MB of PDF",
            "a little over the limit",
            "too_large",
            SiteReply(lambda: chain([b"%PDF-1.7\n"], repeat(_WORDS, 480)), kind="application/pdf"),
        ),
        page_case(
            "8 MB of HTML",
            "large, and within the limit",
            "read",
            SiteReply(lambda: chain([PAGE], repeat(_WORDS, 120))),
        ),
        page_case("gzip page", "an honest gzip body", "read", _encoded("gzip", gzipped)),
        page_case("x-gzip page", "the old name of gzip", "read", _encoded("x-gzip", gzipped)),
        page_case(
            "zlib page", "an honest deflate body", "read", _encoded("deflate", zlib.compress(PAGE))
        ),
        page_case(
            "raw deflate page",
            "deflate as some servers misread it",
            "read",
            _encoded("deflate", raw_deflated),
        ),
        page_case("identity", "a coding that is none", "read", _encoded("identity", PAGE)),
        page_case(
            "gzip with a tail",
            "bytes after the stream",
            "read",
            _encoded("gzip", gzipped + b"\0" * 9),
        ),
        page_case(
            "gzip cut off",
            "half of the stream",
            "bad_encoding",
            _encoded("gzip", gzipped[: len(gzipped) // 2]),
        ),
        page_case(
            "gzip that is none",
            "plain HTML under the name gzip",
            "bad_encoding",
            _encoded("gzip", PAGE),
        ),
        page_case(
            "brotli unasked",
            "a coding that was not offered",
            "bad_encoding",
            _encoded("br", b"\x8b\x02\x80" + PAGE),
        ),
        page_case(
            "gzip nameless",
            "a gzip file as a page",
            "unsupported_type",
            SiteReply(gzipped, kind=HTML),
        ),
    )
