"""A crawled collection grows: a refresh finds what its sites have added."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import LoopbackSite, article, essay

from collection_search import SearchContext, Settings, aingest, ingest, refresh, wait
from collection_search.adapters.crawl.web import WebPages
from collection_search.adapters.stores.sqlite import SQLiteStore
from collection_search.contracts.collection import TenantScope
from collection_search.errors import (
    FetchError,
    InputError,
    SearchProviderUnavailable,
    UnknownCollectionError,
)
from collection_search.runtime.concurrency import run_blocking
from collection_search.testing import ScriptedAdapter
from collection_search.text.urls import url_key
from collection_search.tools.ingest import find_pages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collection_search.contracts.collection import StoredDocument
    from collection_search.contracts.refresh_report import RefreshReport

SCOPE = TenantScope("local", "tea")


class Garden(LoopbackSite):
    """A site whose front page links to all others."""

    days = 0

    def time(self) -> float:
        """Return the time of day after the days that are said to have passed."""
        return time.time() + self.days * 86_400

    def grow(self, *names: str) -> list[str]:
        """Add pages, and return their URLs."""
        urls = [self.put(f"/{name}", article(name, essay(f"tea {name}"))) for name in names]
        self.link(*(path for _, path in self.pages))
        return urls

    def link(self, *paths: str) -> None:
        """Let the front page link to these paths alone."""
        links = "".join(f'<a href="{path}">{path}</a>' for path in paths)
        self.put("/", article("Teas", essay("all teas") + links))


class NoCrawler:
    """A reader that knows nothing of sites."""

    async def read(self, url: str, **_: Any) -> Any:
        raise FetchError(f"{url} is not for this reader", reason="http_error")


@pytest.fixture
def garden() -> Iterator[Garden]:
    with Garden() as site:
        site.grow("green", "black")
        yield site


@pytest.fixture
def context(garden: Garden, tmp_path: Path) -> Iterator[SearchContext]:
    """With a search provider that nobody may ask."""
    settings = Settings(
        home=tmp_path, fetch_allowed=garden.allowed, fetch_delay_s=0, extract_processes=1
    )
    settings.prepared_home()
    reader = WebPages.from_settings(settings)
    store = SQLiteStore(settings.collections_path, clock=garden.time)
    provider = ScriptedAdapter(SearchProviderUnavailable("asked"))
    yield SearchContext(settings=settings, store=store, reader=reader, provider=provider)
    run_blocking(reader.aclose())
    store.close()


@pytest.fixture
def store(context: SearchContext) -> SQLiteStore:
    assert isinstance(context.store, SQLiteStore)
    return context.store


def crawled(context: SearchContext, garden: Garden, **rules: object) -> list[str]:
    """Crawl the garden into the collection and return the pages that are stored."""
    given = {"depth": 1, "max_pages": 10, **rules}
    ticket = ingest(garden.address(), collection="tea", context=context, **given)  # type: ignore[arg-type]
    return sorted(row.url for row in wait(ticket, 120, context=context).rows)


def refreshed(context: SearchContext) -> RefreshReport:
    report = refresh("tea", context=context)
    assert (report.questions, report.left) == ([], [])
    return report


@pytest.mark.slow
def test_a_refresh_finds_new_pages_of_a_crawl(context: SearchContext, garden: Garden) -> None:
    """It says how many, asks no question, and fetches each page once."""
    before = crawled(context, garden)
    (white,) = garden.grow("white")
    asked = len(garden.asked())
    report = refreshed(context)
    assert report.new == [white]
    assert [(one.starts, one.found, one.is_full) for one in report.crawls] == [
        ([garden.address()], [white], False)
    ]
    assert report.changed == [garden.address()]
    assert report.unchanged == [url for url in before if url != garden.address()]
    assert len(garden.asked()) - asked == 4
    again = refreshed(context)
    assert (again.new, again.crawls[0].found, len(again.unchanged)) == ([], [], 4)


@pytest.mark.slow
def test_pages_that_were_added_by_hand_are_only_fetched_again(
    context: SearchContext, garden: Garden
) -> None:
    """Their links are not followed; `crawl=False` leaves those of a crawl alone, too."""
    wait(ingest(garden.address(), collection="tea", context=context), 120, context=context)
    report = refreshed(context)
    assert (report.crawls, report.new, report.unchanged) == ([], [], [garden.address()])
    crawled(context, garden)
    garden.grow("white")
    report = refresh("tea", context=context, crawl=False)
    assert (report.crawls, report.new, len(report.unchanged)) == ([], [], 2)


@pytest.mark.slow
def test_the_bound_is_for_all_runs_together(
    context: SearchContext, garden: Garden, store: SQLiteStore
) -> None:
    """A page that vanished makes room; at the bound the site is not even looked at."""
    crawled(context, garden, max_pages=4)
    garden.grow("white", "yellow", "red")
    report = refreshed(context)
    assert (len(report.new), report.crawls[0].is_full) == (1, True)
    asked = len(garden.asked())
    full = refreshed(context)
    assert (full.new, full.crawls[0].found, full.crawls[0].is_full) == ([], [], True)
    assert len(garden.asked()) - asked == 4
    garden.put("/green", b"gone", status=410)
    assert refreshed(context).gone == [garden.address("/green")]
    report = refreshed(context)
    assert len(report.new) == 1
    assert len(store.collections.hashes(SCOPE)) == 4
    assert refreshed(context).new == []


@pytest.mark.slow
def test_patterns_and_kinds_hold_for_refreshes(
    context: SearchContext, garden: Garden, store: SQLiteStore
) -> None:
    """The bound counts what fits only; the start is taken in any case."""
    garden.grow("docs/a", "docs/old/b", "docs/paper.pdf", "about")
    rules = {"include": ["/docs/*"], "exclude": ["*/old/*"], "is_pdf": False}
    start, page = garden.address(), garden.address("/docs/a")
    assert crawled(context, garden, max_pages=3, **rules) == [start, page]
    garden.grow("docs/c", "docs/old/d", "blog")
    assert refreshed(context).new == [garden.address("/docs/c")]
    (record,) = store.collections.crawls(SCOPE)
    assert (record.include, record.exclude, record.is_pdf) == (["/docs/*"], ["*/old/*"], False)
    assert garden.asked("/about") == garden.asked("/docs/old/b") == []


@pytest.mark.slow
def test_a_page_that_was_deleted_stays_away(
    context: SearchContext, garden: Garden, store: SQLiteStore
) -> None:
    """A refresh and another run of the crawl leave it out; who names it gets it."""
    crawled(context, garden)
    green = garden.address("/green")
    assert store.collections.delete_document(SCOPE, url_key(green))
    asked = len(garden.asked("/green"))
    report = refreshed(context)
    assert (report.new, report.crawls[0].found) == ([], [])
    assert green not in crawled(context, garden)
    assert len(garden.asked("/green")) == asked
    wait(ingest([green], collection="tea", context=context), 120, context=context)
    assert url_key(green) in store.collections.hashes(SCOPE)


@pytest.mark.slow
def test_a_page_that_vanished_is_not_new_before_it_is_due(
    context: SearchContext, garden: Garden
) -> None:
    """Though the site links to it; once it is due it returns as any other page."""
    crawled(context, garden)
    kept = garden.pages[0, "/green"]
    garden.put("/green", b"gone", status=410)
    green = garden.address("/green")
    assert refreshed(context).gone == [green]
    garden.pages[0, "/green"] = kept
    asked = len(garden.asked("/green"))
    report = refreshed(context)
    assert (report.new, report.crawls[0].found) == ([], [])
    assert len(garden.asked("/green")) == asked
    garden.days = 200
    report = refreshed(context)
    assert (report.returned, report.crawls[0].found) == ([green], [])


@pytest.mark.slow
def test_what_was_given_up_is_not_found_again(context: SearchContext, garden: Garden) -> None:
    """A page that cannot be read is told by the refresh that found it, and once."""
    crawled(context, garden)
    garden.link("/green", "/black", "/none")
    report = refreshed(context)
    assert report.crawls[0].found == [garden.address("/none")]
    assert [page.url for page in report.unread] == [garden.address("/none")]
    asked = len(garden.asked("/none"))
    report = refreshed(context)
    assert (report.crawls[0].found, report.unread) == ([], [])
    assert len(garden.asked("/none")) == asked


@pytest.mark.slow
def test_found_pages_are_ingested_as_a_crawl(
    context: SearchContext, garden: Garden, store: SQLiteStore
) -> None:
    """Whoever looks at them first; pages of a list are none."""
    found = find_pages([garden.address()], depth=1, context=context)
    wait(ingest(list(found), collection="tea", context=context), 120, context=context)
    assert store.collections.crawls(SCOPE) == []
    wait(ingest(found, collection="tea", context=context), 120, context=context)
    (record,) = store.collections.crawls(SCOPE)
    assert record.url_keys == [url_key(url) for url in found]


@pytest.mark.slow
def test_a_crawl_that_cannot_be_repeated_is_told(context: SearchContext, garden: Garden) -> None:
    """The pages are looked at all the same."""
    crawled(context, garden)
    report = refreshed(context.model_copy(update={"reader": NoCrawler()}))
    assert "cannot look for further pages" in str(report.crawls[0].error)
    assert len(report.failed) == 3


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ({"include": ["docs/*"], "depth": 1}, "include: 'docs/\\*' is no pattern of a path"),
        ({"exclude": ["/a#b"], "depth": 1}, "at most 500 characters and no #"),
        ({"exclude": "/a", "depth": 1}, "exclude must be a list of texts"),
        ({"exclude": ["/a"]}, "give a depth"),
        ({"is_pdf": "yes", "depth": 1}, "is_pdf must be True, False or None"),
    ],
)
async def test_wrong_rules_are_refused(
    context: SearchContext, garden: Garden, rules: dict[str, object], complaint: str
) -> None:
    """Before anything is asked of the site."""
    with pytest.raises(InputError, match=complaint):
        await aingest([garden.address()], collection="tea", context=context, **rules)  # type: ignore[arg-type]
    assert garden.requests == []


@pytest.mark.slow
def test_what_is_deleted_while_it_is_crawled_stays_so(
    context: SearchContext, store: SQLiteStore, garden: Garden
) -> None:
    """A crawl that is forgotten brings no page, and a collection that is deleted does not return."""
    crawled(context, garden)
    (white,) = garden.grow("white")
    start = garden.address()

    def forget(*_: int) -> None:
        store.collections.forget_crawl(SCOPE, [start])

    report = refresh("tea", context=context, on_progress=forget)
    assert (report.new, store.collections.crawls(SCOPE)) == ([], [])
    assert "forgotten" in str(report.crawls[0].error)
    crawled(context, garden)
    assert white in [stored.document.url for stored in documents(store)]
    garden.grow("oolong")

    def delete(*_: int) -> None:
        store.collections.delete_collection(SCOPE)

    with pytest.raises(UnknownCollectionError):
        refresh("tea", context=context, on_progress=delete)
    assert store.collections.collections("local") == []


def documents(store: SQLiteStore) -> list[StoredDocument]:
    return list(store.collections.get(SCOPE, list(store.collections.hashes(SCOPE))))
