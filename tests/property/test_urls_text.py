# ruff: noqa: RUF001 - letters in disguise are what is tested
import itertools
import re
import unicodedata
from urllib.parse import parse_qsl, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collection_search.errors import InvalidQueryError, InvalidUrlError
from collection_search.text.clean import chunk_spans, clean_snippet, excerpt, normalize_query
from collection_search.text.urls import TRACKING_NAMES, is_pdf, normalize_url, url_key

TEXTS = st.text(st.characters(), max_size=40)

PIECES = st.sampled_from(
    [
        "%", "%4", "%41", "%2e", "%2F", "%7e", "%c3%a4", "%e4", "4", "1", "a", "Z", ".", "..", "ä",
        " ", "+", "~", "[", "|", "<", "utm_", "gclid", ";", ":", "@", "!", "index.html", "\\",
    ]
)  # fmt: skip
PARTS = st.lists(PIECES, max_size=6).map("".join)
PATHS = st.lists(PARTS, max_size=5).map(lambda parts: "".join(f"/{part}" for part in parts))
QUERIES = st.lists(
    st.tuples(PARTS, st.none() | PARTS).map(lambda p: p[0] if p[1] is None else "=".join(p)),
    max_size=5,
).map("&".join)
HOSTS = st.sampled_from(
    [
        "example.com",
        "WWW.Example.com",
        "bücher.de",
        "a.b.",
        "[2001:DB8::1]",
        "192.0.2.7",
        "en.m.wikipedia.org",
    ]
)
PORTS = st.sampled_from(["", ":", ":80", ":0443", ":8080"])
FRAGMENTS = st.sampled_from(["", "#", "#top", "#/route", "#!%7e", "#/%4%31/"])
URLS = st.builds(
    "{}://{}{}{}?{}{}".format,
    st.sampled_from(["http", "HTTPS"]),
    HOSTS,
    PORTS,
    PATHS,
    QUERIES,
    FRAGMENTS,
)

USUAL_PIECES = st.sampled_from(
    ["docs", "A", "index.html", ".", "..", "_", "~", "!", "*", "(", "'", "@", ":", ";jsessionid=1", "[", "=", ",", "%7e"]
)  # fmt: skip
USUAL_PARTS = st.lists(USUAL_PIECES, max_size=3).map("".join)
USUAL_HOSTS = st.sampled_from(
    ["example.com", "www.example.com", "docs.m.wikipedia.org", "x.0x1", "1.2.3", "a..b", "a_b.c1",
     "example.com.", "localhost", "a" * 64 + ".de", "a." * 126 + "de", "a." * 127 + "de"]
)  # fmt: skip
USUAL_QUERIES = st.lists(
    st.sampled_from(["b=1", "a=2", "b=0", "utm_id=1", "_ga=1", "", "a", "c=/?"]), max_size=4
).map("&".join)
USUAL_URLS = st.builds(
    "{}{}{}{}".format,
    USUAL_HOSTS,
    st.lists(USUAL_PARTS, max_size=4).map(lambda parts: "".join(f"/{part}" for part in parts)),
    st.just("") | USUAL_QUERIES.map("?{}".format),
    FRAGMENTS,
)

