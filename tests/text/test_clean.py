# ruff: noqa: RUF001 - letters in disguise are what is tested
import re
import sys
import time
import unicodedata

import pytest

from collection_search.errors import InvalidQueryError
from collection_search.text.clean import (
    MAX_QUERY_CHARS,
    chunk_spans,
    clean_chat_text,
    clean_snippet,
    excerpt,
    normalize_query,
)

EVERY_CHARACTER = "".join(map(chr, range(sys.maxunicode + 1)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("py\u200bthon\ufeff \u202easyncio\u2069", "python asyncio"),
        ("soft\u00adhyphen", "softhyphen"),
        ("  python  ", "python"),
        ("python \t\r\n\u00a0\u3000 asyncio", "python asyncio"),
        ("python\x00\x1b asyncio\ud800", "python asyncio"),
        ("aktuelle Entwicklungen KI-Regulierung", "aktuelle Entwicklungen KI-Regulierung"),
        ("Ｆｕｌｌｗｉｄｔｈ： stays", "Ｆｕｌｌｗｉｄｔｈ： stays"),
    ],
)
def test_query_is_cleaned(given, expected):
    """Invisible characters go, white space is trimmed and collapsed, the rest stays as it is."""
    assert normalize_query(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("  Why?\n", "Why?"),
        ("?", "?"),
        ("\n \n    if x:\r\n        y\n\n\nWhy?\n\n", "    if x:\n        y\n\n\nWhy?"),
        ("a\x00\x1b[31m\tb\x85c\ud800", "a[31m\tb\nc"),
        ("\U0001f468\u200d\U0001f469 \u200fshalom", "\U0001f468\u200d\U0001f469 \u200fshalom"),
        (" \n\u200b\x00", ""),
    ],
)
def test_a_chat_keeps_its_lines(given, expected):
    """Control characters and blanks around it go; joined emoji stay joined."""
    assert clean_chat_text(given) == expected
    assert clean_chat_text(expected) == expected


@pytest.mark.slow
def test_exactly_the_invisible_categories_are_removed():
    """Cf, Cs and Cc but white space go from a query, as this Python's Unicode has them."""
    size = MAX_QUERY_CHARS - 1
    starts = range(0, len(EVERY_CHARACTER), size)
    kept = {c for n in starts for c in normalize_query(f"a{EVERY_CHARACTER[n : n + size]}")}
    unseen, others = set(), set()
    for char in EVERY_CHARACTER:
        if not char.isspace():
            (unseen if unicodedata.category(char) in {"Cf", "Cs", "Cc"} else others).add(char)
    assert not unseen & kept
    assert {unicodedata.category(char) for char in others - kept} <= {"Cn"}


@pytest.mark.parametrize(
    "query",
    [
        "python asyncio site:docs.python.org", "site:docs.python.org asyncio", "asyncio -site:pypi.org",
        "(site:a.org OR site:b.org) asyncio", 'filetype:pdf "attention is all you need"',
        "site: python", "inurl:login admin", '"site:" operator', '"site:" operator ""',
        "C++", "C#", ".NET", "R", "5", "-40", "-40 °C", "--help", "12:30", "2010..2020", "1+1",
        "what is site reliability", "note: buy milk", "note : buy milk", "website: how to", "foo:bar",
        "sites:", "https://example.com/a?b=1", "site.com", "localhost:8080", "std::vector", "a:b:c",
        "AND gate", "NOT NULL", "to be or not to be", "and/or usage", "AT&T", "OR-Tools", "android",
        "not-found", "'exact'", "don't", "#python", "@rust", "!important", "snake_case",
        "日本語", "کتاب", "সাহিত্য", "emoji 🦀", "🦀", "∞", "Ünïcödé", "日本語：意味",
    ],
)  # fmt: skip
def test_real_queries_are_accepted(query):
    """A query with a plain word is a query, whatever else it holds."""
    assert normalize_query(query) == query


