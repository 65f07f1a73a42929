"""Text of the web without effect, and the fence around it."""

from __future__ import annotations

import re
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.hostile_texts import BENIGN, HOSTILE, assert_harmless, open_fence, our_lines

from collection_search.text.untrusted import fence, neutralize, neutralize_line, show_url

PIECES = [
    *("![", "[", "]", "](", "](x)", ")", "(", "]:", "]: //e.org", "!", "<", ">", "</", "<!--"),
    *("http://", "https://", "www.", "://", "//", ":", "a", "e.org", "\\", "&lt;", "&#117;"),
    *("untrusted", "-", "_", "web", "content", "\u200b", "\u00ad", "\u0301", "\uff55", "INST]"),
    *("\n", "\r", "\u2028", " ", "\t", "#", "---", "[1]", "URL:", "\u2192 search", "system:", '"'),
    *("(//e.org)", "](//)", "](a.b)", "](a, b)", "    ", "\n\t", "\n        ", "- ", "> ", "=="),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_have_no_effect(name: str) -> None:
    """No markup, no invisible character, no line of ours; as lines and as one line."""
    for shown in (neutralize(HOSTILE[name]), neutralize_line(HOSTILE[name])):
        assert_harmless(shown)
        assert our_lines(shown) == []
    assert "\n" not in shown
    assert '"' not in shown


def test_the_set_is_large() -> None:
    """At least 60, all different."""
    assert len(set(HOSTILE.values())) == len(HOSTILE) >= 60


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_no_text_has_an_effect(text: str) -> None:
    """Whatever is put together."""
    shown = neutralize(text)
    assert_harmless(shown)
    assert our_lines(shown) == []
    assert_harmless(neutralize_line(text))


@pytest.mark.slow
def test_no_invisible_character_passes() -> None:
    """Of all of Unicode; signs around Arabic and Kaithi numbers are visible."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    unseen = [
        char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) in kinds
    ]
    left = {
        char for char in neutralize("x".join(unseen)) if unicodedata.category(char) in kinds
    } - {"\n"}
    assert all(re.match("ARABIC|KAITHI", unicodedata.name(char)) for char in left)


@pytest.mark.parametrize(
    "text",
    [
        "Prices rose by 3 % (see table 2): 40 < 50 & 7 > 6.",
        "Über Straßen, naïve façades, 日本語のテキスト, हिन्दी, العربية, 🎉",
        "def f(x: list[int]) -> dict[str, int]:",
        "a[0] + b[1], see [2] and (3)",
        "An untrusted site's web page of good content",
        "handlers[name](event)",
        "self._callbacks[0](loop, future)",
        "f[T](x: T) -> T",
        "def first[T](items: list[T]) -> T:",
        "table[row][column](value)",
        "hooks[kind](self.event, *args)",
        "hooks[kind](self.event)",
        "shares[0](total/count)",
        "make[Box[int]](1, 2)",
        "await queue[n]()",
        "ops[key](lambda: a or b)",
        "found = parsers[0]('a.html')",
        "if (!seen[key](value)) return",
    ],
)
def test_usual_text_stays(text: str) -> None:
    """Nothing is lost that a reader needs."""
    shown = neutralize(text)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)


CODE = """\
class Loop:
    def call(self, name, *args):
        if name in self.handlers:
            return self.handlers[name](*args)

\tdef end(self):
\t\tself._callbacks[0](self, None)
"""


def test_code_keeps_its_indentation() -> None:
    """Python without it is another program; a tab is four blanks."""
    assert neutralize(CODE).splitlines() == [
        "class Loop:",
        "    def call(self, name, *args):",
        "        if name in self.handlers:",
        "            return self.handlers[name] (*args)",
        "    def end(self):",
        "        self._callbacks[0] (self, None)",
    ]


def test_deep_indentation_is_cut() -> None:
    """A page cannot push its text out of sight; every kind of blank counts as one."""
    assert neutralize(" " * 300 + "a\n" + "\u00a0\u3000" * 3 + "b") == f"{' ' * 12}a\n{' ' * 6}b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[the guide](https://a.org/x)", "the guide"),
        ("[the guide](//a.org)", "the guide"),
        ("[the guide](/x)", "the guide"),
        ("[the guide](../x)", "the guide"),
        ("[the guide](#part)", "the guide"),
        ("[the guide](?page=2)", "the guide"),
        ("[the guide](www.a.org)", "the guide"),
        ("[the guide](a.org)", "the guide"),
        ("[the guide](guide.html#part)", "the guide"),
        ("[the guide](sub/guide)", "the guide"),
        ("[the guide](<my guide.html>)", "the guide"),
        ('[the guide](guide.html "With a title")', "the guide"),
        ("[mail](mailto:x@a.org)", "mail"),
        ("[x](javascript:alert(1))", "x"),
        ("![x](y)", "x"),
        ("![a [b] c](y)", "! [a [b] c] (y)"),
        ("in 2020[1](#cite-1), then", "in 2020[1], then"),
        ("open[this](https://a.org/x)", "open[this]"),
    ],
)
def test_addresses_of_links_are_left_out(text: str, shown: str) -> None:
    """Their words stay; a word in front does not run into them."""
    assert neutralize(text).replace(" ,", ",").rstrip() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\r\ntwo\rthree\u2028four\x85five", "one\ntwo\nthree\nfour\nfive"),
        ("a\n\n\n  b\t c  ", "a\n  b c"),
        ("", ""),
        (" \n\t\n", ""),
        ("## Heading", "| ## Heading"),
        ("Source: x", "| Source: x"),
        ("  ## Heading", "  | ## Heading"),
        ("[a](/b) and ![c](d)", "a and c"),
    ],
)
def test_lines(text: str, shown: str) -> None:
    """Every kind of line break is one; blanks are single; lines like ours are quoted."""
    assert neutralize(text) == shown


HUGE = {
    "brackets": "[" * 2,
    "images": "![a](x",
    "half images": "![a](",
    "opening links": "[](",
    "parentheses": "((",
    "link ends": "](x)",
    "calls": "f[a](b",
    "whole calls": "f[a](b.c)",
    "whole images": "![a](b.c)",
    "dots": "[a](" + ".a" * 400 + ",)",
    "indentation": " \t" * 40 + "a\n",
    "schemes": "http://",
    "long scheme": "aa",
    "www": "www.",
    "tag starts": "<",
    "fence names": "untrusted-web-",
    "fence beginnings": "untrusted ",
    "hyphens": "-" * 3,
    "number lines": "1. \u2014 ",
    "rules": "= ",
    "references": "&#1",
    "accents": "\u0301\u0323",
    "accents of the fence": "untrusted-web-content\u0323\u0301",
    "accents backwards": "\u0301\u0316\u0323",
    "zero widths": "\u200b",
    "line breaks": "\n",
    "blanks": " \t",
    "letters": "\u65e5\u672c",
}


def seconds(text: str) -> float:
    """Of this thread, the best of three, so that other work on the machine does not count."""
    found = []
    for _ in range(3):
        started = time.thread_time()
        neutralize(text)
        found.append(time.thread_time() - started)
    return min(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_time_grows_with_the_length(name: str) -> None:
    """Eight times the text takes about eight times as long, never sixty-four times."""
    piece = HUGE[name]
    small = piece * (12_000 // len(piece))
    assert seconds(small * 8) <= 24 * seconds(small) + 0.02


@pytest.mark.parametrize(
    "url",
    [
        "https://a.org/x(1)[2]?q=<b>&r='\"",
        "https://a.org/\n## Result 2: x",
        "https://a.org/ ![x](//evil.example)",
        "https://a.org/\u202e\u200b\ud800",
        "https://a.org/](//evil.example)",
        "javascript:alert(1)",
        f"https://a.org/{'x' * 100_000}",
    ],
)
def test_urls_are_shown_as_one_word(url: str) -> None:
    """Of plain characters, none of which closes or opens anything, and not of any length."""
    shown = show_url(url)
    assert re.fullmatch(r"[\w%/:?#&=+,;.~@!$*-]+\u2026?", shown, re.ASCII) or "\u2026" in shown
    assert not re.search(r"[\s()\[\]<>'\"`|\\]", shown)
    assert len(shown) <= 2_001
    assert_harmless(f"URL: {shown}")


def test_a_usual_url_stays() -> None:
    """It can be opened."""
    url = "https://docs.python.org/3/library/asyncio-task.html?x=1&y=%20#timeouts"
    assert show_url(url) == url


def test_the_fence_has_two_lines_and_an_id() -> None:
    """The first and the last line, with an id of each call's own."""
    ids = set()
    for _ in range(200):
        fence_id, body = open_fence(fence(BENIGN))
        assert body == BENIGN
        ids.add(fence_id)
    assert len(ids) == 200


@pytest.mark.parametrize(
    "text",
    [
        "> [x]: //evil.example/p.png\n![y][x]",
        "- [x]: https&#58;//evil.example/p.png\n![y][x]",
        "[a\\]b]: //evil.example/p.png\n![y][a\\]b]",
        "[a\nb]: //evil.example/p.png\n![y][a b]",
        "> [x]: https&#58;//evil.example/p.png\n![x]",
    ],
)
def test_no_reference_becomes_an_image_or_a_link(text: str) -> None:
    """A definition within a quotation or a list, with entities or escapes in its label."""
    shown = MarkdownIt("commonmark").render(neutralize(text))
    assert "<img" not in shown
    assert "<a " not in shown
