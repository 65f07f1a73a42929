"""The reader of pages that the settings describe."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support.loopback_site import LoopbackSite, article, essay
from support.small_site import Asked, SmallSite, answer
from support.waiting import wait_until_async

from collection_search import Settings
from collection_search.adapters.crawl import web
from collection_search.adapters.crawl.web import WebPages, build_policy
from collection_search.adapters.http import user_agent
from collection_search.errors import ConfigError, InputError
from collection_search.ports import PageReader, SiteReader
from collection_search.runtime.concurrency import run_blocking
from collection_search.settings.page_parsers import PageParsers
from collection_search.tools.ingestion.sites import collect_pages, deduplicate_urls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

PATIENCE_S = 120.0


@pytest.fixture
def site() -> Iterator[LoopbackSite]:
    with LoopbackSite() as site:
        yield site


@pytest.fixture
async def pages(site: LoopbackSite, tmp_path: Path) -> AsyncIterator[WebPages]:
    settings = Settings(
        home=tmp_path, fetch_allowed=site.allowed, fetch_delay_s=0, extract_processes=1
    )
    pages = WebPages.from_settings(settings)
    yield pages
    await pages.aclose()


def page(*links: str) -> bytes:
    return article("Tea", essay("tea") + "".join(f'<a href="{link}">x</a>' for link in links))


def test_settings_become_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists stand between spaces or commas in the environment."""
    monkeypatch.setenv("COLLECTION_SEARCH_FETCH_ALLOWED", "wiki.intra:443, 127.0.0.1:8000")
    monkeypatch.setenv("COLLECTION_SEARCH_FETCH_IGNORE_ROBOTS", "Docs.Example.com")
    settings = Settings(
        home=tmp_path,
        fetch_timeout_s=4,
        fetch_delay_s=0.5,
        fetch_robots=False,
        fetch_proxy="http://user:pa55w0rd@proxy.intra:3128",
        fetch_contact="crawler@example.com",
    )
    policy = build_policy(settings)
    assert policy.allowed_addresses == {"wiki.intra:443", "127.0.0.1:8000"}
    assert policy.ignore_robots_hosts == {"docs.example.com"}
    assert (policy.deadline_s, policy.connect_timeout_s, policy.min_delay_s) == (4, 4, 0.5)
    assert policy.robots is False
    assert policy.egress_proxy == settings.fetch_proxy
    assert policy.user_agent.endswith(" (crawler@example.com)")
    assert "pa55w0rd" not in repr(settings)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"fetch_contact": "me)\r\nX: y"}, "fetch_contact"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, wrong: dict[str, Any], named: str) -> None:
    """Before anything is fetched."""
    with pytest.raises(ConfigError, match=named):
        build_policy(Settings(home=tmp_path, **wrong))


def test_a_parser_that_cannot_be_loaded_makes_no_reader(tmp_path: Path) -> None:
    """The error names the kind, the value and the way out."""
    settings = Settings(home=tmp_path, parsers=PageParsers(pdf="no_such_module:read"))
    with pytest.raises(ConfigError, match=r"parsers\.pdf: 'no_such_module:read' names a module"):
        WebPages.from_settings(settings)


def test_a_contact_keeps_the_name_in_front() -> None:
    """Sites address us by it in their robots.txt."""
    assert user_agent("https://e.org/bot").startswith("collection-search (")


def test_it_is_both_readers(tmp_path: Path) -> None:
    """Of pages and of sites."""
    pages = WebPages.from_settings(Settings(home=tmp_path))
    assert isinstance(pages, PageReader)
    assert isinstance(pages, SiteReader)


async def test_the_pages_of_the_last_step_are_not_fetched(
    site: LoopbackSite, pages: WebPages
) -> None:
    """Their addresses are enough: whoever ingests them fetches them."""
    start = site.put("/", page("/a", "/b", "https://elsewhere.org/"))
    site.put("/a", page("/c"))
    found = await pages.site(start, depth=1, max_pages=10)
    assert found == [start, site.address("/a"), site.address("/b")]
    assert [path for _, path, _ in site.requests if path in {"/a", "/b"}] == []
    deeper = await pages.site(start, depth=2, max_pages=10)
    assert deeper == [start, *(site.address(path) for path in ("/a", "/b", "/c"))]
    assert await pages.site(start, depth=2, max_pages=2) == found[:2]
    assert await pages.site(start, depth=0, max_pages=10) == [start]


