"""Title and text of HTML pages."""

from __future__ import annotations

import pytest

from collection_search.adapters.crawl.extract.formats import extract, sniff
from collection_search.adapters.crawl.fetch.sniffing import sniff_page
from collection_search.errors import ExtractionError
from collection_search.testing.hostile_site.replies import MARKER, article


@pytest.mark.parametrize(
    "page",
    [
        article().replace("<html>", "<html>\0", 1),
        "\0" + article(),
        article().replace("<title>", "<title>\0"),
        article().replace("the heron", "the\0 heron"),
        article().replace("<!doctype html>\n<html><head>", "<head>\0").replace("</html>", ""),
    ],
)
def test_a_page_with_a_nul_is_read(page: str) -> None:
    """Wherever it stands: browsers ignore it, and the parser would end there."""
    body = page.encode()
    assert sniff_page(body, "text/html") == sniff(body, "page.html") == "html"
    found = extract(body, "page.html")
    assert MARKER in found.text
    assert "their nests lie high" in found.text
    assert found.title == "Herons"


@pytest.mark.parametrize(
    "data", [b"\0" * 50, b"<p>" + b"\0ab" * 50, b"GIF89a\0<html>", b"<p>\0\0\0\0"]
)
def test_a_binary_file_is_still_refused(data: bytes) -> None:
    """Whatever the site calls it."""
    assert sniff_page(data, "text/html") is None
    with pytest.raises(ExtractionError, match="neither text nor PDF"):
        extract(data, "page.html")


def test_soft_hyphens_are_no_part_of_words() -> None:
    """They only say where a word may be divided."""
    page = article("the Donau\xaddampf\xadschiff").encode()
    assert "the Donaudampfschiff" in extract(page, "page.html").text


@pytest.mark.parametrize(
    "header",
    [
        "<thead><tr><th>Ship</th><th>Year</th></tr></thead>",
        "<thead><tr><td>Ship</td><td>Year</td></tr></thead>",
        "<tr><th>Ship</th><th>Year</th></tr>",
        "<tr><td><b>Ship</b></td><td><strong>Year</strong></td></tr>",
    ],
)
def test_a_rule_follows_the_header_of_a_table(header: str) -> None:
    """Names of rows make none."""
    rows = "<tr><th>Vasa</th><td>1628</td></tr><tr><th>Mars</th><td>1564</td></tr>"
    for page in (article(more=f"<table>{header}{rows}</table>"), f"<html><table>{header}{rows}"):
        lines = [line.strip() for line in extract(page.encode(), "page.html").text.splitlines()]
        at = lines.index("| Ship | Year |")
        assert lines[at + 1 : at + 4] == ["|---|---|", "| Vasa | 1628 |", "| Mars | 1564 |"]


def test_a_long_page_without_an_article_has_all_of_its_lines() -> None:
    """Lines are read as far as they decide; a page whose lines are its text has all of them."""
    links = "".join(f"<li><a href='/{n}'>Topic number {n}</a></li>" for n in range(400))
    page = f"<html><head><title>Topics</title></head><body><ul>{links}</ul></body></html>"
    text = extract(page.encode(), "page.html").text
    assert "Topic number 0" in text
    assert "Topic number 399" in text
