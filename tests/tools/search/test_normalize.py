"""From rows to results: cleaning, dropping, de-duplication, PDF marks."""

import datetime as dt
import time
from types import SimpleNamespace
from typing import Any

import pytest

from collection_search.contracts.search import ProviderSearchResult, SearchResult
from collection_search.tools.search.normalize import deduplicate, valid_results

GOOD: dict[str, Any] = {"url": "https://example.com/a", "title": "T", "snippet": "S"}


def results_of(*given: Any) -> list[SearchResult]:
    return valid_results(given, provider="fake", dropped=lambda _: None)


def one(**fields: Any) -> SearchResult:
    (result,) = results_of(GOOD | fields)
    return result


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "https://example.com/a"),
        ("title", "T"),
        ("snippet", "S"),
        ("source", "site"),
        ("score", 0.5),
        ("is_pdf", True),
    ],
)
@pytest.mark.parametrize("form", [dict, SimpleNamespace, ProviderSearchResult])
def test_search_result_field(form, name, value):
    """Each field of a result, from a mapping, from any object and from the provider's class."""
    row = form(**GOOD, source="site", score=0.5, content_type="application/pdf")
    (result,) = results_of(row)
    assert getattr(result, name) == value
    assert set(result.model_dump()) == {"url", "title", "snippet", "source", "score", "is_pdf"}


def test_what_travels_with_the_object_only():
    """Content, content type and date stay out of the dump."""
    result = one(content=" text ", content_type="text/html", published_date="2025-01-15")
    assert (result.content, result.content_type) == ("text", "text/html")
    assert result.published_date == "2025-01-15"


@pytest.mark.parametrize(
    ("given", "date"),
    [
        ("Tue, 03 Mar 2026 09:00:00 GMT", "2026-03-03T09:00:00+00:00"),
        ("March 3, 2026", "2026-03-03"),
        (dt.date(2026, 3, 3), "2026-03-03"),
        (dt.datetime(2026, 3, 3, 9), "2026-03-03T09:00:00+00:00"),  # noqa: DTZ001 - as hosts do
        ("3 days ago", "2026-11-18"),
        ("in spring", "in spring"),
        (" ", None),
        (7, None),
    ],
)
def test_a_date_becomes_iso_8601(given, date):
    """Whatever form an adapter of one's own gives it; a text that is none stays as it is."""
    (result,) = valid_results(
        [GOOD | {"published_date": given}],
        provider="fake",
        dropped=lambda _: None,
        today=lambda: dt.date(2026, 11, 21),
    )
    assert result.published_date == date


def test_url_normalisation_example():
    """The documented example: tracking, case, order and fragment."""
    url = "https://Example.COM/page?utm_source=fb&b=2&a=1#section"
    assert one(url=url).url == "https://example.com/page?a=1&b=2"


@pytest.mark.parametrize(
    "name",
    ["utm_source", "utm_x", "gclid", "fbclid", "igshid", "msclkid", "mc_eid", "vero_conv",
     "vero_id", "yclid"],
)  # fmt: skip
def test_tracking_parameters_are_removed_and_do_not_make_another_page(name):
    """Two rows that differ by a tracking parameter are one result."""
    found = deduplicate(results_of(GOOD, GOOD | {"url": f"{GOOD['url']}?{name}=1"}))
    assert [result.url for result in found] == ["https://example.com/a"]


def test_html_is_cleaned():
    """Tags go, entities are decoded once, white space is folded."""
    result = one(title="<b>R&amp;D</b>\n news", snippet="a <strong>b</strong>&nbsp;&lt;c&gt;")
    assert (result.title, result.snippet) == ("R&D news", "a b <c>")


def test_every_text_can_be_stored():
    """Broken surrogates and NUL, which JSON or a database would refuse, are taken out."""
    result = one(title="a\ud800", content="b\ud800c\0", published_date="\ud800", source="s\udfff")
    texts = [result.title, result.content, result.published_date, result.source]
    assert texts == ["a?", "b?c", "?", "s?"]


