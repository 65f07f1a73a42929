"""Bodies that are larger than they look, or never end."""

from __future__ import annotations

import gzip
import zlib
from functools import cache, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from .case import page_case, page_cases
from .replies import HTML, PAGE, SiteReply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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


def _encoded(coding: str, body: bytes | Callable[[], Iterable[bytes]]) -> SiteReply:
    return SiteReply(body, headers={"Content-Encoding": coding})


def _large(words: int, head: bytes = PAGE, kind: str = HTML) -> SiteReply:
    return SiteReply(lambda: chain([head], repeat(_WORDS, words)), kind=kind)


def _bombs() -> Iterator[Case]:
    double = partial(_lazily, double_bomb)
    bombs: Mapping[str, tuple[str, str, Callable[[], bytes]]] = {
        "gzip bomb": ("200 KB that decode to 200 MiB", "gzip", gzip_bomb),
        "gzip bomb of text": ("9 MB of HTML in 30 KB", "gzip", text_bomb),
        "deflate bomb": ("zlib frame, 200 MiB", "deflate", partial(deflate_bomb, raw=False)),
        "raw deflate bomb": ("no zlib frame, 200 MiB", "deflate", partial(deflate_bomb, raw=True)),
    }
    for name, (does, coding, make) in bombs.items():
        reply = _encoded(coding, partial(_lazily, make))
        yield page_case(name, does, "ratio_exceeded", reply)
    endless = _encoded("gzip", _endless_gzip)
    yield page_case("endless gzip", "a stream that decodes to ever more", "ratio_exceeded", endless)
    named = _encoded("gzip, gzip", double)
    does = "two codings, of which one is allowed"
    yield page_case("gzip in gzip, both named", does, "bad_encoding", named)
    does = "the body decodes to a gzip file"
    nameless = _encoded("gzip", double)
    yield page_case("gzip in gzip, one named", does, "unsupported_type", nameless)


def _sizes() -> Iterator[Case]:
    chunked = {"Transfer-Encoding": "chunked"}
    zeros = SiteReply(_endless_chunk_size, headers=chunked, pause_s=0.01)
    promised = SiteReply(PAGE, length=10_000_000_000, ending="hold")
    pdf = _large(480, b"%PDF-1.7\n", "application/pdf")
    too_large = {
        "claimed length": ("a Content-Length of 10 GB", promised),
        "endless page": ("HTML without end", SiteReply(_endless)),
        "endless chunks": ("chunks without end", SiteReply(_endless_chunks, headers=chunked)),
        "11 MB of HTML": ("a little over the limit", _large(170)),
        "31 MB of PDF": ("a little over the limit", pdf),
    }
    yield from page_cases("too_large", too_large)
    yield page_case("8 MB of HTML", "large, and within the limit", "read", _large(120))
    does = "a chunk's size in endless zeros"
    yield page_case("endless chunk size", does, "deadline", zeros, slow=True)


def _codings() -> Iterator[Case]:
    gzipped = gzip.compress(PAGE, mtime=0)
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    deflated = raw.compress(PAGE) + raw.flush()
    readable = {
        "gzip page": ("an honest gzip body", _encoded("gzip", gzipped)),
        "x-gzip page": ("the old name of gzip", _encoded("x-gzip", gzipped)),
        "zlib page": ("an honest deflate body", _encoded("deflate", zlib.compress(PAGE))),
        "raw deflate page": ("deflate as some servers misread it", _encoded("deflate", deflated)),
        "identity": ("a coding that is none", _encoded("identity", PAGE)),
        "gzip with a tail": ("bytes after the stream", _encoded("gzip", gzipped + b"\0" * 9)),
    }
    half, brotli = gzipped[: len(gzipped) // 2], b"\x8b\x02\x80" + PAGE
    broken = {
        "gzip cut off": ("half of the stream", _encoded("gzip", half)),
        "gzip that is none": ("plain HTML under the name gzip", _encoded("gzip", PAGE)),
        "brotli unasked": ("a coding that was not offered", _encoded("br", brotli)),
    }
    yield from page_cases("read", readable)
    yield from page_cases("bad_encoding", broken)
    yield page_case(
        "gzip nameless", "a gzip file as a page", "unsupported_type", SiteReply(gzipped)
    )


def cases() -> tuple[Case, ...]:
    """Return the cases of sizes and encodings."""
    return (*_bombs(), *_sizes(), *_codings())
