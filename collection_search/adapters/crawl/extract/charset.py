"""The decoding of a page: its bytes, its server and its head may name different charsets."""

from __future__ import annotations

import codecs
import re
from typing import Final

CHARSETS: Final = frozenset(
    (
        *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{part}" for part in (*range(2, 9), 10, *range(13, 17))),
        *("ascii", "big5", "big5hkscs", "euc_jis_2004", "euc_jp", "euc_kr", "gb18030", "gbk"),
        *("iso2022_jp", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman"),
        *("utf-8", "utf-16", "utf-16-be", "utf-16-le"),
    )
)
"""Names of codecs that pages may use. UTF-7 hides markup from filters and is not among them."""

_SAME: Final = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gbk",
    "shift_jis": "cp932",
}
"""What browsers read in place of a charset."""
_ALIASES: Final = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
}
"""Names on the web that Python does not know."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META = re.compile(rb"<meta[^<>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)
_DECLARATION = re.compile(
    rb"\s*+<\?xml\s[^<>]{0,200}?\bencoding\s*=\s*[\"']\s*([\w:.-]{1,40})", re.IGNORECASE
)
_HEAD: Final = 4096
_SECOND_MEANING: Final = frozenset({"iso2022_jp", "utf-16-le", "utf-16-be"})
"""Their texts are valid UTF-8 as well, with another meaning."""


def decode_page(data: bytes, charset: str | None = None) -> str:
    """Return the text of the bytes; `charset` is the server's, which is used only if it fits.

    A byte order mark decides first, then whether the bytes are UTF-8, then the server's charset,
    then the page's own by a `meta` element or by its XML declaration, and last Western European.
    Decoding never fails.

    >>> decode_page("Größe".encode("cp1252")), decode_page("Größe".encode(), "iso-8859-1")
    ('Größe', 'Größe')
    """
    named = known_charset(charset)
    certain = _by_zeros(data) or (named if named in _SECOND_MEANING else None)
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data.decode(codec, "replace")
    if certain:
        return data.decode(certain, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _not_utf8(data, named)


def known_charset(name: str | None) -> str | None:
    """Return the codec for a charset's name, or None for one that no page may use.

    >>> known_charset(" ISO-8859-1 "), known_charset("utf-7"), known_charset("rot13")
    ('cp1252', None, None)
    """
    name = (name or "").strip(" \t\"'").lower()
    try:
        codec = codecs.lookup(_ALIASES.get(name, name)).name
    except (LookupError, ValueError):  # unknown, or a name with a NUL in it
        return None
    codec = _SAME.get(codec, codec)
    return codec if codec in CHARSETS else None


def to_utf8(head: bytes) -> bytes:
    """Return the beginning of a document, converted to UTF-8 if it is UTF-16."""
    utf16 = "utf-16" if head[:2] in {b"\xff\xfe", b"\xfe\xff"} else _by_zeros(head)
    return head.decode(utf16, "ignore").encode("utf-8", "ignore") if utf16 else head


def _not_utf8(data: bytes, named: str | None) -> str:
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if len(text) - len(text.encode("ascii", "ignore")) > 5 * broken:  # a few bytes are damaged
        return text
    own = (_META.search(data, 0, _HEAD), _DECLARATION.match(data, 0, _HEAD))
    for codec in (named, *(known_charset(found[1].decode()) for found in own if found)):
        if codec and codec != "utf-8":
            text = data.decode(codec, "replace")
            if 100 * text.count("\ufffd") <= len(text):
                return text
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _by_zeros(data: bytes) -> str | None:
    """Return the byte order of UTF-16, found by the NULs between Latin letters, or None."""
    head = data[:512]
    pairs = len(head) // 2
    high, low = head[0::2].count(0), head[1::2].count(0)
    if pairs < 8 or min(high, low) * 20 > pairs or max(high, low) * 2 < pairs:  # noqa: PLR2004
        return None
    return "utf-16-be" if high > low else "utf-16-le"
