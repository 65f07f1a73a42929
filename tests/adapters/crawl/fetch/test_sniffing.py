"""The kind of an answer: its bytes first, its header second, its name last."""

from __future__ import annotations

import functools
import gzip

import pytest

from collection_search.adapters.crawl.fetch.sniffing import charset_in, sniff_page

packed = functools.partial(gzip.compress, mtime=0)


@pytest.mark.parametrize(
    ("head", "declared", "path", "kind"),
    [
        (b"<!DOCTYPE html><p>", "image/png", "/x.png", "html"),
        (b"\xef\xbb\xbf\n <HTML>", "", "/", "html"),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC", "text/xml", "/", "html"),
        ("<html><body>".encode("utf-16-le"), "text/html", "/", "html"),
        (b"<div>part of a page", "", "/", "html"),
        (b"<div>part of a page", "text/plain", "/", "text"),
        (b"just words", "text/html", "/", "html"),
        (b"<p>about %PDF-1.7", "text/html", "/", "html"),
        (b"%PDF-1.7\n\x80", "text/html", "/x.html", "pdf"),
        (b"junk\n%PDF-1.4", "application/pdf", "/", "pdf"),
        (b"just words", "", "/", "text"),
        (b"just words", "application/pdf", "/x.pdf", "text"),
        (b'{"a": 1}', "application/json", "/", "text"),
        (b"# Title", "text/plain", "/readme.md", "markdown"),
        (b"# Title", "text/markdown", "/", "markdown"),
        (b"Title\n=====", "", "/index.rst", "rst"),
        (b"<?xml version='1.0'?><urlset>", "text/plain", "/", "xml"),
        (b"<urlset xmlns='x'>", "", "/sitemap.xml", "xml"),
        (packed(b"x"), "text/html", "/", "gzip"),
        (b"\x89PNG\r\n\x1a\n\0\0", "text/html", "/", None),
        (b"\0\0\0\x18ftypmp42", "video/mp4", "/", None),
        (b"PK\x03\x04\x14", "text/html", "/", None),
        (b"body { color: red }", "text/css", "/", None),
        (b"alert(1)", "text/javascript", "/", None),
        (b"<!doctype html>", "text/css", "/", "html"),
        ("日本語".encode("iso2022_jp"), "text/plain", "/", "text"),
    ],
)
def test_kinds(head, declared, path, kind):
    assert sniff_page(head, declared, path) == kind


@pytest.mark.parametrize(
    ("header", "charset"),
    [
        ("text/html", None),
        ('text/html; Charset="UTF-8"', "utf-8"),
        ("text/html; charset=latin1", "cp1252"),
        ("text/html; charset=utf-7", None),
        ("text/html; charset=rot13", None),
        ("text/html; charset=", None),
    ],
)
def test_charsets(header, charset):
    assert charset_in(header) == charset