@pytest.mark.parametrize(
    ("url", "content_type", "is_pdf"),
    [
        ("https://example.com/a.pdf", None, True),
        ("https://example.com/A.PDF?download=1", None, True),
        ("https://example.com/a", "application/pdf", True),
        ("https://example.com/a", "application/x-PDF; q=1", True),
        ("https://example.com/a?file=b.pdf", "text/html", False),
        ("https://example.com/pdf", None, False),
    ],
)
def test_pdf_detection(url, content_type, is_pdf):
    """By the extension of the path or the content type, in any case."""
    assert one(url=url, content_type=content_type).is_pdf is is_pdf


@pytest.mark.parametrize(
    "row",
    [
        GOOD | {"url": url}
        for url in (None, "", 7, "/relative", "ftp://example.com/", "https://u:p@example.com/")
    ]
    + [
        GOOD | {"title": "", "snippet": ""},
        GOOD | {"snippet": "<p></p>"},
        GOOD | {"snippet": None, "content": "  "},
        {},
        None,
        "https://example.com/",
    ],
)
def test_an_invalid_row_is_dropped(row):
    """Without a usable address or without any text a row is no result."""
    dropped: list[dict[str, Any]] = []
    assert valid_results([row], provider="fake", dropped=dropped.append) == []
    assert len(dropped) == 1


@pytest.mark.parametrize("title", [None, "", " ", "<b></b>", 7])
def test_a_missing_title_becomes_host_and_path(title):
    """A page with a text has a title that a person can read."""
    assert one(title=title, url="https://Example.com/docs/").title == "example.com/docs"


def test_an_empty_snippet_becomes_the_start_of_the_content():
    """At most 240 characters of the page's text stand in for the snippet."""
    result = one(snippet=" ", content="word " * 1_000)
    assert result.snippet.startswith("word word")
    assert 230 <= len(result.snippet) <= 240


@pytest.mark.parametrize("source", [None, "", " ", 7])
def test_source_falls_back_to_the_provider(source):
    """A row that names no source comes from the provider."""
    assert one(source=source).source == "fake"


@pytest.mark.parametrize("score", [None, "0.5", True, float("nan"), float("inf"), 10**400])
def test_a_score_that_is_no_number_is_none(score):
    """Only finite numbers are scores."""
    found = one(score=score)
    assert (found.score, found.raw_score) == (None, None)


@pytest.mark.parametrize(
    ("given", "score", "raw_score"),
    [(0, 0.0, None), (1.0, 1.0, None), (17.5, None, 17.5), (-3, None, -3.0)],
)
def test_a_score_on_another_scale_is_kept_apart(given, score, raw_score):
    """A score is comparable from 0 to 1; what the provider said is not lost."""
    found = one(score=given)
    assert (found.score, found.raw_score) == (score, raw_score)


def test_endless_texts_are_cut():
    """A row of megabytes takes neither the run's time nor the state's room."""
    endless = "<b>word</b> &amp; " * 500_000
    started = time.process_time()
    result = one(title=endless, snippet=endless, source=endless, published_date=endless)
    assert time.process_time() - started < 3
    texts = result.title, result.snippet, result.source, result.published_date or ""
    assert [len(text) for text in texts] <= [300, 2_000, 200, 200]
    assert result.title.startswith("word & word")
    assert results_of(GOOD | {"url": "https://example.com/" + "a" * 10_000_000}) == []


def test_the_first_duplicate_wins_and_takes_the_content():
    """The better rank is kept; a text that only a later row has is not lost."""
    found = deduplicate(
        results_of(
            GOOD | {"title": "first"},
            {"url": "https://example.com/b", "title": "other", "snippet": "S"},
            GOOD | {"title": "second", "url": "https://EXAMPLE.com/a?gclid=1#b", "content": "text"},
            GOOD | {"title": "third", "content": "later text"},
        )
    )
    assert [(result.title, result.content) for result in found] == [
        ("first", "text"),
        ("other", None),
    ]


def test_likely_addresses_of_one_page_are_one_if_their_words_are_the_same():
    """Title and snippet decide where only scheme, `www.`, slash or index page differ."""
    same = GOOD | {"url": "http://www.example.com/a/", "content": "text"}
    urls = [GOOD["url"], "https://example.com/a/", "https://example.com/c"]
    found = deduplicate(
        results_of(
            GOOD,
            same,
            GOOD | {"url": urls[1], "title": "Another page"},
            GOOD | {"url": urls[2]},
        )
    )
    assert [result.url for result in found] == urls
    assert [result.content for result in found] == ["text", None, None]
