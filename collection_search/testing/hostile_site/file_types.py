"""PDF documents and files that are not what they are called."""

from __future__ import annotations

import gzip
import zlib
from functools import cache
from typing import TYPE_CHECKING, Final

from .case import Case, page_case, page_cases
from .replies import MARKER, PAGE, SiteReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .case import CaseOutcome

PDF: Final = "application/pdf"
_CATALOG: Final = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGE: Final = b"""<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R
/Resources << /Font << /F1 5 0 R >> >> >>"""
_FONT: Final = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf(
    content: bytes | None = None, *, filters: bytes = b"", kids: int = 1, trailer: bytes = b""
) -> bytes:
    """Return a PDF without a cross-reference table: readers rebuild it.

    `content` are the drawing operators of its page, given for the `filters` that unpack them; the
    page is shown `kids` times.
    """
    stream = content or f"BT /F1 12 Tf 72 720 Td ({MARKER}) Tj ET".encode()
    pages = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"3 0 R " * kids, kids)
    packed = b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(stream), filters, stream)
    objects = enumerate((_CATALOG, pages, _PAGE, packed, _FONT), start=1)
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % item for item in objects)
    return b"%%PDF-1.4\n%strailer << /Root 1 0 R /Size 6 %s >>\n%%%%EOF" % (body, trailer)


@cache
def stacked_bomb(times: int = 2) -> bytes:
    """Return a PDF whose page unpacks, through stacked filters, to 512 MiB."""
    squeezer = zlib.compressobj(9)
    data = b"".join(squeezer.compress(b" " * (1 << 20)) for _ in range(512)) + squeezer.flush()
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return pdf(data, filters=b"/Filter [%s]" % (b"/FlateDecode " * times))


@cache
def busy_pdf() -> bytes:
    """Return a PDF whose one page draws millions of words."""
    words = b"BT /F1 1 Tf 1 1 Td " + b"(heron) Tj 0 1 Td " * 3_000_000 + b"ET"
    return pdf(zlib.compress(words, 9), filters=b"/Filter /FlateDecode")


_LOCKED: Final = b"""/Encrypt << /Filter /Standard /V 1 /R 2 /P -4
/O <5ec5a1b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778>
/U <00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff> >>
/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]"""
_CIRCLE: Final = pdf().replace(b"/Kids [3 0 R ]", b"/Kids [2 0 R ]")


def _pdfs() -> Iterator[Case]:
    good = pdf()
    pages: Mapping[CaseOutcome, Mapping[str, tuple[str, bytes]]] = {
        "read": {
            "good": ("one page", good),
            "two hundred thousand pages": ("one page shown again and again", pdf(kids=200_000)),
            "negative length": ("a stream of length -1", good.replace(b"/Length ", b"/Length -")),
        },
        "extraction_killed": {
            "stacked filters": ("a page of 512 MiB, packed twice", stacked_bomb()),
            "many filters": ("the same, packed four times", stacked_bomb(4)),
            "busy page": ("three million words on one page", busy_pdf()),
        },
        "extraction_failed": {
            "damaged": ("the head of a PDF and then noise", b"%PDF-1.7\n" + bytes(range(256))),
            "cut off": ("half of the file", good[: len(good) // 2]),
            "protected": ("a password is needed", pdf(trailer=_LOCKED)),
            "circle": ("pages that hold themselves", _CIRCLE),
        },
        "empty": {"scan": ("a page without words", pdf(b"q Q"))},
    }
    for outcome, group in pages.items():
        for name, (does, body) in group.items():
            yield page_case(f"PDF: {name}", does, outcome, SiteReply(body, kind=PDF))


def _read() -> Iterator[Case]:
    unnamed, later = SiteReply(pdf(), kind=PDF), SiteReply(b"\n\n" + pdf(), kind=PDF)
    report, kind = SiteReply(PAGE, kind=PDF), "application/octet-stream"
    markdown = SiteReply(f"# Birds\n\n**{MARKER}**".encode(), kind="text/markdown")
    addressed = {
        "PDF without a suffix": ("the type alone says it", "/p", unnamed),
        "HTML called .pdf": ("suffix and type lie", "/report.pdf", report),
    }
    for name, (does, path, reply) in addressed.items():
        yield Case(name, does, "read", {path: reply}, start=f"http://{{host}}{path}")
    pages = {
        "PDF called HTML": ("the wrong type", SiteReply(pdf())),
        "PDF without a type": ("no type at all", SiteReply(pdf(), kind=None)),
        "PDF after noise": ("the mark follows after some bytes", later),
        "HTML called plain": ("the type is text/plain", SiteReply(PAGE, kind="text/plain")),
        "HTML without a type": ("no type at all", SiteReply(PAGE, kind=None)),
        "a type of rubbish": ("no type at all, but a header", SiteReply(PAGE, kind=";;=,")),
        "HTML as bytes": (kind, SiteReply(PAGE, kind=kind)),
        "plain text": ("no markup", SiteReply(MARKER.encode(), kind="text/plain")),
    }
    yield from page_cases("read", pages)
    yield page_case("Markdown", "marks but headings go", "read", markdown, not_text="**")


def _unsupported() -> Iterator[Case]:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(64)
    binaries = {
        "image": (png, "image/png"),
        "image called HTML": (png, "text/html"),
        "JPEG": (b"\xff\xd8\xff\xe0\x00\x10JFIF\0" + bytes(99), "image/jpeg"),
        "program": (b"\x7fELF\x02\x01\x01" + bytes(99), "text/html"),
        "zip": (b"PK\x03\x04\x14\0\0\0" + bytes(99), "application/zip"),
        "zip called PDF": (b"PK\x03\x04\x14\0\0\0" + bytes(99), PDF),
        "gzip file": (gzip.compress(PAGE, mtime=0), "application/gzip"),
        "video": (b"\0\0\0\x18ftypmp42" + bytes(99), "video/mp4"),
    }
    for name, (body, kind) in binaries.items():
        reply = SiteReply(body, kind=kind)
        yield page_case(name, f"no text, sent as {kind}", "unsupported_type", reply)
    script = SiteReply(f"var a = '{MARKER}'".encode(), kind="application/javascript")
    yield page_case("script", "text that is no page", "unsupported_type", script)


def cases() -> tuple[Case, ...]:
    """Return the cases of documents and types."""
    return (*_pdfs(), *_read(), *_unsupported())
