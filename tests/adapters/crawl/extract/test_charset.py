"""The characters of a page, whoever lies about them."""

from __future__ import annotations

import codecs

import pytest

from collection_search.adapters.crawl.extract.charset import (
    CHARSETS,
    decode_page,
    known_charset,
    to_utf8,
)

GERMAN = "Der Graureiher steht über dem Flüßchen und wartet, bis die Strömung nachläßt."
KANJI = "アオサギが浅瀬で待つ"


@pytest.mark.parametrize("named", [None, "utf-8", "iso-8859-1", "shift_jis", "klingon", "utf-7"])
def test_utf8_is_read_as_such_whatever_the_server_says(named: str | None) -> None:
    assert decode_page(f"{GERMAN} {KANJI}".encode(), named) == f"{GERMAN} {KANJI}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ISO-8859-1", GERMAN), ("windows-1252", GERMAN), ("ISO-8859-15", GERMAN),
        ("EUC-JP", KANJI), ("Shift_JIS", KANJI), ("x-sjis", KANJI), ("iso-2022-jp", KANJI),
        ("koi8-r", "Цапля стоит в воде"), ("windows-1251", "Цапля стоит в воде"),
        ("gb2312", "苍鹭站在水里"), ("gb18030", "苍鹭站在水里"), ("big5", "蒼鷺站在水裡"),
        ("euc-kr", "왜가리가 물에 서 있다"), ("windows-874", "นกกระสา"),
    ],
)  # fmt: skip
def test_other_charsets_are_read_by_the_servers_word(name: str, text: str) -> None:
    codec = known_charset(name)
    assert codec is not None
    assert decode_page(text.encode(codec), name) == text


def test_the_page_itself_is_asked_where_the_server_is_silent_or_wrong() -> None:
    page = f'<meta charset="euc-jp"><p>{KANJI}</p>'.encode("euc_jp")
    assert KANJI in decode_page(page)
    assert KANJI in decode_page(page, "utf-8")


@pytest.mark.parametrize(
    ("declaration", "codec"),
    [
        ('<?xml version="1.0" encoding="windows-1251"?>', "cp1251"),
        ("\n<?xml version='1.0' encoding = 'KOI8-R' standalone='yes'?>", "koi8-r"),
    ],
)
def test_an_xml_declaration_names_the_charset(declaration: str, codec: str) -> None:
    """It has the last word: the server's charset and a `meta` element come before it."""
    words = "Цапля стоит в воде"
    assert words in decode_page(f"{declaration}<html><p>{words}".encode(codec))
    page = f"{declaration}<html><meta charset='windows-1253'><p>ερωδιός περιμένει"
    assert "ερωδιός" in decode_page(page.encode("cp1253"))
    assert "ερωδιός" in decode_page(f"{declaration}<p>ερωδιός".encode("cp1253"), "windows-1253")


def test_no_charset_is_taken_from_other_attributes_and_places() -> None:
    for before in ('<?xml coding="koi8-r"?>', '<p>x</p><?xml version="1.0" encoding="koi8-r"?>'):
        assert decode_page(f"{before}{GERMAN}".encode("cp1252")).endswith(GERMAN)


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_marks_and_zeros_give_utf16_away(codec: str) -> None:
    assert decode_page(GERMAN.encode(codec)) == GERMAN
    assert to_utf8(f"<html>{GERMAN}".encode(codec))[-40:] == GERMAN.encode()[-40:]


def test_a_few_damaged_bytes_cost_no_more_than_themselves() -> None:
    damaged = f"{GERMAN * 9} ".encode() + b"\xff\xfe" + GERMAN.encode()
    assert decode_page(damaged).replace("\ufffd", "") == f"{GERMAN * 9} {GERMAN}"


@pytest.mark.parametrize(
    "name", ["", "utf-7", "rot13", "base64", "unicode_escape", "idna", "a\0b", "x" * 9999, None]
)
def test_what_is_no_charset_of_pages_is_not_used(name: str | None) -> None:
    assert known_charset(name) is None
    assert decode_page(b"+ADw-script+AD4- \\x41", name) == "+ADw-script+AD4- \\x41"


def test_every_charset_is_a_codec_of_python_under_its_own_name() -> None:
    assert {codecs.lookup(name).name for name in CHARSETS} == CHARSETS


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xfe", b"\xff\xfea", bytes(range(256)) * 9])
@pytest.mark.parametrize("name", [None, "utf-16", "utf-16le", "iso-2022-jp", "big5"])
def test_reading_never_fails(data: bytes, name: str | None) -> None:
    assert isinstance(decode_page(data, name), str)
    assert isinstance(to_utf8(data), bytes)
