"""The operator's own parsers, with limits around them."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import own_parsers as ours
from support.waiting import wait_until_async

from collection_search import Settings
from collection_search.adapters.crawl.own_parsers import MAX_STUCK, OwnParser, own_parsers
from collection_search.contracts import Extracted, FetchedPage
from collection_search.errors import ConfigError, ExtractionError, FetchError
from collection_search.settings.page_parsers import LoadedParser, PageParsers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL = "https://birds.example.org/scan.pdf"
SCAN = FetchedPage(URL, URL, 200, "application/pdf", "pdf", None, b"%PDF-1.4", 1.0)
PATIENCE_S = 60.0
SOON_S = 0.05


def named(name: str) -> OwnParser:
    settings = Settings(parsers=PageParsers(pdf=f"support.own_parsers:{name}"))
    return own_parsers(settings, at_once=2)["pdf"]


def parser(
    function: Callable[..., Any], *, limit_s: float = PATIENCE_S, at_once: int = 9
) -> OwnParser:
    is_async = asyncio.iscoroutinefunction(function)
    loaded = LoadedParser("our_ocr:read", function, is_async=is_async)
    return OwnParser(loaded, limit_s=limit_s, slots=asyncio.Semaphore(at_once))


async def refused(one: OwnParser) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await one(SCAN)
    return caught.value


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds threads until it is set, at the latest at the end of the test."""
    gate = threading.Event()
    yield gate
    gate.set()


async def test_a_function_runs_in_a_thread_and_a_coroutine_on_the_loop() -> None:
    """None is passed on."""
    assert await named("read")(SCAN) == Extracted("Scan in parser", ours.SAID)
    found = await named("an_object")(SCAN)
    assert found is not None
    assert found.text.endswith("It was read on the loop.")
    assert await named("leave")(SCAN) is None


def test_without_the_setting_there_are_none() -> None:
    """Each kind has its own otherwise."""
    assert own_parsers(Settings(), at_once=1) == {}
    read = "support.own_parsers:read"
    assert own_parsers(Settings(parsers=PageParsers(html=read, pdf=read)), at_once=1).keys() == {
        "html",
        "pdf",
    }


@pytest.mark.parametrize(
    ("name", "told", "cause"),
    [
        ("fail", "It raised ValueError.", ValueError),
        ("leave_program", "It raised SystemExit.", SystemExit),
        ("leave_loop", "It raised SystemExit.", SystemExit),
        ("stop_iteration", "It raised StopIteration.", StopIteration),
        ("refuse", "The scan is upside down.", ExtractionError),
        ("lack_key", "Set OCR_KEY.", ConfigError),
    ],
)
async def test_what_a_parser_raises_is_a_fetch_error_with_its_cause(
    name: str, told: str, cause: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """Its own words go to the log alone, unless they are an error of the package."""
    error = await refused(named(name))
    assert (error.reason, error.retryable, error.status) == ("extraction_failed", False, 200)
    assert str(error) == f"The parser support.own_parsers:{name} failed. {told}"
    assert isinstance(error.__cause__, cause)
    logged = [record.levelno for record in caplog.records if record.exc_info]
    assert logged == ([logging.WARNING] if told.startswith("It raised") else [])


async def test_a_fetch_error_is_the_parsers_own_outcome() -> None:
    """With its reason and its pause."""
    error = await refused(named("ask_again"))
    assert (error.reason, error.retryable, error.retry_in_s) == ("host_busy", True, 60)


@pytest.mark.parametrize(
    ("name", "kind"), [("give_text", "str"), ("give_numbers", "int"), ("forget_await", "coroutine")]
)
async def test_what_is_no_text_is_refused(name: str, kind: str) -> None:
    """With what was expected."""
    error = await refused(named(name))
    assert error.reason == "extraction_failed"
    assert f"returned a value of type {kind} in place of Extracted(title, text)" in str(error)


async def test_a_parser_that_cancels_itself_does_not_cancel_the_worker() -> None:
    """It has failed."""

    async def cancel(page: FetchedPage) -> Extracted:
        raise asyncio.CancelledError

    assert "It raised CancelledError." in str(await refused(parser(cancel)))


async def test_a_thread_that_hangs_is_left_behind(gate: threading.Event) -> None:
    """After the time limit of a page."""

    def hang(page: FetchedPage) -> None:
        gate.wait(PATIENCE_S)

    error = await refused(parser(hang, limit_s=SOON_S))
    assert (error.reason, error.retryable) == ("extraction_killed", False)
    assert str(error) == (
        "The parser our_ocr:read took longer than 0.05 s: its limit is the setting fetch_timeout_s."
    )


async def test_a_coroutine_that_ignores_its_end_is_left_behind() -> None:
    """It is cancelled, and not waited for."""
    ended, cancelled = asyncio.Event(), []

    async def hang(page: FetchedPage) -> None:
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                cancelled.append(page)

    error = await refused(parser(hang, limit_s=SOON_S))
    assert error.reason == "extraction_killed"
    await wait_until_async(lambda: cancelled == [SCAN])
    ended.set()


async def test_too_many_calls_that_hang_stop_the_parser(gate: threading.Event) -> None:
    """Until they end; the pages are tried again."""
    calls: list[int] = []

    def hang(page: FetchedPage) -> None:
        calls.append(1)
        gate.wait(PATIENCE_S)

    stuck = parser(hang, limit_s=SOON_S)
    for _ in range(MAX_STUCK):
        await refused(stuck)
    error = await refused(stuck)
    assert (error.reason, error.retryable) == ("extraction_failed", True)
    assert "start this process anew" in str(error)
    assert len(calls) == MAX_STUCK
    gate.set()
    await wait_until_async(lambda: threading.active_count() < MAX_STUCK)
    assert await stuck(SCAN) is None


async def test_few_calls_run_at_once() -> None:
    """A call's time begins with its turn."""
    running, most = 0, 0

    async def count(page: FetchedPage) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1

    busy = parser(count, limit_s=5, at_once=2)
    await asyncio.gather(*(busy(SCAN) for _ in range(8)))
    assert most == 2
