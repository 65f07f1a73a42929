"""Pages that ask not to be indexed, and the reader that honours it."""

from __future__ import annotations

from typing import Any

import pytest

from collection_search.adapters.crawl.extract.formats import Extracted, extract
from collection_search.adapters.crawl.noindex import is_refusal, refuses_indexing
from collection_search.adapters.crawl.reader import WebPageReader
from collection_search.contracts.page import FetchedPage, NotModified, ReadPage, Validators
from collection_search.errors import FetchError
from collection_search.testing.hostile_site.replies import PAGE

URL = "https://birds.example.org/herons"
AGENT = "tea-bot"


def page(head: str = "", *tags: str, **changes: Any) -> FetchedPage:
    facts: dict[str, Any] = {
        "url": URL, "final_url": URL, "status": 200, "content_type": "text/html", "kind": "html",
        "charset": None, "body": head.encode() + PAGE, "fetched_at": 1_800_000_000.0,
        "robots_tags": tags,
    }  # fmt: skip
    return FetchedPage(**(facts | changes))


class OnePage:
    """A fetcher that has one page, and remembers the validators."""

    def __init__(self, answer: FetchedPage) -> None:
        self.answer = answer
        self.asked: list[Validators | None] = []

    async def fetch(
        self, url: str, *, validators: Validators | None = None
    ) -> FetchedPage | NotModified:
        assert url == URL
        self.asked.append(validators)
        return self.answer


class InProcess:
    """An extraction without processes."""

    async def extract(self, body: bytes, *, name: str, charset: str | None = None) -> Extracted:
        return extract(body, name, charset)


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="robots" content="noindex">',
        "<META NAME=Robots CONTENT=NOINDEX>",
        "<meta content='nofollow, noindex' name='robots'/>",
        '<meta name="robots" content="none">',
        f'<meta name="{AGENT}" content="noindex">',
        '<!-- a --><meta name="robots" content=" noindex "><!-- b',
    ],
)
def test_a_page_says_it_itself(head: str) -> None:
    """To all crawlers, or to this one by its name."""
    assert refuses_indexing(page(head), AGENT)


@pytest.mark.parametrize(
    "head",
    [
        "",
        '<meta name="robots" content="index, follow">',
        '<meta name="robots" content="nofollow">',
        '<meta name="otherbot" content="noindex">',
        '<meta name="description" content="noindex">',
        '<!-- <meta name="robots" content="noindex"> -->',
        '<meta name="robots" content="noindexing">',
    ],
)
def test_other_pages_do_not(head: str) -> None:
    """Other words, other crawlers, and comments."""
    assert not refuses_indexing(page(head), AGENT)


@pytest.mark.parametrize(
    ("header", "refuses"),
    [
        ("noindex", True),
        ("NOINDEX, nofollow", True),
        ("max-snippet: 20, noindex", True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", True),
        ("*: noindex", True),
        ("Tea-Bot: nofollow, noindex", True),
        ("otherbot: noindex, nofollow", False),
        ("otherbot: noindex, tea-bot: none", True),
        ("all", False),
        ("", False),
    ],
)
def test_a_header_says_it_for_pages_of_every_kind(header: str, refuses: bool) -> None:
    """Several headers may stand beside each other."""
    assert is_refusal(header, AGENT) is refuses
    assert refuses_indexing(page("", "nofollow", header, kind="pdf"), AGENT) is refuses


async def test_it_is_honoured_where_the_reader_has_a_name() -> None:
    """The page is then requested in full: a 304 would not say what it asks for."""
    answer, known = page('<meta name="robots" content="noindex">'), Validators(etag='"1"')
    source = OnePage(answer)
    with pytest.raises(FetchError) as caught:
        await WebPageReader(source, InProcess(), index_agent=AGENT).read(
            URL, validators=known, content_hash=answer.content_hash
        )
    assert (caught.value.reason, caught.value.retryable) == ("noindex", False)
    found = await WebPageReader(source, InProcess()).read(URL, validators=known)
    assert isinstance(found, ReadPage)
    assert source.asked == [None, known]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["<meta ", "<!--", "<meta name=", "<meta name='robots' ", "<"])
def test_time_is_linear(part: str) -> None:
    """A hostile page takes a moment."""
    assert not refuses_indexing(page(part * (400_000 // len(part))), AGENT)