@pytest.mark.parametrize(
    "query",
    [
        # empty
        "", " ", "\t\n\u00a0", "\u200b", "\u2060\ufeff", "\x00", "\ud800", "\u3164", "\u2800", "\ufe0f",
        # operators without and with a value
        "site:", "site: ", "site :", "site\t:", "filetype:", "intitle:", "allinurl:", "site:example.com",
        "site:a.com site:b.com", "filetype:pdf inurl:x", "site: filetype:", 'site:"example.com"',
        'intitle:"two words"', "site:(a.com OR b.com)", "site:a.com|site:b.com", "before:2020",
        # negated
        "-site:", "-site:a.com", "+site:a.com", "~site:a", "—site:a.com", "−site:a.com", "-word",
        '-"two words"', '-intitle:"two words"', "NOT site:a.com",
        # boolean words and signs
        "AND", "or", "Not", "AND OR NOT", "site:a.com OR site:b.com", "|", "||", "&", "&&", "+", "-",
        "- -", "*", "AROUND(3)", "AND|OR",
        # quotes, brackets, punctuation
        '""', "''", '" "', "“”", "«»", '"site:"', '"site:a.com"', "“site:a.com”", "'site:'", '"AND"',
        "()", "( )", "(site:a.com)", "(AND)", "[site:a.com]", "{}", "...", "?!", "、。",
        # disguises
        "SITE:", "SiTe:a.com", "site：", "site：a.com", "ｓｉｔｅ：", "ＳＩＴＥ：a.com", "𝐬𝐢𝐭𝐞:a.com", "ﬁletype:pdf",
        "ſite:", "site﹕", "si\u200bte:", "\u202esite:", "site\u00ad:", "si\x00te:", "s\u034fite:",
        "site\ufe0f:", "\u3164site:", "si\ud800te:", "ＡＮＤ", "｜", "＂＂",
    ],
)  # fmt: skip
def test_operator_only_queries_are_refused(query):
    """Without a plain word there is nothing to search for, however the operators are dressed."""
    with pytest.raises(InvalidQueryError, match="add a word"):
        normalize_query(query)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ""),
        ("", ""),
        ("Use <b>async</b>io", "Use asyncio"),
        ('<span class="searchmatch">Queue</span>s', "Queues"),
        ("<STRONG>a</STRONG>", "a"),
        ("one<br>two<br/>three<p>four</p>", "one two three four"),
        ('<a title="x > y" href=z>link</a>', "link"),
        ("<p lang=it's>text", "text"),
        ("before<!-- comment -->after", "before after"),
        # tags first, then entities, once
        ("&lt;b&gt;bold&lt;/b&gt;", "<b>bold</b>"),
        ("&amp;lt;", "&lt;"),
        ("<b>&quot;a&quot; &amp; b&#39;s</b>", '"a" & b\'s'),
        # white space and what nobody sees
        ("a&nbsp;b \u00a0\n\t c", "a b c"),
        ("a&#8203;b&shy;c\u200d\x07d\ud800", "abcd"),
        ("&#" + "1" * 5000 + ";&#x" + "f" * 5000, "\ufffd\ufffd"),
        # what is no tag
        ("a < b and c > d", "a < b and c > d"),
        ("a<b and c>d", "a<b and c>d"),
        ("list<int>, Map<K, V>", "list<int>, Map<K, V>"),
        ("1 <2", "1 <2"),
        ("<", "<"),
    ],
)
def test_snippet_is_cleaned(given, expected):
    """Tags go, entities are decoded once, white space collapses, comparisons stay."""
    assert clean_snippet(given) == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("  two\n words ", 240, "two words"),
        ("one two three", 12, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two, three", 9, "one two…"),
        ("abcdefghij", 5, "abcd…"),
        ("a bcdefghijklmnop", 10, "a bcdefgh…"),
        ("ab", 1, "…"),
        ("", 1, ""),
    ],
)
def test_excerpt(text, limit, expected):
    """The cut is at a word where one ends in the second half, and shows."""
    assert excerpt(text, limit) == expected


def test_excerpt_has_240_characters_unless_told():
    """The specified length of a snippet made from content is the default."""
    assert len(excerpt("x" * 1000)) == 240


def chunks(text, **options):
    return [text[start:end] for start, end in chunk_spans(text, **options)]


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("", 10, []),
        (" \n ", 10, []),
        ("  short  ", 10, ["short"]),
        ("One. Two\n\nthree four five.", 15, ["One. Two", "three four", "five."]),
        ("One two. Three four", 16, ["One two.", "Three four"]),
        ("He said “no.” Then he left.", 20, ["He said “no.”", "Then he left."]),
        ("one two\nthree four", 14, ["one two", "three four"]),
        ("one two three", 10, ["one two", "three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("你好世界。再见世界", 6, ["你好世界。", "再见世界"]),
        ("他说「你好。」然后走了", 9, ["他说「你好。」", "然后走了"]),
        ("राम आया। सीता गई", 11, ["राम आया।", "सीता गई"]),
        ("هل جاء؟ نعم جاء", 10, ["هل جاء؟", "نعم جاء"]),
        ("a" + " " * 50 + "b", 5, ["a", "b"]),
        ("v1.2.3 is out", 8, ["v1.2.3", "is out"]),
        ("ab", 1, ["a", "b"]),
    ],
)
def test_chunks_end_at_the_best_border(text, size, expected):
    """Paragraph before sentence before line before word, and a cut only where there is none."""
    assert chunks(text, size=size, overlap=0) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("First one. Two. Third one. Four.", ["First one. Two.", "Two. Third one.", "Four."]),
        (
            "one two three four five six seven",
            ["one two three four", "four five six seven"],
        ),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnopqrst", "klmnopqrstuvwxyz"]),
    ],
)
def test_chunks_overlap(text, expected):
    """The next chunk repeats whole sentences, else words, else characters."""
    assert chunks(text, size=20, overlap=10) == expected


def test_sizes_below_one_are_refused():
    """A length of nothing is the caller's mistake."""
    with pytest.raises(ValueError, match="1 or more"):
        chunk_spans("text", size=0)
    with pytest.raises(ValueError, match="1 or more"):
        excerpt("text", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        " ", "a", "-", "- ", '"', "( ", "site:", "site ", 'site:"', "site:(", 'site:" ', "or ", "allin",
        ' -"', "around(1", "\u200b", "\u200ba", "a\u0301\u0316", "\ufdfa", "：", "site：", "\x00", "ﬁ",
        "<", "<a", "<a =", "<a ='\"", '<a "x" ', "<b>", "<!--", "<!-- -", "&", "&#1", "&lt;", "&notit",
        "\n", "\n ", ". ", "。", "a b. ",
    ],
)  # fmt: skip
def test_time_is_linear(part):
    """A hostile text of 400 kB takes a moment in each function, not minutes."""
    hostile = part * (400_000 // len(part.encode()))
    begin = time.process_time()
    clean_snippet(hostile)
    clean_chat_text(hostile)
    excerpt(hostile)
    chunk_spans(hostile)
    try:
        normalize_query(hostile)
    except InvalidQueryError:
        assert len(hostile) > MAX_QUERY_CHARS or not re.search("a b", hostile)
    assert time.process_time() - begin < 15
