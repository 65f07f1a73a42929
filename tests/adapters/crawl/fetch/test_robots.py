"""robots.txt as RFC 9309 reads it, and how long it is remembered."""

from __future__ import annotations

import asyncio

import pytest

from collection_search.adapters.crawl.fetch.robots import (
    RobotsCache,
    RobotsRules,
    aparse_robots,
    parse_robots,
    product_token,
)
from collection_search.errors import FetchError
from collection_search.testing import FakeClock

US = "collection-search"
URL = "https://example.com/page"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow:", True),
        ("User-agent: *\nDisallow: /", False),
        ("\ufeffUser-agent: *\nDisallow: /", False),
        ("user-AGENT : *\r\n  DISALLOW : /page # why\r\n", False),
        ("User-agent: *\rDisallow: /\r", False),
        ("User-agent: OtherBot\nDisallow: /", True),
        ("User-agent: collection\nDisallow: /", True),
        ("User-agent: collection-search-pro\nDisallow: /", True),
        ("User-agent: Collection-Search\nDisallow: /\n\nUser-agent: *\nAllow: /", False),
        ("User-agent: collection-search/1.0 (x)\nDisallow: /\n\nUser-agent: *\nAllow: /", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: collection-search\nAllow: /", True),
        ("User-agent: a\nUser-agent: collection-search\nUser-agent: b\nDisallow: /", False),
        ("User-agent: a\nDisallow: /x\nUser-agent: collection-search\nDisallow: /page", False),
        ("User-agent: collection-search\nDisallow: /x\n\nUser-agent: b\nDisallow: /", True),
        ("User-agent: collection-search\n\nSitemap: /s\nUser-agent: b\nDisallow: /", False),
        ("User-agent: *foo\nDisallow: /", True),
        ("Disallow: /", True),
        ("User-agent: *\nDisallow: /\nAllow: /page", True),
        ("User-agent: *\nAllow: /page\nDisallow: /page", True),
        ("User-agent: *\nAllow: /\nDisallow: /pag", False),
        ("User-agent: *\nDisallow: /*ge$", False),
        ("User-agent: *\nDisallow: /pag$", True),
        ("User-agent: *\nDisallow: /%70age", False),
        ("<html><body>Disallow: /</body></html>", True),
        ("User-agent: collection-search\nDisallow: /a\n\nUser-agent: collection-search\nDisallow: /page", False),
    ],
)  # fmt: skip
def test_rules(text, allowed):
    assert parse_robots(text.encode(), US).allows(URL) is allowed


def test_other_encodings():
    assert not parse_robots("User-agent: *\nDisallow: /".encode("utf-16"), US).allows(URL)
    assert not parse_robots(b"# gr\xfcn\nUser-agent: *\nDisallow: /", US).allows(URL)


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("3", 3.0), ("0.5", 0.5), ("-1", 0.0), ("inf", 0.0), ("nan", 0.0), ("soon", 0.0)],
)
def test_delays(delay, seconds):
    rules = parse_robots(f"User-agent: *\nCrawl-delay: {delay}\nDisallow: /x".encode(), US)
    assert rules.crawl_delay_s == seconds


def test_sitemaps_stand_outside_of_groups():
    text = b"User-agent: b\nSitemap: https://e.com/1\nDisallow: /\nsitemap: https://e.com/2"
    assert parse_robots(text, US).sitemaps == ["https://e.com/1", "https://e.com/2"]


def test_product_tokens():
    assert product_token("Collection-Search/2.0 (+https://x)") == US
    assert product_token("(nameless)") == ""


async def test_a_large_file_of_others_is_small_to_us():
    text = b"".join(b"User-agent: bot%c\nDisallow: /\n" % (97 + n % 26) for n in range(9_000))
    rules = await aparse_robots(text + b"User-agent: *\nDisallow: /page", US)
    assert not rules.is_large
    assert not rules.allows(URL)


