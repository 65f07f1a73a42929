"""Words of texts in many scripts."""

from __future__ import annotations

import pytest

from collection_search.ranking.tokenization import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++ and C# differ from C", ["cpp", "and", "csharp", "differ", "from", "c"]),
        ("page#section", ["page", "section"]),
        ("asyncio.wait_for(x, 2.5)", ["asyncio", "wait", "for", "x", "2", "5"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("\uff26\uff34\uff33\uff15", ["fts5"]),
        ("nai\u0308ve", ["naïve"]),
        ("\U0001f600 \ud800 \x00 -- \"'", []),
        ("\u201cGröße\u201d \u2013 5 € \u2026 don\u2019t", ["grösse", "5", "don", "t"]),
        ("10 µm, x² at łódź", ["10", "μm", "x2", "at", "łódź"]),
        ("ß" * 50 + " " + "ß" * 51 + " a " + "b" * 100, ["s" * 100, "a", "b" * 100]),
        ("a " + "b" * 101 + " " + "я" * 101, ["a"]),
        ("富士山に登る。Python入門", ["富士", "士山", "山に", "に登", "登る", "python", "入門"]),
        ("서울 지하철 길", ["서울", "지하", "하철", "길"]),
        ("ที่นี่มี_กา", ["ที่นี่", "นี่มี", "กา"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("كِتَابٌ \u0640", ["كتاب"]),
        ("茶", ["茶"]),
        ("b" * 101, []),
    ],
)
def test_words(text, expected):
    """Words are folded, identifiers split, C++ and C# kept apart from C, symbols left out."""
    assert words(text) == expected
