"""The crawl benchmark: pages of one size, ratios of one round, a report that can be read."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import pytest
from support.benchmark_modules import benchmark

from collection_search.adapters.crawl.extract.formats import extract

crawl, crawl_site = benchmark("crawl"), benchmark("crawl_site")
contestants, stalls = benchmark("crawl_contestants"), benchmark("crawl_stalls").stalls


def told(pages: int, cpu_s: float) -> dict[str, Any]:
    stall = {"held_ms": 1.5, "held_by": "fetch", "blocked_ms": 2.5, "stall_ms": 7.0}
    return {"pages": pages, "cpu_s": cpu_s, "wall_s": cpu_s, "own_s": 0.02, **stall}


@pytest.mark.slow
def test_pages_are_of_one_size_and_hold_an_article() -> None:
    pages = [crawl_site.page(number) for number in range(20)]
    assert all(0.95 < len(page) / crawl_site.PAGE_BYTES < 1.05 for page in pages)
    assert len(set(pages)) == 20
    assert crawl_site.page(crawl_site.DIFFERENT + 3) == pages[3]
    found = extract(pages[3], "page.html")
    assert found.title == "Page 3"
    assert len(found.text) > 20_000
    assert "Topic 7" not in found.text


@pytest.mark.slow
def test_every_fiftieth_of_the_mixed_pages_is_large() -> None:
    assert crawl_site.mixed_page(48) == crawl_site.page(48)
    large = crawl_site.mixed_page(49)
    assert 0.95 < len(large) / 1_000_000 < 1.05
    assert len(extract(large, "page.html").text) > 900_000


@pytest.mark.slow
async def test_every_contestant_gets_the_pages_of_the_site() -> None:
    server = await contestants.asyncio.get_running_loop().create_server(
        crawl_site._Site, "127.0.0.1", 0
    )
    ports = [server.sockets[0].getsockname()[1]]
    url = crawl_site.urls(ports, 5)[4]
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert await answer.read() == crawl_site.page(4)
    gate = contestants.Gate(ports)
    assert await gate.take(10) == 10
    await gate.fetcher.aclose()
    engine = contestants.Engine(ports, 1)
    assert await engine.take(3) == 3
    assert len(engine.workers()) == 1
    engine.close()
    await engine.aclose()
    server.close()


async def test_what_a_callback_computed_is_told_apart_from_its_waiting() -> None:
    async def compute() -> None:
        until = time.thread_time() + 0.03
        while time.thread_time() < until:
            pass
        await asyncio.sleep(0)

    async with stalls(on_background=False) as waiting:
        await asyncio.sleep(0)
        time.sleep(0.1)  # noqa: ASYNC251 - what is measured
    async with stalls(on_background=False) as computing:
        await asyncio.sleep(0)
        await asyncio.create_task(compute())
    assert waiting["held_ms"] < 30 <= computing["held_ms"]
    assert waiting["blocked_ms"] > 90
    assert "compute" in computing["held_by"]
    assert asyncio.Handle._run.__name__ == "_run"


def test_ratios_are_of_the_same_round() -> None:
    subject, floor = [told(10, 1.0), told(10, 4.0)], [told(10, 0.5), told(10, 2.0)]
    assert crawl.ratio(subject, floor) == 0.5


def test_the_report_shows_figures_beside_their_goals() -> None:
    rounds = {name: [told(10, 1.0), told(10, 1.1)] for name in crawl.TITLES}
    text = "\n".join(crawl.report(rounds, "load average 0.1"))
    assert "| gate / bare aiohttp | 1.00 | >= 0.6 |" in text
    assert "| fetch + extraction / extraction, 2 processes | 1.00 | >= 0.85 |" in text
    assert "| found by words, as shipped / trafilatura alone | 1.00 | >= 0.55 |" in text
    assert "| found by words: CPU outside extraction, ms a page | 2.00 | <= 3 |" in text
    assert "| found by words, wall: two cores / one | 1.00 | >= 1.6 |" in text
    assert "| safe fetch | 1.5 | 2.5 | 7.0 |" in text
    assert "Linux" in text or "Darwin" in text or "Windows" in text


def test_a_missed_goal_is_told_and_ends_the_program_with_failure() -> None:
    rounds = {name: [told(10, 1.0), told(10, 1.1)] for name in crawl.TITLES}
    rounds["words-core"] = [told(10, 2.0), told(10, 2.2)]
    assert crawl.missed(rounds) == []
    rounds["gate"] = [told(10, 2.0), told(10, 2.2)]
    rounds["big-1"] = [told(10, 1.0), told(10, 1.0) | {"held_ms": 20.5}]
    rounds["bare"][0]["held_ms"] = 99.0  # not ours
    assert [line.partition(":")[0] for line in crawl.missed(rounds)] == [
        "gate / bare aiohttp",
        "the same, pages of 9 MB and PDF of 29 MB",
    ]


def test_a_part_of_the_rows_is_a_report_as_well() -> None:
    rounds = {name: [told(10, 1.0), told(10, 1.1)] for name in crawl.INGESTION}
    text = "\n".join(crawl.report(rounds, "load average 0.1"))
    assert "found by words, as shipped / trafilatura alone" in text
    assert "gate / bare" not in text
    assert crawl.missed(rounds) == ["found by words, wall: two cores / one: 1.000, not >= 1.6"]


def test_one_round_has_no_quartiles(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        crawl.main(["--rounds", "1"])
    assert caught.value.code == 2
    assert "--rounds: at least 2" in capsys.readouterr().err
