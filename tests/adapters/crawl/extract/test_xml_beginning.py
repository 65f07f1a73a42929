"""What XML is, by its first element."""

from __future__ import annotations

import time

import pytest

from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.extract.xml_beginning import xml_kind
from collection_search.errors import ExtractionError

DECLARATION = '<?xml version="1.0"?>\n'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<rss version='2.0'>", "feed"),
        (f"\ufeff{DECLARATION}<?xml-stylesheet href='a.xsl'?><!-- - -- --><feed>", "feed"),
        (f"{DECLARATION}<rdf:RDF xmlns='x'>", "feed"),
        ("<!DOCTYPE rss SYSTEM 'a.dtd'><rss>", "feed"),
        ("<!DOCTYPE rss [<!ENTITY a 'b'>]><rss>", "feed"),
        (f"{DECLARATION}<svg>", "other"),
        ("<sitemapindex>", "other"),
        (f"{DECLARATION}<div xmlns='http://www.w3.org/1999/xhtml'>", None),
        ("<svg>", None),
        ("<p>An <rss> feed", None),
        ("", None),
    ],
)
def test_kinds(text: str, kind: str | None) -> None:
    assert xml_kind(text) == kind


def test_a_sitemap_is_no_page() -> None:
    """It is read where the pages of a site are looked for."""
    page = f"{DECLARATION}<urlset><url><loc>https://a.org/</loc></url></urlset>"
    with pytest.raises(ExtractionError, match="XHTML, RSS and Atom"):
        extract(page.encode(), "page.html")


@pytest.mark.parametrize("piece", ["<!--", "<!-- -", "<?", "<!DOCTYPE ", "<!-- --> ", " ", "<?a>"])
def test_beginnings_are_read_in_linear_time(piece: str) -> None:
    start = time.process_time()
    xml_kind(piece * 500_000)
    assert time.process_time() - start < 20
