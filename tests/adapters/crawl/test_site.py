"""One site: its sitemaps and its links, bounded and never leaving it."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING

import pytest

from collection_search.adapters.crawl.site import (
    MAX_SITEMAPS,
    Visit,
    crawl_site,
    links_in,
    site_of,
    sitemap_urls,
)
from collection_search.contracts.page import FetchedPage, NotModified, Validators
from collection_search.errors import FetchError, InvalidUrlError

if TYPE_CHECKING:
    from collection_search.contracts.page import PageKind

START = "https://example.com/"


class Pages:
    """A site from a table: text, or `-> address` for a redirect."""

    def __init__(self, *named: str, **pages: str | bytes) -> None:
        self.named = list(named)
        self.pages = {START + name.replace("__", "."): body for name, body in pages.items()}
        self.asked: list[str] = []
        self.sources: list[str | None] = []

    async def sitemaps(self, url: str) -> list[str]:
        return self.named

    async def fetch(
        self,
        url: str,
        *,
        validators: Validators | None = None,
        accept: frozenset[PageKind] = frozenset({"html"}),
        source: str | None = None,
    ) -> FetchedPage | NotModified:
        self.asked.append(url)
        self.sources.append(source)
        final, body = url, self.pages.get(url)
        if isinstance(body, str) and body.startswith("-> "):
            final = body.removeprefix("-> ")
            body = self.pages.get(final, "<p>elsewhere")
        if body is None:
            raise FetchError("not there", reason="gone")
        if isinstance(body, bytes):
            kind: PageKind = "gzip"
        elif "xml" in accept:
            kind = "xml" if "<" in body else "text"
        else:
            kind = "html"
        data = body if isinstance(body, bytes) else body.encode()
        return FetchedPage(url, final, 200, "", kind, None, data, "", 0.0)


def links(*names: str) -> str:
    return "".join(f'<a href="{name}">{name}</a>' for name in names)


async def visits(pages: Pages, start: str = START, **limits: int) -> list[Visit]:
    return [visit async for visit in crawl_site(pages, start, **limits)]


def names(found: list[Visit]) -> list[str]:
    return [visit.url.removeprefix(START) for visit in found if visit.page]


async def test_links_are_followed_as_far_as_asked():
    pages = Pages(
        **{"": links("a", "b", "a#x", "/"), "a": links("c"), "b": "", "c": links("d"), "d": ""}
    )
    assert names(await visits(pages, depth=0)) == [""]
    assert names(await visits(pages, depth=1)) == ["", "a", "b"]
    assert [(visit.url[20:], visit.depth) for visit in await visits(pages, depth=2)] == [
        ("", 0), ("a", 1), ("b", 1), ("c", 2),
    ]  # fmt: skip


async def test_the_number_of_pages_is_bounded():
    pages = Pages(**{"": links(*map(str, range(50)))})
    found = await visits(pages, max_pages=10)
    assert (len(pages.asked), len(found)) == (10, 10)
    assert all(visit.error and visit.error.reason == "gone" for visit in found[1:])


async def test_other_sites_are_not_visited():
    away = links("https://other.org/", "//sub.example.com/", "http://www.example.com/c", "mailto:x")
    pages = Pages(**{"": away + links("moved"), "moved": "-> https://other.org/x"})
    found = await visits(pages)
    assert pages.asked == [START, "http://www.example.com/c", START + "moved"]
    assert [visit.url for visit in found if visit.page] == [START]


async def test_a_start_that_moved_decides_the_site():
    pages = Pages(**{"": links("a"), "a": ""})
    pages.pages["http://old.org/"] = f"-> {START}"
    assert names(await visits(pages, "http://old.org/")) == ["http://old.org/", "a"]


async def test_a_page_under_two_names_is_visited_once():
    pages = Pages(**{"": links("a", "b"), "a": f"-> {START}b", "b": ""})
    assert names(await visits(pages)) == ["", "b"]


async def test_a_start_that_is_no_address():
    with pytest.raises(InvalidUrlError):
        await visits(Pages(), "nowhere")
    with pytest.raises(InvalidUrlError):
        await sitemap_urls(Pages(), "nowhere")


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="b">', ["https://example.com/d/b"]),
        ("<A class=x HREF='/b'>", ["https://example.com/b"]),
        ("<a href=../b?x=1&amp;y=2>", ["https://example.com/b?x=1&y=2"]),
        ('<base href="/e/"><a href="b">', ["https://example.com/e/b"]),
        ('<a href="b" rel="external nofollow">', []),
        ('<a data-href="b">', []),
        ('<a href="pic.PNG"><a href="x.zip?y=1"><a href="javascript:x()"><a href="">', []),
        ('<a href="b"><a href="b#part"><a href="b?utm_source=x">', ["https://example.com/d/b"]),
        ('<abbr href="b">', []),
        ('<a href="http://[::1/">', []),
        ('<a title="a > b" href="b">', ["https://example.com/d/b"]),
        ('<a data-x="1<2" href="b">', ["https://example.com/d/b"]),
        ('<a title="see href=no" href="b">', ["https://example.com/d/b"]),
        ('<a title="rel=nofollow" href="b">', ["https://example.com/d/b"]),
        ('<!-- <a href="no"> --><a href="b">', ["https://example.com/d/b"]),
        ("<script>x = '<a href=\"no\">'</script><a href='b'>", ["https://example.com/d/b"]),
        ('<!-- <base href="/e/"> --><a href="b">', ["https://example.com/d/b"]),
    ],
)
def test_links(html, found):
    assert links_in(html, "https://example.com/d/page") == found


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "<a ", "<a href=", "<a x", '<a href="', "<a rel=", "<base ", "<a href=x rel=a ", "<a =",
        "<a x=\"'", "<a x='\"<a y=\"'", '<a x=" <a y=" ', "<!--", "<script>", "<script ", "<title/>",
        "<style></style>", "</script", "<a>",
    ],
)  # fmt: skip
def test_links_of_hostile_pages_take_linear_time(unit):
    """A pattern that goes back and forth would take minutes for a MB."""
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    for page in (text, f"<a {text}>"):
        links_in(page, START)
    assert time.process_time() - start < 20


def sitemap(*urls: str, tag: str = "urlset") -> str:
    entries = "".join(f"<url><loc> {url} </loc></url>" for url in urls)
    return f'<?xml version="1.0"?><{tag} xmlns="x">{entries}</{tag}>'


async def test_sitemaps():
    pages = Pages(
        sitemap__xml=sitemap(
            START + "a", START + "b?x=1&amp;y=2", "https://other.org/", START + "a#x"
        )
    )
    assert await sitemap_urls(pages, START) == [START + "a", START + "b?x=1&y=2"]


async def test_sitemaps_in_all_forms():
    packed = gzip.compress(sitemap(START + "c").encode())
    pages = Pages(
        START + "index.xml", START + "plain.txt", START + "gone.xml",
        index__xml=sitemap(START + "one.xml", START + "two.gz", START + "index.xml", tag="s:sitemapindex"),
        one__xml=f"<x:loc><![CDATA[{START}b]]></x:loc>",
        two__gz=packed,
        plain__txt=f"{START}a\n\nrubbish\n",
    )  # fmt: skip
    assert sorted(await sitemap_urls(pages, START)) == [START + "a", START + "b", START + "c"]
    assert await sitemap_urls(pages, START, max_urls=2) == [START + "a", START + "b"]


async def test_each_sitemap_is_fetched_once():
    """An index that names one twice costs one request for it."""
    files = {
        "sitemap.xml": sitemap(START + "one.xml", START + "one.xml", tag="sitemapindex"),
        "one.xml": sitemap(START + "a"),
    }
    pages = Pages(**files)
    assert await sitemap_urls(pages, START) == [START + "a"]
    assert pages.asked == [START + "sitemap.xml", START + "one.xml"]


@pytest.mark.parametrize("first", ["empty.xml", "missing.xml"])
async def test_a_sitemap_without_pages_is_no_failure(first: str):
    """Whatever became of the others: one was read."""
    second = ({"empty.xml", "missing.xml"} - {first}).pop()
    pages = Pages(START + first, START + second, **{"empty.xml": sitemap()})
    assert await sitemap_urls(pages, START) == []


async def test_without_any_sitemap():
    with pytest.raises(FetchError, match="not there"):
        await sitemap_urls(Pages(), START)


async def test_endless_indexes_end():
    pages = Pages()
    count = iter(range(10_000))

    async def fetch(url: str, **_: object) -> FetchedPage:
        pages.asked.append(url)
        body = sitemap(*(f"{START}{next(count)}.xml" for _ in range(3)), tag="sitemapindex")
        return FetchedPage(url, url, 200, "", "xml", None, body.encode(), "", 0.0)

    pages.fetch = fetch  # type: ignore[method-assign]
    assert await sitemap_urls(pages, START) == []
    assert len(pages.asked) == MAX_SITEMAPS


@pytest.mark.slow
async def test_a_large_sitemap_loses_nothing():
    urls = [f"{START}{'x' * (number % 50)}{number}" for number in range(9_000)]
    pages = Pages(sitemap__xml=sitemap(*urls))
    assert await sitemap_urls(pages, START, max_urls=10_000) == urls


def test_sites():
    assert site_of("http://www.example.com./a") == site_of("https://EXAMPLE.com:443/")
    assert site_of("http://example.com:8080/") != site_of("http://example.com/")
    assert site_of("http://notexample.com/") != site_of("http://example.com/")


async def test_what_a_page_names_is_asked_in_its_name() -> None:
    """So that it opens nothing that only its operator may ask for."""
    pages = Pages(f"{START}map.xml", **{"": '<a href="/a">', "a": "<p>a", "map.xml": sitemap()})
    async for _ in crawl_site(pages, START):
        pass
    await sitemap_urls(pages, START)
    assert pages.asked == [START, f"{START}a", f"{START}map.xml"]
    assert pages.sources == [None, START, START]
