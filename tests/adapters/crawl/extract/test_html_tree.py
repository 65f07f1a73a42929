"""The tree of a page, however deep and however small the page is."""

from __future__ import annotations

import time

import pytest

from collection_search.adapters.crawl.extract.extracted import EmptyDocumentError
from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.html_tree import parse_page
from collection_search.testing.hostile_site.replies import article


@pytest.mark.parametrize(
    "page",
    [
        "<div><p>The heron waits.</p></div>",
        "<article><h1>Herons</h1>The heron waits.</article>",
        "<p>The heron waits.",
        "The heron waits.",
        "<!doctype html>\n<html lang='en'/>\n<body><p>The heron waits.</p></body>",
        "<p>The heron\x01 waits.\ufffe</p>",
    ],
)
def test_a_page_of_one_element_is_read(page: str) -> None:
    """Also without the tags that begin and end a page."""
    assert "The heron waits." in extract(page.encode(), "page.html").text


def test_a_page_without_an_element_is_empty() -> None:
    with pytest.raises(EmptyDocumentError):
        parse_page("<!-- nothing -->")


@pytest.mark.parametrize("unclosed", ["<font size=2>", "<b>", "<div>", "<div class='x'>"])
@pytest.mark.parametrize("number", [200, 900])
def test_a_page_whose_elements_are_never_closed_is_read_whole(unclosed: str, number: int) -> None:
    """Each paragraph is within all those before."""
    body = "".join(f"{unclosed}<p>The heron of lake {n} waits." for n in range(number))
    text = extract(f"<html><body>{body}</body></html>".encode(), "page.html").text
    assert all(f"lake {n} waits" in text for n in range(number))


def test_hidden_parts_of_a_deep_page_are_not_read() -> None:
    """Tags that may hide something are not taken out to make it shallow."""
    body = "<b>" * 300 + "<p>The heron waits.<b style='display:none'>secret</b>"
    assert extract(f"<html><body>{body}".encode(), "page.html").text == "The heron waits."


@pytest.mark.slow
@pytest.mark.parametrize(
    "deep", ["<div>" * 100_000, "<table><tr><td>" * 30_000, "<div id='root'>" * 100_000]
)
def test_a_page_of_endless_depth_ends_early(deep: str) -> None:
    """What comes before is read, in time by the size of the page."""
    start = time.process_time()
    page = article().replace("</main>", f"</main>{deep}")
    assert "their nests lie high" in extract(page.encode(), "page.html").text
    assert time.process_time() - start < 20


@pytest.mark.slow
def test_wide_and_deep_pages_take_linear_time() -> None:
    """A step over all ancestors of each of the elements would take a minute."""
    start = time.process_time()
    wide = "".join(f"<p>The heron of lake {n} waits.</p>" for n in range(20_000))
    text = extract(f"<html><body>{'<div>' * 1_900}{wide}".encode(), "page.html").text
    assert "lake 19999 waits" in text
    assert time.process_time() - start < 20
