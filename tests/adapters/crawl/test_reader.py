"""What a page is worth, and where its text comes from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import pytest

from collection_search.adapters.crawl.extract.extracted import Extracted
from collection_search.adapters.crawl.extract.formats import extract
from collection_search.adapters.crawl.reader import ReadPage, WebPageReader
from collection_search.contracts.page import FetchedPage, NotModified, PageKind, Validators
from collection_search.errors import FetchError
from collection_search.testing.hostile_site.file_types import pdf
from collection_search.testing.hostile_site.replies import MARKER, PAGE, article

URL = "https://birds.example.org/herons"
KNOWN = Validators(etag='"1"')


def fetched(body: bytes = PAGE, kind: PageKind = "html", **changes: Any) -> FetchedPage:
    facts: dict[str, Any] = {
        "url": URL, "final_url": URL, "status": 200, "content_type": "text/html", "kind": kind,
        "charset": None, "body": body, "fetched_at": 1_800_000_000.0,
        "validators": KNOWN,
    }  # fmt: skip
    return FetchedPage(**(facts | changes))


@dataclass
class OnePage:
    """A fetcher that has one answer."""

    answer: FetchedPage | NotModified
    asked: list[tuple[str, Validators | None]] = field(default_factory=list)

    async def fetch(
        self, url: str, *, validators: Validators | None = None
    ) -> FetchedPage | NotModified:
        self.asked.append((url, validators))
        return self.answer


class InProcess:
    """An extraction without processes."""

    async def extract(self, body: bytes, *, name: str, charset: str | None = None) -> Extracted:
        return extract(body, name, charset)


async def read(page: FetchedPage | NotModified, **parsers: Any) -> ReadPage | NotModified:
    return await WebPageReader(OnePage(page), InProcess(), parsers=parsers).read(URL)


async def refused(page: FetchedPage, **parsers: Any) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await read(page, **parsers)
    return caught.value


async def test_a_page_is_its_text_and_where_it_came_from() -> None:
    final = "https://birds.example.org/herons/grey"
    page = await read(fetched(final_url=final, status=203))
    assert isinstance(page, ReadPage)
    assert MARKER in page.text
    assert (page.url, page.final_url, page.canonical_url) == (URL, final, None)
    assert (page.title, page.kind, page.is_pdf, page.status) == ("Herons", "html", False, 203)
    assert (page.validators, page.content_hash) == (KNOWN, hashlib.sha256(PAGE).hexdigest())
    assert page.fetched_at == 1_800_000_000.0


async def test_a_pdf_is_marked_as_one() -> None:
    page = await read(fetched(pdf(), "pdf"))
    assert isinstance(page, ReadPage)
    assert (page.text, page.is_pdf) == (MARKER, True)


async def test_a_known_page_that_has_not_changed_is_not_read() -> None:
    same = NotModified(URL, URL, KNOWN, 1.0)
    fetcher = OnePage(same)
    assert await WebPageReader(fetcher, InProcess()).read(URL, validators=KNOWN) is same
    assert fetcher.asked == [(URL, KNOWN)]


@pytest.mark.parametrize(
    ("canonical", "kept"),
    [
        ("https://birds.example.org/Grey-Heron#top", "https://birds.example.org/Grey-Heron"),
        ("https://www.birds.example.org/grey", "https://www.birds.example.org/grey"),
        ("http://birds.example.org/grey", "http://birds.example.org/grey"),
        ("https://fish.example.org/grey", None),
        ("https://birds.example.org.evil.net/", None),
        ("https://birds.example.org@evil.net/", None),
        ("https://birds.example.org:8443/grey", None),
        ("https://birds.example.org:99999/grey", None),
        ("javascript:alert(1)", None),
        ("/grey", "https://birds.example.org/grey"),
        ("./", "https://birds.example.org/"),
        ("//birds.example.org/grey#top", "https://birds.example.org/grey"),
        ("//fish.example.org/grey", None),
    ],
)
async def test_a_canonical_address_counts_on_the_same_site_only(
    canonical: str, kept: str | None
) -> None:
    """Any page can claim to be another site's."""
    head = f'<link rel="canonical" href="{canonical}">'
    page = await read(fetched(article(head=head).encode()))
    assert isinstance(page, ReadPage)
    assert page.canonical_url == kept


