"""Pages in odd and lying charsets, and markup made to choke a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .case import page_case
from .replies import MARKER, PAGE, SiteReply, article

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .case import Case, CaseOutcome

UMLAUTS: Final = "steht der Graureiher über dem Flüßchen"
_GERMAN: Final = article(UMLAUTS)
_KANJI: Final = "アオサギが浅瀬で待つ"
_META: Final = '<meta charset="{}">'


def _charsets() -> Iterator[Case]:
    def page(name: str, does: str, data: bytes, kind: str, text: str = UMLAUTS) -> Case:
        return page_case(f"charset: {name}", does, "read", SiteReply(data, kind=kind), text=text)

    html = "text/html"
    yield page("none named", "UTF-8, and nobody says so", _GERMAN.encode(), html)
    yield page(
        "Latin-1 named",
        "as the header says",
        _GERMAN.encode("latin-1"),
        "text/html; charset=ISO-8859-1",
    )
    yield page("Latin-1 unnamed", "no charset anywhere", _GERMAN.encode("latin-1"), html)
    yield page(
        "header lies",
        "UTF-8 under the name Latin-1",
        _GERMAN.encode(),
        "text/html; charset=iso-8859-1",
    )
    yield page(
        "header lies the other way",
        "Latin-1 under the name UTF-8",
        _GERMAN.encode("latin-1"),
        "text/html; charset=utf-8",
    )
    yield page(
        "meta lies",
        "UTF-8 with another charset in meta",
        article(UMLAUTS, head=_META.format("shift_jis")).encode(),
        html,
    )
    yield page(
        "meta alone",
        "Shift JIS, named in meta",
        article(_KANJI, head=_META.format("shift_jis")).encode("shift_jis"),
        html,
        _KANJI,
    )
    yield page(
        "header alone",
        "EUC-JP, named in the header",
        article(_KANJI).encode("euc_jp"),
        "text/html; charset=EUC-JP",
        _KANJI,
    )
    yield page("UTF-16 with a mark", "as Windows writes it", _GERMAN.encode("utf-16"), html)
    yield page(
        "UTF-16 without a mark",
        "zeros between the letters",
        _GERMAN.encode("utf-16-le"),
        "text/html; charset=utf-16le",
    )
    yield page("UTF-16 unnamed", "zeros and no name", _GERMAN.encode("utf-16-be"), html)
    yield page("mark before UTF-8", "a byte order mark", _GERMAN.encode("utf-8-sig"), html)
    yield page(
        "unknown name",
        "a charset that nobody knows",
        _GERMAN.encode(),
        "text/html; charset=klingon",
    )
    yield page(
        "a codec that is no charset",
        "the name of one of Python's own codecs",
        _GERMAN.encode(),
        "text/html; charset=rot13",
    )
    yield page(
        "quotes and blanks",
        "an untidy header",
        _GERMAN.encode("cp1252"),
        'text/html ;charset = "windows-1252" ; x',
    )
    yield page(
        "broken characters",
        "UTF-8 with a few bytes that are not",
        PAGE.replace(b"On the bank", b"On \xff\xfe\xc3 the bank"),
        html,
        MARKER,
    )
    yield page(
        "lone surrogates",
        "half characters in UTF-8 and as references",
        PAGE.replace(b"On the bank", b"On \xed\xa0\x80 &#xD800; &#55357; the bank"),
        html,
        MARKER,
    )
    yield page(
        "control characters",
        "zeros and escapes in the text",
        PAGE.replace(b"On the bank", b"On \x1b[31m\x07 &#0; &#1; the bank"),
        html,
        MARKER,
    )
    yield page_case(
        "charset: UTF-7",
        "a script in a charset that filters overlook",
        "read",
        SiteReply(
            PAGE.replace(b"On the", b"+ADw-script+AD4-evil()+ADw-/script+AD4- On the"),
            kind="text/html; charset=utf-7",
        ),
        not_text="<script>",
    )


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
    refused: CaseOutcome = "extraction_failed"

    def flood(
        name: str, does: str, body: bytes, outcome: CaseOutcome = refused, **more: str
    ) -> Case:
        return page_case(name, does, outcome, SiteReply(body), **more)

    bomb = PAGE.replace(b"<!doctype html>", _BOMB.encode())
    outside = PAGE.replace(b"<!doctype html>", _OUTSIDE.encode())
    yield flood("attribute flood", "100,000 attributes in a tag", _flood(100_000))
    yield flood("attribute flood, close together", "no blanks between", _flood(100_000, between=""))
    yield flood("attribute flood, slashes", "slashes between", _flood(100_000, "a{}", "/"))
    yield flood("attribute flood, brackets", "with > in quotes", _flood(60_000, 'a{}=">"'))
    yield flood("blanks in a tag", "a million blanks", _flood(2, between=" " * 1_000_000), "read")
    yield flood(
        "one long attribute", "2 MB in quotes", _flood(1, 'a{}="' + "x" * 2_000_000 + '"'), "read"
    )
    yield flood("tag flood", "a million elements", PAGE + b"<b>x</b>" * 1_000_000)
    yield flood("open tags", "200,000 paragraphs never closed", PAGE + b"<p>x" * 200_000, "read")
    yield flood("angle brackets", "two million of them", PAGE + b"<" * 2_000_000)
    yield flood(
        "deep nesting",
        "200,000 divisions in one another",
        _nested("div", 200_000),
        "read",
        text="Home",
    )
    yield flood(
        "deep tables",
        "5,000 tables in one another",
        _nested("table><tr><td", 5_000),
        "read",
        text="Home",
    )
    yield flood(
        "entity bomb", "ten to the ninth of them", bomb.replace(b"On the", b"&e9; On the"), "read"
    )
    yield flood(
        "outer entity",
        "an entity that names an address",
        outside.replace(b"On the", b"&x; On the"),
        "read",
    )
    yield flood("endless comment", "never closed", PAGE + b"<!--" + b" - " * 500_000, "read")
    yield flood("endless script", "never closed", PAGE + b"<script>" + b"a<b;" * 500_000, "read")
    yield flood("a long word", "3 MB without a blank", PAGE + b"<p>" + b"x" * 3_000_000, "read")


def cases() -> tuple[Case, ...]:
    """Return the cases of characters and markup."""
    return (*_charsets(), *_markup())