@pytest.mark.slow
async def test_what_a_crawl_fetched_is_read_once_without_a_request(
    site: LoopbackSite, pages: WebPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a bound, and not for those who come again."""
    start = site.put("/", page("/a"))
    counts: list[int] = []
    await pages.site(start, depth=1, max_pages=10, on_found=counts.append)
    assert counts == [2]
    await pages.read(start)
    assert len(site.asked("/")) == 1
    await pages.read(start)
    assert len(site.asked("/")) == 2
    monkeypatch.setattr(web, "KEPT_BYTES", 10)
    await pages.site(start, depth=1, max_pages=10)
    await pages.read(start)
    assert len(site.asked("/")) == 4


async def test_sitemaps_count_as_one_step(site: LoopbackSite, pages: WebPages) -> None:
    """What nothing links to is found there."""
    start = site.put("/", page("/a"))
    listed = f"<urlset><url><loc>{site.address('/hidden')}</loc></url></urlset>".encode()
    site.put("/sitemap.xml", listed, headers={"Content-Type": "application/xml"})
    found = await pages.site(start, depth=1, max_pages=10)
    assert found == [start, site.address("/a"), site.address("/hidden")]


async def test_a_start_that_cannot_be_had_is_alone(site: LoopbackSite, pages: WebPages) -> None:
    """Its own failure is told when it is ingested."""
    start = site.address("/none")
    assert await pages.site(start, depth=2, max_pages=10) == [start]


class OnePage:
    """Reads, but knows nothing of sites."""

    async def read(self, url: str, **_: Any) -> Any:
        return url


async def test_several_sites_share_the_number_of_pages(site: LoopbackSite, pages: WebPages) -> None:
    """What was named stays in any case."""
    starts = deduplicate_urls([site.put("/", page("/a", "/b")), site.put("/x", page("/y"))])
    found = await collect_pages(pages, starts, depth=1, max_pages=3)
    assert list(found.values()) == [*starts.values(), site.address("/a")]
    assert len(await collect_pages(pages, starts, depth=1, max_pages=1)) == 2
    with pytest.raises(InputError, match="max_pages"):
        await collect_pages(pages, starts, depth=1, max_pages=0)
    with pytest.raises(ConfigError, match="cannot look for further pages"):
        await collect_pages(OnePage(), starts, depth=1, max_pages=3)


def quick(home: Path, *sites: SmallSite) -> WebPages:
    return WebPages.from_settings(
        Settings(
            home=home,
            fetch_allowed=[site.address for site in sites],
            fetch_delay_s=0,
            fetch_robots=False,
            fetch_timeout_s=PATIENCE_S,
            extract_processes=1,
        )
    )


@pytest.mark.slow
async def test_all_loops_share_the_connections_of_a_host(tmp_path: Path) -> None:
    """Who reads on a loop of its own takes turns with the workers, which use the bridge's."""
    most = 0

    async def reply(_: Asked) -> bytes:
        nonlocal most
        most = max(most, len(site.asked) - done)
        await wait_until_async(lambda: most > 1)  # the first waits for a second one
        await asyncio.sleep(0.05)  # time enough for a third one
        count()
        return answer(article("Tea", essay("tea")))

    done = 0

    def count() -> None:
        nonlocal done
        done += 1

    async with SmallSite() as site:
        site.routes = {f"/{n}": reply for n in range(8)}
        pages = quick(tmp_path, site)
        urls = [site.url(f"/{n}") for n in range(8)]
        ours = [pages.read(url) for url in urls[:4]]
        others = [asyncio.to_thread(run_blocking, pages.read(url)) for url in urls[4:]]
        assert len(await asyncio.gather(*ours, *others)) == 8
        await pages.aclose()
    assert (most, site.most_open) == (2, 2)


@pytest.mark.slow
async def test_a_caller_that_gives_up_gives_its_turn_back(tmp_path: Path) -> None:
    """Although the page is fetched on another loop."""
    asked = asyncio.Semaphore(0)

    async def never(_: Asked) -> bytes:
        asked.release()
        await asyncio.Event().wait()
        raise AssertionError

    async with SmallSite({"/a": never, "/b": answer(article("Tea", essay("tea")))}) as site:
        pages = quick(tmp_path, site)
        readers = [asyncio.ensure_future(pages.read(site.url("/a"))) for _ in range(2)]
        for _ in readers:
            await asked.acquire()
        for reader in readers:
            reader.cancel()
        async with asyncio.timeout(PATIENCE_S / 2):
            assert (await pages.read(site.url("/b"))).text  # type: ignore[union-attr]
        await pages.aclose()


async def test_who_asked_is_told_on_its_own_loop(site: LoopbackSite, pages: WebPages) -> None:
    """A callback may touch what belongs to the caller's loop."""
    here, told = threading.current_thread(), list[tuple[int, bool]]()

    def tell(count: int) -> None:
        told.append((count, threading.current_thread() is here))

    start = site.put("/", page("/a", "/b"))
    await pages.site(start, depth=1, max_pages=10, on_found=tell)
    assert told == [(2, True), (3, True)]