async def test_a_page_may_say_itself_that_it_is_not_free() -> None:
    data = '<script type="application/ld+json">{"isAccessibleForFree": "False"}</script>'
    assert (await refused(fetched(article(head=data).encode()))).reason == "paywalled"


async def test_a_login_form_is_no_page() -> None:
    form = '<form><input name="a"><input type="password" name="b"></form>'
    body = f"<html><head><title>Sign in</title></head><body><h1>Sign in</h1>{form}</body></html>"
    assert (await refused(fetched(body.encode()))).reason == "needs_login"


async def test_only_html_is_judged_by_its_words() -> None:
    page = await read(fetched(b"404 Not Found", "text"))
    assert isinstance(page, ReadPage)


@pytest.mark.parametrize("kind", ["xml", "html"])
async def test_a_feed_is_a_page_whatever_its_server_calls_it(kind: PageKind) -> None:
    """Its entries are the text."""
    item = "<item><title>Herons</title><description>They wade.</description></item>"
    feed = f"<rss version='2.0'><channel><title>Birds</title>{item}</channel></rss>"
    page = await read(fetched(feed.encode(), kind))
    assert isinstance(page, ReadPage)
    assert (page.title, page.text) == ("Birds", "# Birds\n\n## Herons\nThey wade.")


async def test_a_packed_file_is_no_page() -> None:
    assert (await refused(fetched(b"\x1f\x8b\x08", "gzip"))).reason == "unsupported_type"


class Scripts(InProcess):
    """A browser in which scripts write a page, and an extraction that asks for them."""

    page = PAGE

    async def render(self, page: FetchedPage) -> FetchedPage:
        return fetched(self.page, validators=Validators())

    async def extract(self, body: bytes, *, name: str, charset: str | None = None) -> Extracted:
        if body != self.page:
            raise FetchError("It needs scripts.", reason="needs_javascript")
        return await super().extract(body, name=name, charset=charset)


async def test_a_rendered_page_is_another_with_another_title() -> None:
    """Its hash is that of what the scripts wrote: the page itself stays as it is."""
    scripts = Scripts()
    reader = WebPageReader(OnePage(fetched(b"<div id=root></div>")), scripts, renderer=scripts)
    first = await reader.read(URL)
    assert isinstance(first, ReadPage)
    assert isinstance(await reader.read(URL, content_hash=first.content_hash), NotModified)
    scripts.page = PAGE.replace(b"<title>Herons", b"<title>Egrets")
    again = await reader.read(URL, content_hash=first.content_hash)
    assert isinstance(again, ReadPage)
    assert (again.title, again.text) == ("Egrets", first.text)


async def test_a_parser_takes_over_its_kind_alone() -> None:
    seen: list[FetchedPage] = []

    async def ocr(page: FetchedPage) -> Extracted:
        seen.append(page)
        return Extracted("Scan", " What the picture says. ")

    scan = fetched(pdf(b"q Q"), "pdf")
    page = await read(scan, pdf=ocr)
    assert isinstance(page, ReadPage)
    assert (page.title, page.text, page.is_pdf) == ("Scan", "What the picture says.", True)
    await read(fetched(), pdf=ocr)
    assert seen == [scan]


async def test_a_parser_may_leave_a_page_to_the_built_in_reader() -> None:
    """By None; a kind that has none is no page."""

    async def not_mine(page: FetchedPage) -> None:
        return None

    page = await read(fetched(pdf(), "pdf"), pdf=not_mine)
    assert isinstance(page, ReadPage)
    assert page.text == MARKER
    error = await refused(fetched(b"\x1f\x8b\x08", "gzip"), gzip=not_mine)
    assert error.reason == "unsupported_type"


async def test_a_parser_that_finds_nothing_is_the_outcome_empty() -> None:
    async def ocr(page: FetchedPage) -> Extracted:
        return Extracted("", " \n")

    error = await refused(fetched(pdf(), "pdf"), pdf=ocr)
    assert (error.reason, error.retryable, error.status) == ("empty", False, 200)