class Loads:
    """Counts the loads; gives what is scripted."""

    def __init__(self, outcome: RobotsRules | FetchError) -> None:
        self.outcome = outcome
        self.count = 0

    async def __call__(self, origin: str) -> RobotsRules:
        self.count += 1
        await asyncio.sleep(0)
        if isinstance(self.outcome, FetchError):
            raise self.outcome
        return self.outcome


async def test_rules_are_remembered_for_a_day():
    clock, load = FakeClock(), Loads(RobotsRules())
    load.outcome.took_s = 2.0  # type: ignore[union-attr]
    cache = RobotsCache(load, clock.monotonic)
    both = await asyncio.gather(cache.rules("a"), cache.rules("a"))
    assert [took for _, took in both] == [2.0, 2.0]
    assert (await cache.rules("a"))[1] == 0.0
    clock.advance(24 * 3600 - 1)
    await cache.rules("a")
    assert load.count == 1
    clock.advance(2)
    await cache.rules("a")
    assert load.count == 2


async def test_a_failure_is_remembered_for_a_minute():
    clock, load = FakeClock(), Loads(FetchError("no", reason="robots_unreachable", status=500))
    cache = RobotsCache(load, clock.monotonic)
    for _ in range(3):
        with pytest.raises(FetchError, match="no") as caught:
            await cache.rules("a")
        assert (caught.value.status, caught.value.retryable) == (500, True)
    assert load.count == 1
    clock.advance(61)
    load.outcome = RobotsRules()
    assert (await cache.rules("a"))[0] is load.outcome


async def test_one_caller_that_gives_up_ends_no_load():
    load = Loads(RobotsRules())
    cache = RobotsCache(load, FakeClock().monotonic)
    first = asyncio.ensure_future(cache.rules("a"))
    second = asyncio.ensure_future(cache.rules("a"))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second)[0] is load.outcome
    assert load.count == 1


async def test_a_load_ends_with_the_last_who_waits_for_it():
    begun, ended = list[str](), list[str]()

    async def load(origin: str) -> RobotsRules:
        begun.append(origin)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(origin)
        raise AssertionError

    cache = RobotsCache(load, FakeClock().monotonic)
    waiting = [asyncio.ensure_future(cache.rules("a")) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait(waiting, timeout=0.01)
    assert (begun, ended) == (["a"], [])
    waiting[1].cancel()
    await asyncio.wait(waiting)
    await asyncio.sleep(0)
    assert ended == ["a"]
    again = asyncio.ensure_future(cache.rules("a"))  # who comes later begins another
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert begun == ["a", "a"]
    await cache.aclose()
    with pytest.raises(asyncio.CancelledError):
        await again


async def test_rules_that_a_site_did_not_tell_are_asked_for_again_soon():
    clock, load = FakeClock(), Loads(RobotsRules())
    load.outcome.is_brief = True  # type: ignore[union-attr]
    cache = RobotsCache(load, clock.monotonic)
    await cache.rules("a")
    clock.advance(59)
    await cache.rules("a")
    assert load.count == 1
    clock.advance(2)
    await cache.rules("a")
    assert load.count == 2


async def test_closing_ends_the_loads():
    async def never(_: str) -> RobotsRules:
        await asyncio.Event().wait()
        raise AssertionError

    cache = RobotsCache(never, FakeClock().monotonic)
    waiting = asyncio.ensure_future(cache.rules("a"))
    await asyncio.sleep(0)
    await cache.aclose()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.slow
async def test_large_files_push_out_the_oldest():
    load = Loads(parse_robots(b"User-agent: *\n" + b"Disallow: /abcdefgh\n" * 20_000, US))
    cache = RobotsCache(load, FakeClock().monotonic)
    for origin in ("a", "b", "c", "d", "a"):
        await cache.rules(origin)
    assert load.count == 5
    await cache.rules("a")
    assert load.count == 5
