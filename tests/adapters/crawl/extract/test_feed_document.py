"""Feeds of RSS and Atom are documents of their entries."""

from __future__ import annotations

import time

import pytest

from collection_search.adapters.crawl.extract.extracted import EmptyDocumentError
from collection_search.adapters.crawl.extract.feed_document import ENTRIES
from collection_search.adapters.crawl.extract.formats import extract
from collection_search.errors import ExtractionError

ENTRY = "<item><title>Herons</title><description>&lt;p&gt;They wade.&lt;/p&gt;</description></item>"


def rss(items: str, before: str = '<?xml version="1.0" encoding="utf-8"?>', title: str = "") -> str:
    return (
        f"{before}<rss version='2.0' xmlns:content='http://purl.org/rss/1.0/modules/content/'"
        f" xmlns:media='http://search.yahoo.com/mrss/'><channel><title>{title or 'Birds'}</title>"
        f"{items}</channel></rss>"
    )


def atom(entries: str) -> str:
    return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>Birds</title>{entries}</feed>"


def text_of(feed: str) -> str:
    return extract(feed.encode(), "page.html").text


def test_a_feed_of_rss_has_its_entries_in_order() -> None:
    """Title, address, date and text of each; markup is escaped or stands in a section."""
    found = extract(
        rss(
            "<item><title>Grey &amp; white</title><link>https://a.org/1</link>"
            "<pubDate>Mon, 1 Jan 2024</pubDate><description>&lt;p&gt;It came.&lt;/p&gt;</description>"
            "</item><item><description><![CDATA[<p>It <b>left</b></p>]]></description></item>"
        ).encode(),
        "page.html",
    )
    assert found.title == "Birds"
    assert found.text == (
        "# Birds\n\n## Grey & white\nhttps://a.org/1\nMon, 1 Jan 2024\nIt came.\n\nIt left"
    )


def test_a_feed_of_atom_says_what_its_texts_are() -> None:
    """Escaped markup, elements, or plain text, in which a bracket is one."""
    text = text_of(
        atom(
            "<entry><title type='html'>A &lt;b&gt;heron&lt;/b&gt;</title>"
            "<link rel='self' href='https://a.org/self'/><link href='https://a.org/1'/>"
            "<updated>2024-01-01</updated><summary>Short</summary>"
            "<content type='html'>&lt;p&gt;It came.&lt;/p&gt;&lt;p&gt;It left.&lt;/p&gt;</content>"
            "</entry><entry><title>Its &lt;nest&gt;</title><content type='xhtml'>"
            "<div xmlns='http://www.w3.org/1999/xhtml'><p>High</p><p>up</p></div></content></entry>"
            "<entry><title>Sizes</title><content type='text'>1 &lt; 2</content></entry>"
            "<entry><title>Picture</title><content type='image/png'>AAAA</content></entry>"
        )
    )
    assert text == (
        "# Birds\n\n## A heron\nhttps://a.org/1\n2024-01-01\nIt came.\nIt left."
        "\n\n## Its <nest>\nHigh\nup\n\n## Sizes\n1 < 2\n\n## Picture"
    )


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ("<item><description>short</description><content:encoded>all</content:encoded></item>", "all"),
        ("<item><media:content><media:title>no</media:title></media:content></item>" + ENTRY,
         "## Herons\nThey wade."),
        ("<item><title>It&nbsp;is &eacute;t&eacute;</title></item>", "## It is été"),
        ("<item><description>&lt;h2&gt;Nests&lt;/h2&gt;high</description></item>", "#### Nests\nhigh"),
        ("<item><description>&lt;p hidden&gt;no&lt;/p&gt;seen</description></item>", "seen"),
        ("<item><link>javascript:x()</link><description>words</description></item>", "words"),
        ("<item><title>cut", "## cut"),
    ],
)  # fmt: skip
def test_entries(items: str, text: str) -> None:
    assert text_of(rss(items)) == f"# Birds\n\n{text}"


def test_a_feed_of_rss_1_has_its_entries_beside_the_channel() -> None:
    root = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'>"
    items = "<item><title>Herons</title><description>They wade.</description></item>"
    text = text_of(f"{root}<channel><title>Birds</title></channel>{items}</rdf:RDF>")
    assert text == "# Birds\n\n## Herons\nThey wade."


def test_a_feed_in_another_charset_names_it_itself() -> None:
    feed = rss("<item><title>Цапля</title></item>", '<?xml version="1.0" encoding="windows-1251"?>')
    assert "Цапля" in extract(feed.encode("cp1251"), "page.html").text


def test_a_feed_without_entries_is_empty() -> None:
    with pytest.raises(EmptyDocumentError):
        text_of(rss(""))


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE rss [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>",
        "<!doctype rss [<!ENTITY e 'ha'><!ENTITY f '&e;&e;&e;&e;'>]>",
        "<!DOCTYPE rss SYSTEM 'http://127.0.0.1:1/' [<!ENTITY % p SYSTEM 'http://127.0.0.1:1/'> %p;]>",
    ],
)
def test_a_feed_that_declares_entities_is_refused(doctype: str) -> None:
    """They would be texts from elsewhere, or a small feed that becomes a large one."""
    with pytest.raises(ExtractionError, match="declares entities"):
        text_of(rss(ENTRY, doctype))


@pytest.mark.parametrize(
    "feed",
    [
        rss(ENTRY, "<!DOCTYPE rss SYSTEM 'file:///etc/passwd'>"),
        rss(ENTRY, "<!DOCTYPE rss PUBLIC '-//Netscape//DTD RSS 0.91//EN' 'http://127.0.0.1:1/'>"),
    ],
)
def test_a_document_type_elsewhere_is_not_looked_at(feed: str) -> None:
    assert text_of(feed) == "# Birds\n\n## Herons\nThey wade."


def test_entities_within_a_feed_are_not_declared() -> None:
    """A document type has its place before the feed, and is ignored elsewhere."""
    late = rss("<!DOCTYPE rss [<!ENTITY e 'secret'>]><item><title>It &e; waits</title></item>")
    assert "secret" not in text_of(late)


def test_the_number_of_entries_is_bounded() -> None:
    many = rss("".join(f"<item><title>Heron {n}.</title></item>" for n in range(ENTRIES + 5)))
    text = text_of(many)
    assert f"Heron {ENTRIES - 1}." in text
    assert f"Heron {ENTRIES}." not in text


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<b>", "&lt;b&gt;", "&amp;lt;", "<![CDATA[<div>]]>", "&a;"])
def test_feeds_take_linear_time(piece: str) -> None:
    """Also deep ones, and those whose entries are deep pages."""
    start = time.process_time()
    feed = rss(f"{ENTRY}<item><description>{piece * 100_000}</description></item>")
    assert "They wade." in text_of(feed)
    assert time.process_time() - start < 20


def test_a_tag_with_thousands_of_attributes_is_refused() -> None:
    """In the feed itself and in what an entry holds."""
    tag = f"<p {' '.join(f'a{n}=1' for n in range(3000))}>"
    for content in (tag, tag.replace("<", "&lt;"), f"<![CDATA[{tag}]]>"):
        with pytest.raises(ExtractionError, match="attributes"):
            text_of(rss(f"<item><description>{content}</description></item>"))
