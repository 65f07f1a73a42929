"""Pages in odd and lying charsets, and markup made to choke a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .case import page_case, page_cases
from .replies import PAGE, SiteReply, article

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .case import Case

UMLAUTS: Final = "steht der Graureiher über dem Flüßchen"
_GERMAN: Final = article(UMLAUTS)
_KANJI: Final = "アオサギが浅瀬で待つ"
_META: Final = '<meta charset="shift_jis">'


def _german() -> Iterator[Case]:
    utf8, latin1 = _GERMAN.encode(), _GERMAN.encode("latin-1")
    untidy, utf16 = _GERMAN.encode("cp1252"), _GERMAN.encode("utf-16-le")
    meta = article(UMLAUTS, head=_META).encode()
    pages = {
        "none named": ("UTF-8, and nobody says so", utf8, ""),
        "Latin-1 named": ("as the header says", latin1, "; charset=ISO-8859-1"),
        "Latin-1 unnamed": ("no charset anywhere", latin1, ""),
        "header lies": ("UTF-8 under the name Latin-1", utf8, "; charset=iso-8859-1"),
        "header lies the other way": ("Latin-1 under the name UTF-8", latin1, "; charset=utf-8"),
        "meta lies": ("UTF-8 with another charset in meta", meta, ""),
        "UTF-16 with a mark": ("as Windows writes it", _GERMAN.encode("utf-16"), ""),
        "UTF-16 without a mark": ("zeros between the letters", utf16, "; charset=utf-16le"),
        "UTF-16 unnamed": ("zeros and no name", _GERMAN.encode("utf-16-be"), ""),
        "mark before UTF-8": ("a byte order mark", _GERMAN.encode("utf-8-sig"), ""),
        "unknown name": ("a charset that nobody knows", utf8, "; charset=klingon"),
        "a codec that is no charset": ("a name of Python's own codecs", utf8, "; charset=rot13"),
        "quotes and blanks": ("an untidy header", untidy, ' ;charset = "windows-1252" ; x'),
    }
    for name, (does, data, charset) in pages.items():
        reply = SiteReply(data, kind=f"text/html{charset}")
        yield page_case(f"charset: {name}", does, "read", reply, text=UMLAUTS)


def _odd_characters() -> Iterator[Case]:
    meta = article(_KANJI, head=_META).encode("shift_jis")
    header = SiteReply(article(_KANJI).encode("euc_jp"), kind="text/html; charset=EUC-JP")
    kanji = {
        "charset: meta alone": ("Shift JIS, named in meta", SiteReply(meta, kind="text/html")),
        "charset: header alone": ("EUC-JP, named in the header", header),
    }
    yield from page_cases("read", kanji, text=_KANJI)
    surrogates = b"\xed\xa0\x80 &#xD800; &#55357;"
    inserted = {
        "broken characters": ("UTF-8 with a few bytes that are not", b"\xff\xfe\xc3"),
        "lone surrogates": ("half characters in UTF-8 and as references", surrogates),
        "control characters": ("zeros and escapes in the text", b"\x1b[31m\x07 &#0; &#1;"),
    }
    for name, (does, characters) in inserted.items():
        data = PAGE.replace(b"On the bank", b"On %s the bank" % characters)
        yield page_case(f"charset: {name}", does, "read", SiteReply(data, kind="text/html"))
    script = PAGE.replace(b"On the", b"+ADw-script+AD4-evil()+ADw-/script+AD4- On the")
    utf7 = SiteReply(script, kind="text/html; charset=utf-7")
    does = "a script in a charset that filters overlook"
    yield page_case("charset: UTF-7", does, "read", utf7, not_text="<script>")


def _flood(attributes: int, form: str = 'a{}="1"', between: str = " ") -> bytes:
    text = between.join(form.format(n) for n in range(attributes))
    return PAGE.replace(b"<main>", f"<main {text}>".encode())


def _nested(tag: str, depth: int) -> bytes:
    return PAGE.replace(b"<main>", f"<{tag}>".encode() * depth + b"<main>")


_ENTITIES: Final = "".join(
    f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)
)  # the billion laughs
_BOMB: Final = f'<!DOCTYPE html [<!ENTITY e0 "ha">{_ENTITIES}]>'
_OUTSIDE: Final = '<!DOCTYPE html [<!ENTITY x SYSTEM "http://127.0.0.1:1/">]>'


def _markup() -> Iterator[Case]:
    bomb = PAGE.replace(b"<!doctype html>", _BOMB.encode()).replace(b"On the", b"&e9; On the")
    outside = PAGE.replace(b"<!doctype html>", _OUTSIDE.encode())
    outside = outside.replace(b"On the", b"&x; On the")
    long_attribute = _flood(1, 'a{}="' + "x" * 2_000_000 + '"')
    refused = {
        "attribute flood": ("100,000 attributes in a tag", _flood(100_000)),
        "attribute flood, close together": ("no blanks between", _flood(100_000, between="")),
        "attribute flood, slashes": ("slashes between", _flood(100_000, "a{}", "/")),
        "attribute flood, brackets": ("with > in quotes", _flood(60_000, 'a{}=">"')),
        "tag flood": ("a million elements", PAGE + b"<b>x</b>" * 1_000_000),
        "angle brackets": ("two million of them", PAGE + b"<" * 2_000_000),
    }
    read = {
        "blanks in a tag": ("a million blanks", _flood(2, between=" " * 1_000_000)),
        "one long attribute": ("2 MB in quotes", long_attribute),
        "open tags": ("200,000 paragraphs never closed", PAGE + b"<p>x" * 200_000),
        "entity bomb": ("ten to the ninth of them", bomb),
        "outer entity": ("an entity that names an address", outside),
        "endless comment": ("never closed", PAGE + b"<!--" + b" - " * 500_000),
        "endless script": ("never closed", PAGE + b"<script>" + b"a<b;" * 500_000),
        "a long word": ("3 MB without a blank", PAGE + b"<p>" + b"x" * 3_000_000),
    }
    nested = {
        "deep nesting": ("200,000 divisions in one another", _nested("div", 200_000)),
        "deep tables": ("5,000 tables in one another", _nested("table><tr><td", 5_000)),
    }
    yield from page_cases("extraction_failed", refused)
    yield from page_cases("read", read)
    yield from page_cases("read", nested, text="Home")


def cases() -> tuple[Case, ...]:
    """Return the cases of characters and markup."""
    return (*_german(), *_odd_characters(), *_markup())