OPERATORS = st.sampled_from(
    [
        "site:", "site:example.com", "-site:example.com", "SITE：x", 'intitle:"two words"', "filetype:pdf",
        "(site:a.com OR site:b.com)", '"site:a.com"', "AND", "or", "NOT", "|", "&", "-", "+", "*", "()",
        "-word", '-"two words"', "...", "site :",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    ["python", "C++", "日本語", "note:", "12:30", "🦀", "website:", "x_y", "-40"]
)
INVISIBLE = st.sampled_from(["\u200b", "\u00ad", "\u2060", "\x00", "\ud800", "\U000e0041"])

MARKUP = st.lists(
    st.sampled_from(
        [
            "<",
            ">",
            "<b>",
            "</b>",
            "<br/>",
            '<a href="',
            '">',
            "=",
            "'",
            "&",
            "&lt;",
            "&#",
            "&#x",
            "1",
            "<!--",
            "-->",
            " ",
        ]
    )
    | TEXTS
).map("".join)
PROSE = st.lists(
    st.sampled_from(
        ["word", "a", "Sentence.", "x" * 30, " ", "\n", "\n\n", "  \n \n", "。", ".", "”", "\u3000"]
    )
    | st.text(max_size=3),
    max_size=60,
).map("".join)


@pytest.mark.slow
@given(TEXTS | st.builds("http{}".format, TEXTS) | st.builds("https://{}".format, TEXTS))
def test_any_text_is_a_url_or_one_typed_error(text):
    """No text raises anything but InvalidUrlError, and what is accepted is plain ASCII."""
    assert is_pdf(text) in {True, False}
    try:
        url = normalize_url(text)
    except InvalidUrlError:
        return
    assert re.fullmatch(r"https?://[!-~]+", url)
    assert normalize_url(url) == url
    assert url_key(text)


@pytest.mark.slow
@given(URLS)
def test_normalizing_twice_changes_nothing(url):
    """The normal form is its own normal form and, without a fragment, has the same key."""
    normal = normalize_url(url)
    assert normalize_url(normal) == normal
    page = url.partition("#")[0].strip()
    assert url_key(normalize_url(page)) == url_key(page)


@pytest.mark.slow
@given(USUAL_URLS)
def test_the_usual_url_is_read_like_any_other(url):
    """Lower case is what most URLs are written in; the scheme's case changes nothing else."""
    for read in (normalize_url, url_key):
        usual, other = (_outcome(read, f"{scheme}://{url}") for scheme in ("https", "HTTPS"))
        assert usual == other


def _outcome(read, url):
    try:
        return read(url)
    except InvalidUrlError as error:
        return str(error)


@pytest.mark.slow
@given(PATHS, QUERIES)
def test_a_server_reads_the_same_path_and_parameters(path, query):
    """Decoded segments and the values of each name are what they were, but for tracking."""
    segments = [unquote_to_bytes(segment) for segment in path.split("/")]
    normal_path, _, normal_query = normalize_url(f"https://e.com{path}?{query}#")[13:].partition(
        "?"
    )
    if not {b".", b".."} & set(segments):
        assert [unquote_to_bytes(segment) for segment in (normal_path or "/").split("/")] == (
            segments if path else [b"", b""]
        )
    assert _values(normal_query) == {
        name: values
        for name, values in _values(query).items()
        if not name.startswith("utm_") and name not in TRACKING_NAMES
    }


def _values(query):
    values = {}
    for name, value in parse_qsl(query, keep_blank_values=True, errors="surrogateescape"):
        values.setdefault(name, []).append(value)
    return values


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("123"), min_size=1)),
    st.randoms(),
)
def test_order_of_names_does_not_matter(values, random):
    """Any order of the names gives one normal form, as long as each name's values keep theirs."""
    parameters = [[f"{name}={value}" for value in values[name]] for name in values]
    expected = normalize_url("https://e.com/?" + "&".join(itertools.chain(*parameters)))
    queues = [list(group) for group in parameters]
    mixed = []
    while any(queues):
        mixed.append(random.choice([queue for queue in queues if queue]).pop(0))
    assert normalize_url("https://e.com/?" + "&".join(mixed)) == expected


@pytest.mark.slow
@given(TEXTS | st.lists(OPERATORS | WORDS | TEXTS).map(" ".join))
def test_any_text_is_a_query_or_one_typed_error(text):
    """No text raises anything but InvalidQueryError, and a clean query is clean."""
    try:
        query = normalize_query(text)
    except InvalidQueryError:
        return
    assert normalize_query(query) == query
    assert query == " ".join(query.split()) != ""
    assert not {"Cf", "Cc", "Cs"} & {unicodedata.category(char) for char in query}


@pytest.mark.slow
@given(st.lists(OPERATORS), st.lists(OPERATORS), WORDS, INVISIBLE, st.data())
def test_one_plain_word_makes_a_query(before, after, word, invisible, data):
    """Operators alone are refused, with one word they pass, and hidden characters change nothing."""
    for parts, is_query in (([*before, *after], False), ([*before, word, *after], True)):
        text = " ".join(parts)
        place = data.draw(st.integers(0, len(text)))
        for disguised in (text, text[:place] + invisible + text[place:]):
            try:
                accepted = bool(normalize_query(disguised))
            except InvalidQueryError:
                accepted = False
            assert accepted is is_query


@pytest.mark.slow
@given(MARKUP)
def test_a_clean_snippet_is_one_visible_line(markup):
    """Whatever the markup, what is left is one line without control characters."""
    text = clean_snippet(markup)
    assert text == " ".join(text.split())
    assert not {"Cf", "Cc", "Cs"} & {unicodedata.category(char) for char in text}
    assert "<b>" not in text or "&" in markup


@pytest.mark.slow
@given(st.text(st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="&")))
def test_plain_text_passes_a_snippet_unchanged(text):
    """Without markup only white space changes."""
    assert clean_snippet(text) == " ".join(text.split())


@pytest.mark.slow
@given(PROSE, st.integers(1, 80))
def test_an_excerpt_is_a_short_beginning(text, limit):
    """An excerpt is within its limit, a prefix, and marked exactly when something is missing."""
    line = " ".join(text.split())
    short = excerpt(text, limit)
    assert len(short) <= limit
    if len(line) <= limit:
        assert short == line
    else:
        assert short[-1] == "…"
        assert line.startswith(short[:-1])


@pytest.mark.slow
@given(PROSE, st.integers(1, 60), st.integers(0, 60))
def test_chunks_cover_the_text(text, size, overlap):
    """Spans are in bounds, trimmed, in order, overlap as allowed and leave out blanks only."""
    spans = chunk_spans(text, size=size, overlap=overlap)
    covered = 0
    for start, end in spans:
        assert 0 < end - start <= size
        assert text[start:end] == text[start:end].strip()
        assert not text[covered:start].strip()
        assert covered - start <= min(overlap, size // 2)
        covered = end
    assert not text[covered:].strip()
    for (start, end), (next_start, next_end) in itertools.pairwise(spans):
        assert start < next_start
        assert end < next_end
