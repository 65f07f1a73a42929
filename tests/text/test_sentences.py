"""A text becomes sentences, rows and blocks of code; nothing is cut inside a word."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.text.sentences import split_parts

PIECES = st.sampled_from(
    ["One sentence.", "Is it?", "x = 1", "def f(a):", "    return a", ">>> f(1)", "- an item", "| a | b |",
     "Größe", "東京。", "e.g. this", "# Title", "\n", "\n\n", " ", "    ", "\t", "…", "wait(fs)", "a\u0301", "()", "."]
)  # fmt: skip
TEXTS = st.text(max_size=60) | st.lists(PIECES, max_size=16).map("".join)


def parts(text: str) -> list[str]:
    """The parts, with one space between words."""
    return [" ".join(text[part.start : part.end].split()) for part in split_parts(text)]


def code(text: str) -> list[str]:
    """The blocks of code as they stand in the text."""
    return [text[part.start : part.end] for part in split_parts(text) if part.is_code]


@given(text=TEXTS.filter(lambda text: "```" not in text and "~~~" not in text))
def test_every_letter_is_in_one_part(text: str) -> None:
    """Parts follow each other without overlap, and together hold all letters and digits."""
    found = split_parts(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    said = "".join(text[part.start : part.end] for part in found)
    assert [*filter(str.isalnum, said)] == [*filter(str.isalnum, text)]


@given(text=TEXTS)
def test_a_part_begins_and_ends_between_words(text: str) -> None:
    """No part has white space at its ends, and none begins or ends inside a word."""
    for part in split_parts(text):
        assert text[part.start : part.end].strip() == text[part.start : part.end] != ""
        for place in (part.start, part.end):
            around = text[max(place - 1, 0) : place + 1]
            assert len(around) < 2 or not around.isalnum() or not around.isascii()


@given(text=TEXTS)
def test_a_heading_is_an_earlier_part(text: str) -> None:
    """What a part is indended below comes before it."""
    for place, part in enumerate(split_parts(text)):
        assert part.heading is None or 0 <= part.heading < place


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wrapped lines of a paragraph are joined where they\ngo on. Then comes another.",
         ["Wrapped lines of a paragraph are joined where they go on.", "Then comes another."]),
        ("Menu\nHome\nProducts", ["Menu", "Home", "Products"]),
        ("See e.g. the docs, i.e. Dr. Smith's. Done.", ["See e.g. the docs, i.e. Dr. Smith's.", "Done."]),
        ("Das gilt z. B. hier. Und dort.", ["Das gilt z. B. hier.", "Und dort."]),
        ("Version 3.11 is out. It is fast.", ["Version 3.11 is out.", "It is fast."]),
        ("これは一つ。あれは二つ。", ["これは一つ。", "あれは二つ。"]),
        ("یہ ایک ہے۔ وہ دو ہیں۔", ["یہ ایک ہے۔", "وہ دو ہیں۔"]),  # noqa: RUF001
        ("- the first item\n  goes on\n- the second item", ["- the first item goes on", "- the second item"]),
        ("mean      the average\nmedian    the middle", ["mean the average", "median the middle"]),
        ("Problems exist with deep copies that do not exist\nwith shallow copies:",
         ["Problems exist with deep copies that do not exist with shallow copies:"]),
        ("", []),
        ("---\n===", []),
    ],
)  # fmt: skip
def test_prose(text: str, expected: list[str]) -> None:
    """Sentences, items and rows, each whole."""
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use it:\n\n    import copy\n    x = copy.copy(y)\n\nThat is all.", ["import copy\n    x = copy.copy(y)"]),
        (">>> median([1, 3])\n2.0", [">>> median([1, 3])\n2.0"]),
        ("```\nany words at all\nof two lines\n```", ["any words at all\nof two lines"]),
        ("with open(name) as file:\n    # a comment in words\n    use(file)", ["with open(name) as file:\n    # a comment in words\n    use(file)"]),
        ("run(\n    one,\n    two\n)", ["run(\n    one,\n    two\n)"]),
        ("for (;;) {\n  go();\n}\nend();", ["for (;;) {\n  go();\n}\nend();"]),
        ("Call it with care. It may fail.", []),
    ],
)  # fmt: skip
def test_lines_of_code_stay_together(text: str, expected: list[str]) -> None:
    """A block is one part, with its lines as they are."""
    assert code(text) == expected


def test_headings_are_above_what_follows() -> None:
    """By their levels; their mark is no part of them, and code has none."""
    text = "# Tea\nHot.\n\n## Green\nMild.\n\n    # no heading\n    pour()\n\n# Coffee\nStrong."
    found = split_parts(text)
    assert parts(text)[:2] == ["Tea", "Hot."]
    assert [part.level for part in found if part.level] == [1, 2, 1]
    above = {text[part.start : part.end]: part.heading for part in found}
    assert [above[name] for name in ("Tea", "Hot.", "Green", "Mild.", "Coffee", "Strong.")] == [
        *(None, 0, 0, 2, None),
        len(found) - 2,
    ]


def test_a_signature_is_the_heading_of_what_is_indented_below() -> None:
    """So a sentence is known to be about that function."""
    text = "wait(fs)\n    Wait for all. They end.\n\nsleep(delay)\n    Wait so long."
    assert [part.heading for part in split_parts(text)] == [None, 0, 0, None, 3]
